"""The HTML around the pictures: one file, which needs no network and cannot use one.

A policy in its head lets the browser load nothing and run only the two scripts in it, known by
their hashes: whatever a job is called, its name stays text.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from cepheid import __version__
from cepheid.plots.chart import Chart
from cepheid.plots.palette import css
from cepheid.plots.wording import in_html, in_script


@dataclass(frozen=True, slots=True)
class Table:
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()
    """Places of the columns that hold figures."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All of it plain text, made safe where it is written."""

    title: str
    lead: str
    """The answer, in a sentence."""
    says: Sequence[str] = ()
    """What else is worth knowing, the foremost first."""
    facts: Sequence[tuple[str, str]] = ()
    tiles: Sequence[tuple[str, str]] = ()
    charts: Sequence[Chart] = ()
    table: Table | None = None


def render(page: Page) -> str:
    ours, theirs = _file("page.js"), _plotly()
    body = "\n".join(
        [
            f"<h1>{in_html(page.title)}</h1>",
            f'<p class="lead">{in_html(page.lead)}</p>',
            _says(page.says),
            _facts(page.facts, "facts"),
            _facts(page.tiles, "tiles"),
            *(_section(chart, place) for place, chart in enumerate(page.charts)),
            "" if page.table is None else _table(page.table),
        ]
    )
    data = [
        {
            "traces": list(chart.traces),
            "layout": chart.layout,
            "height": chart.height_pixels,
            "shares_time": chart.shares_time,
        }
        for chart in page.charts
    ]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="cepheid {__version__}">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{in_html(page.title, 80)}</title>
<style>{css()}{_file("page.css")}</style>
</head>
<body>
<main>
{body}
<noscript><p>The pictures need JavaScript, which is switched off; the figures do not.</p></noscript>
<footer>Made by cepheid {__version__}. This page holds all that it shows: it loads nothing and
sends nothing.</footer>
</main>
<script type="application/json" id="charts">{in_script(data)}</script>
<script>{theirs}</script>
<script>{ours}</script>
</body>
</html>
"""


def _says(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    return f'<ul class="says">{"".join(f"<li>{in_html(one)}</li>" for one in lines)}</ul>'


def _facts(facts: Sequence[tuple[str, str]], kind: str) -> str:
    if not facts:
        return ""
    each = (f"<div><dt>{in_html(k)}</dt><dd>{in_html(v)}</dd></div>" for k, v in facts)
    return f'<dl class="{kind}">{"".join(each)}</dl>'


def _section(chart: Chart, place: int) -> str:
    words = f"<p>{in_html(chart.words)}</p>" if chart.words else ""
    told = in_html(f"{chart.title}: {chart.words}" if chart.words else chart.title)
    return (
        f"<section><header><h2>{in_html(chart.title)}</h2>{words}</header>"
        f'<div class="chart" id="chart-{place}" role="img" aria-label="{told}"'
        f' style="height:{chart.height_pixels}px"></div></section>'
    )


def _table(table: Table) -> str:
    def cell(tag: str, place: int, text: str) -> str:
        kind = ' class="n"' if place in table.numeric else ""
        return f"<{tag}{kind}>{in_html(text) if text else ''}</{tag}>"

    head = "".join(cell("th", place, text) for place, text in enumerate(table.columns))
    rows = "".join(
        f"<tr>{''.join(cell('td', place, text) for place, text in enumerate(row))}</tr>"
        for row in table.rows
    )
    note = f'<p class="soft">{in_html(table.note)}</p>' if table.note else ""
    return (
        f'<section><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{note}</section>"
    )


@cache
def _policy() -> str:
    allowed = " ".join(f"'sha256-{_hash(script)}'" for script in (_plotly(), _file("page.js")))
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline';"
        " img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _file(name: str) -> str:
    return (files("cepheid.plots") / name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """The library whole. In it stands no closing tag of a script: it is made to be inlined."""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - half a second, only for who draws

    return str(get_plotlyjs())
