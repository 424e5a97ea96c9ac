"""What a test has in its hands: the command, and a page that is open."""

import os
import subprocess
import sysconfig
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

WAIT_MS, STEP_MS = 30_000, 100
COMMAND = Path(sysconfig.get_path("scripts")) / "cepheid"


@dataclass
class Opened:
    """A page, and what it said and asked for."""

    page: Page
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def charts(self) -> int:
        return self.page.locator("div.chart").count()

    def x_ranges(self) -> list[tuple[float, float]]:
        """Of all charts."""
        found = self.page.evaluate(
            "[...document.querySelectorAll('div.chart')].map(c => c._fullLayout.xaxis.range)"
        )
        return [(low, high) for low, high in found]

    def until(self, expression: str, wanted: object) -> None:
        """Waits for what a page shows to be this. Not in the page: its policy allows no eval."""
        for _ in range(WAIT_MS // STEP_MS):
            if self.page.evaluate(expression) == wanted:
                return
            self.page.wait_for_timeout(STEP_MS)
        assert self.page.evaluate(expression) == wanted

    def layout(self, chart: int, key: str) -> Any:
        """As it is drawn."""
        return self.page.evaluate(
            "([at, key]) => document.getElementById('chart-' + at)._fullLayout[key]", [chart, key]
        )


Open = Callable[..., AbstractContextManager[Opened]]


def plot(history: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The installed command, in a pipe."""
    return subprocess.run(
        [COMMAND, "plot", *arguments],
        env={**os.environ, "CEPHEID_HISTORY": str(history)},
        check=False,
        capture_output=True,
        text=True,
    )
