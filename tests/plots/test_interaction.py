"""What happens when somebody points, drags, clicks, or the sun goes down."""

from pathlib import Path

from cepheid.plots.palette import DARK, LIGHT
from tests.plots.looking import WAIT_MS, Open, Opened


def area(it: Opened, place: int) -> tuple[float, float, float, float]:
    """Of a chart's plot, on the screen: left, top, width, height."""
    chart = it.page.locator(f"#chart-{place}")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    size = it.layout(place, "_size")
    return box["x"] + size["l"], box["y"] + size["t"], size["w"], size["h"]


def chart_named(it: Opened, title: str) -> int:
    return it.page.locator("section h2").all_inner_texts().index(title)


def test_pointing_at_a_moment_shows_it_in_every_picture(
    pages: dict[str, Path], opened: Open
) -> None:
    with opened(pages["timeline"]) as it:
        cpu, memory = chart_named(it, "CPU"), chart_named(it, "Memory")
        left, top, width, height = area(it, cpu)
        it.page.mouse.move(left + width / 2, top + height / 2)
        it.page.wait_for_selector(f"#chart-{cpu} .hoverlayer .legendtext", timeout=WAIT_MS)
        it.page.wait_for_selector(f"#chart-{memory} .hoverlayer .legendtext", timeout=WAIT_MS)
        here, there = hovered(it, cpu), hovered(it, memory)
        assert any("this job" in text and "cores" in text for text in here)
        assert any("in use" in text and "GiB" in text for text in there)
        # The same moment, in both.
        assert here[0] == there[0]
        assert here[0].startswith("after ")


def hovered(it: Opened, place: int) -> list[str]:
    """What is shown of where somebody points, line by line."""
    return it.page.locator(f"#chart-{place} .hoverlayer text").all_text_contents()


def test_dragging_in_one_picture_zooms_them_all_and_a_double_click_goes_back(
    pages: dict[str, Path], opened: Open
) -> None:
    with opened(pages["timeline"]) as it:
        whole = it.x_ranges()
        assert len(set(whole)) == 1
        left, top, width, height = area(it, 0)
        it.page.mouse.move(left + width * 0.25, top + height / 2)
        it.page.mouse.down()
        it.page.mouse.move(left + width * 0.40, top + height / 2, steps=5)
        it.page.mouse.move(left + width * 0.50, top + height / 2, steps=5)
        it.page.mouse.up()
        zoomed = settled(it, lambda ranges: ranges[-1] != whole[0])
        low, high = zoomed[0]
        assert len(set(zoomed)) == 1
        assert 0.2 * whole[0][1] < low < 0.3 * whole[0][1]
        assert 0.45 * whole[0][1] < high < 0.55 * whole[0][1]
        it.page.mouse.dblclick(left + width / 2, top + height / 2)
        assert settled(it, lambda ranges: ranges[-1] == whole[0]) == whole


def settled(it: Opened, wanted: object) -> list[tuple[float, float]]:
    """The ranges of all charts, when they are what is waited for."""
    assert callable(wanted)
    for _ in range(WAIT_MS // 100):
        ranges = it.x_ranges()
        if wanted(ranges) and len(set(ranges)) == 1:
            return ranges
        it.page.wait_for_timeout(100)
    return it.x_ranges()


def test_a_click_on_a_name_hides_its_line(pages: dict[str, Path], opened: Open) -> None:
    with opened(pages["timeline"]) as it:
        place = chart_named(it, "Disk")
        visible = f"document.getElementById('chart-{place}')._fullData.map(t => t.visible)"
        assert it.page.evaluate(visible) == [True, True]
        it.page.locator(f"#chart-{place} .legendtoggle").first.click()
        it.until(visible, ["legendonly", True])


def test_what_would_flatten_the_rest_waits_in_the_legend(
    pages: dict[str, Path], opened: Open
) -> None:
    with opened(pages["timeline"]) as it:
        place = chart_named(it, "Memory")
        shown = it.page.evaluate(
            f"Object.fromEntries(document.getElementById('chart-{place}')._fullData"
            ".map(t => [t.name, t.visible]))"
        )
        assert shown["address space"] == "legendonly"
        assert shown["in use"] is True
        assert it.layout(place, "yaxis")["range"][1] < 20  # GiB, of 31 that it has mapped


def test_by_night_a_page_is_dark_and_a_zoom_stays(pages: dict[str, Path], opened: Open) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    line = "document.getElementById('chart-0')._fullData[0].line.color"
    with opened(pages["timeline"]) as it:
        assert it.page.evaluate(background) == rgb(LIGHT["page"])
        assert it.page.evaluate(line) == LIGHT["1"]
        it.page.evaluate("Plotly.relayout('chart-0', {'xaxis.range': [2, 4]})")
        settled(it, lambda ranges: ranges[-1] == (2, 4))
        it.page.emulate_media(color_scheme="dark")
        it.until(line, DARK["1"])
        assert it.page.evaluate(background) == rgb(DARK["page"])
        assert set(it.x_ranges()) == {(2, 4)}
        assert it.console == []


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def test_a_finger_scrolls_the_page_and_zooms_nothing(pages: dict[str, Path], opened: Open) -> None:
    with opened(pages["timeline"], phone=True) as it:
        assert it.layout(0, "dragmode") is False
        left, top, width, height = area(it, 0)
        it.page.touchscreen.tap(left + width / 2, top + height / 2)
        it.page.wait_for_selector("#chart-0 .hoverlayer .legendtext", timeout=WAIT_MS)


def test_a_task_tells_its_whole_name_and_its_figures(pages: dict[str, Path], opened: Open) -> None:
    with opened(pages["tasks"]) as it:
        left, top, width, height = area(it, 0)
        it.page.mouse.move(left + width / 2, top + height / 12)  # the first of six rows
        it.page.wait_for_selector("#chart-0 .hoverlayer .hovertext", timeout=WAIT_MS)
        told = " ".join(hovered(it, 0))
        assert "nightly.py" in told
        assert "10m" in told
        assert "6.2 GiB at most" in told
