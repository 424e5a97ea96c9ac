"""The pictures of the README and docs/plots.md: `python -m tests.plots` makes them anew.

Of the runs in `jobs`, by the command, in the browser that the tests use.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from cepheid.history import History
from tests import REPOSITORY
from tests.plots import jobs
from tests.plots.conftest import CHROMIUM, DRAWN_MS, FLAGS
from tests.plots.looking import plot

DESKTOP, PHONE = 1100, 390
PICTURES = {
    "plot-timeline": (["--kind=timeline", jobs.uid(1)], DESKTOP, 1060, "light"),
    "plot-timeline-phone": (["--kind=timeline", jobs.uid(1)], PHONE, 844, "dark"),
    "plot-overlay": (["--kind=overlay", jobs.uid(1), jobs.uid(3)], DESKTOP, 660, "dark"),
    "plot-summary": (["--kind=summary"], DESKTOP, 900, "light"),
    "plot-waterfall": (["--kind=waterfall", "nightly.py"], DESKTOP, 490, "light"),
}
"""By name: what is typed, width, height, scheme."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        history = Path(folder) / "history.db"
        with History.open(history) as kept:
            jobs.keep_all(kept, hostile_names=False)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, (arguments, width, height, scheme) in PICTURES.items():
            done = plot(history, *arguments, "-o", folder)
            page = Path(done.stdout.splitlines()[0])
            target = REPOSITORY / "images" / f"{name}.png"
            _shoot(browser, page, target, width, height, scheme)
            sys.stdout.write(f"{target}\n")
        browser.close()


def _shoot(
    browser: Browser, page: Path, target: Path, width: int, height: int, scheme: str
) -> None:
    phone = width == PHONE
    context = browser.new_context(
        viewport={"width": width, "height": height},
        is_mobile=phone,
        has_touch=phone,
        device_scale_factor=1.5 if phone else 1,
        color_scheme="dark" if scheme == "dark" else "light",
    )
    shown = context.new_page()
    shown.goto(page.as_uri(), timeout=DRAWN_MS)
    shown.wait_for_selector("html[data-drawn=yes]", timeout=DRAWN_MS)
    shown.screenshot(path=target)
    context.close()


if __name__ == "__main__":
    main()
