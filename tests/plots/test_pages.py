"""Every kind of page in a browser: drawn, legible, silent, and asking nobody for anything."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.plots import jobs
from tests.plots.looking import Open, Opened

KINDS = (
    "timeline",
    "gap",
    "bars",
    "workers",
    "many-workers",
    "overlay",
    "tasks",
    "waterfall",
    "summary",
    "hostile",
)


@pytest.mark.parametrize(
    ("kind", "phone"),
    [(kind, False) for kind in KINDS] + [(kind, True) for kind in KINDS[::2]],
    ids=lambda given: given if isinstance(given, str) else "phone, dark" if given else "desktop",
)
def test_a_page_is_drawn_whole_and_says_nothing_in_the_console(
    pages: dict[str, Path], opened: Open, kind: str, phone: bool
) -> None:
    with opened(pages[kind], phone=phone, dark=phone) as it:
        assert it.charts() > 0
        assert it.page.locator("div.chart .main-svg .cartesianlayer").count() == it.charts()
        assert it.console == []
        assert [url for url in it.requests if not url.startswith("data:")] == [pages[kind].as_uri()]
        # Nothing sticks out: a page is read by scrolling down alone.
        assert it.page.evaluate("document.documentElement.scrollWidth") <= (390 if phone else 1200)
        for place in range(it.charts()):
            assert plot_height(it, place) >= 45
            assert plot_width(it, place) >= (180 if phone else 700)


def plot_height(it: Opened, place: int) -> float:
    return float(it.layout(place, "_size")["h"])


def plot_width(it: Opened, place: int) -> float:
    return float(it.layout(place, "_size")["w"])


def test_on_a_phone_no_letter_is_smaller_than_ten_pixels(
    pages: dict[str, Path], opened: Open
) -> None:
    sizes = """[...document.querySelectorAll('body *')]
        .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
        .filter(e => !['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(e.tagName))
        .map(e => parseFloat(getComputedStyle(e).fontSize))"""
    with opened(pages["timeline"], phone=True) as it:
        assert min(it.page.evaluate(sizes)) >= 10


def test_names_of_lines_take_no_height_from_a_picture_on_a_phone(
    pages: dict[str, Path], opened: Open
) -> None:
    with opened(pages["timeline"], phone=True) as it:
        heights = [plot_height(it, place) for place in range(it.charts())]
        assert min(heights) >= 100, heights


def test_without_scripts_the_figures_are_still_there(pages: dict[str, Path], opened: Open) -> None:
    with opened(pages["timeline"], scripts=False) as it:
        assert it.page.locator("h1").inner_text() == "train.py"
        words = it.page.locator("section header p").all_inner_texts()
        assert "mean 3.9 cores, 95 % below 6.1 cores, at most 7.2 cores, limit 8 cores" in words
        assert "need JavaScript" in it.page.locator("body").inner_text()


def test_names_stay_text_whatever_they_hold(pages: dict[str, Path], opened: Open) -> None:
    for kind in ("hostile", "summary"):
        with opened(pages[kind]) as it:
            assert it.page.title() != "owned"
            assert it.page.locator("img").count() == 0
            assert it.page.locator("svg a").count() == 0
            assert it.page.locator("script").count() == 3
            assert it.console == []
            assert "\u202e" not in it.page.content()
    with opened(pages["hostile"]) as it:
        shown = it.page.locator("h1").inner_text()
        assert shown == jobs.HOSTILE.replace("\u202e", "\ufffd")
        names = it.page.locator(".legendtext").all_text_contents()
        # In a legend too: a tag is shown as it was written, a template and a token mean nothing.
        assert any("</script>" in name for name in names)
        assert {"%{x}", "@1"} <= set(names)


def test_the_browser_refuses_any_script_and_any_request_of_a_page(
    pages: dict[str, Path], opened: Open
) -> None:
    asked: list[str] = []

    class Counting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)

    server = HTTPServer(("127.0.0.1", 0), Counting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with opened(pages["timeline"]) as it:
            address = f"http://127.0.0.1:{server.server_address[1]}"
            it.page.evaluate(
                """address => {
                    const script = document.createElement('script');
                    script.textContent = 'window.owned = true';
                    document.body.append(script);
                    const image = document.createElement('img');
                    image.src = address + '/image';
                    document.body.append(image);
                    return fetch(address + '/fetch').catch(() => 'refused');
                }""",
                address,
            )
            assert it.page.evaluate("window.owned") is None
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert asked == []
