"""A browser, and pages that the command made of runs of known shape."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from cepheid.history import History
from tests.plots import jobs
from tests.plots.looking import Open, Opened, plot

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DRAWN_MS = 120_000
"""A busy machine takes its time; nobody measures it."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    assert CHROMIUM.exists(), "hint: apt-get install chromium; `make test` does"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser) -> Open:
    """Opens a page as somebody would: `with opened(path, phone=True) as it`."""

    @contextmanager
    def opening(
        path: Path, *, phone: bool = False, dark: bool = False, scripts: bool = True
    ) -> Iterator[Opened]:
        context = browser.new_context(
            viewport={"width": 390, "height": 844} if phone else {"width": 1200, "height": 900},
            is_mobile=phone,
            has_touch=phone,
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        it = Opened(context.new_page())
        it.page.on("console", lambda said: it.console.append(said.text))
        it.page.on("pageerror", lambda error: it.console.append(str(error)))
        it.page.on("request", lambda request: it.requests.append(request.url))
        it.page.goto(path.as_uri(), timeout=DRAWN_MS)
        if scripts:
            it.page.wait_for_selector("html[data-drawn=yes]", timeout=DRAWN_MS)
        yield it
        context.close()

    return opening


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "history.db"
    with History.open(path) as kept:
        jobs.keep_all(kept)
    return path


@pytest.fixture(scope="session")
def pages(history: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of every kind, by what it is."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for name, arguments in {
        "timeline": ["--kind=timeline", jobs.uid(1)],
        "gap": ["--kind=timeline", jobs.uid(2)],
        "bars": ["--kind=timeline", "nightly.py"],
        "workers": ["--kind=timeline", "bert-4"],
        "many-workers": ["--kind=timeline", "bert-12"],
        "overlay": ["--kind=overlay", jobs.uid(1), jobs.uid(3), jobs.uid(2)],
        "tasks": ["--kind=waterfall", "nightly.py"],
        "waterfall": ["--kind=waterfall", "bert-4"],
        "summary": ["--kind=summary"],
        "hostile": ["--kind=timeline", jobs.uid(30)],
    }.items():
        done = plot(history, *arguments, "-o", folder, "--prefix", f"{name}-")
        assert done.returncode == 0, done.stderr
        (path,) = done.stdout.splitlines()
        made[name] = Path(path)
    return made
