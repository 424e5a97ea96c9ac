"""What a picture holds, for tests to look at."""

import json
import re
from typing import Any

from cepheid.plots.chart import Chart
from cepheid.plots.palette import LIGHT
from cepheid.plots.subject import Subject, courses_of
from tests.plots import jobs

_TOKEN = re.compile(r"@([a-z0-9]+)(:[0-9.]+)?")


def trainer() -> Subject:
    profile = jobs.trainer()
    return Subject(profile, courses_of(profile, jobs.trainer_series(profile)))


def leaker() -> Subject:
    profile = jobs.leaker()
    return Subject(profile, courses_of(profile, jobs.leaker_series(profile)))


def distributed(workers: int) -> Subject:
    profile = jobs.distributed(20, workers)
    courses = courses_of(profile, jobs.distributed_series(profile))
    return Subject(profile, courses, profile.workers)


def workflow() -> Subject:
    whole, *tasks = jobs.workflow()
    return Subject(whole, tasks=tuple(tasks))


def titled(charts: list[Chart], title: str) -> Chart:
    (found,) = [chart for chart in charts if chart.title == title]
    return found


def names(chart: Chart) -> list[str]:
    return [trace["name"] for trace in chart.traces if "name" in trace]


def coloured(thing: Any) -> Any:
    """As the page's script does it: a token where a colour stands is one."""
    if isinstance(thing, dict):
        return {
            key: LIGHT[_TOKEN.fullmatch(value)[1]]  # type: ignore[index]
            if isinstance(value, str) and key.endswith("color") and value.startswith("@")
            else coloured(value)
            for key, value in thing.items()
        }
    return [coloured(one) for one in thing] if isinstance(thing, list) else thing


def as_figure(chart: Chart) -> dict[str, Any]:
    """Through JSON, as a page holds it."""
    figure = {"data": list(chart.traces), "layout": chart.layout}
    written: dict[str, Any] = json.loads(json.dumps(figure, allow_nan=False))
    found: dict[str, Any] = coloured(written)
    return found
