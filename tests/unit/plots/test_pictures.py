"""What is in the pictures, and that the plotting library knows every part of it."""

import json
from datetime import timedelta
from typing import get_args, get_origin, get_type_hints

import numpy as np
import plotly.graph_objects
import pytest
from hypothesis import HealthCheck, given, settings

from cepheid.analysis.signals import Signals
from cepheid.errors import CepheidError
from cepheid.history import TimeSeries
from cepheid.jobprofile import CycleSeen, JobProfile, MemoryLeak, Outcome
from cepheid.plots.album import sheets, timeline_page
from cepheid.plots.chart import Chart
from cepheid.plots.kinds import Kind
from cepheid.plots.page import render
from cepheid.plots.panels import KNOWN
from cepheid.plots.subject import Subject, courses_of
from cepheid.plots.timeline import timeline
from tests.plots import jobs
from tests.unit.history.strategies import several
from tests.unit.plots.pictures import (
    as_figure,
    distributed,
    leaker,
    names,
    titled,
    trainer,
    workflow,
)

GIB = 2.0**30


def with_profile(subject: Subject, **changes: object) -> Subject:
    from msgspec.structs import replace  # noqa: PLC0415

    changed: JobProfile = replace(subject.profile, **changes)
    return Subject(changed, subject.courses, subject.workers, subject.tasks)


@pytest.mark.parametrize("kind", list(Kind))
def test_the_plotting_library_knows_every_part_of_every_picture(kind: Kind) -> None:
    """Its own classes refuse what they do not know; a browser would pass it over in silence."""
    subjects = [trainer(), leaker(), distributed(4), distributed(12), workflow()]
    if kind is Kind.SUMMARY:
        subjects = [Subject(profile) for profile in jobs.many(60)]
    for sheet in sheets(subjects, kind):
        for chart in sheet.page.charts:
            plotly.graph_objects.Figure(as_figure(chart))


@given(several(3))
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=30)
def test_any_profiles_at_all_can_be_drawn(profiles: list[JobProfile]) -> None:
    subjects = [Subject(profile, workers=profile.workers) for profile in profiles]
    if not subjects:
        return
    for sheet in sheets(subjects):
        written = render(sheet.page)
        body, _, scripts = written.partition('id="charts">')
        assert body.count("<script") == 1
        assert "<h1>" in body
        json.loads(scripts.partition("</script>")[0])


def test_every_signal_of_the_analysis_has_its_place() -> None:
    arrays = {
        name
        for name, kind in get_type_hints(Signals).items()
        if any(get_origin(one) is np.ndarray for one in get_args(kind))
    }
    assert arrays
    assert arrays <= KNOWN


def test_what_is_kept_under_an_unknown_name_is_drawn_too() -> None:
    profile = jobs.process(1)
    times = [jobs.BEGIN.timestamp() + place for place in range(10)]
    series = [TimeSeries("quarks_per_second", times, [1.0] * 10)]
    charts = timeline(Subject(profile, courses_of(profile, series)))
    assert [chart.title for chart in charts] == ["quarks_per_second"]


def test_a_time_line_has_a_picture_for_each_resource_that_was_measured() -> None:
    assert [chart.title for chart in timeline(trainer())] == [
        "GPU load",
        "GPU memory",
        "GPU power",
        "CPU",
        "Memory",
        "Disk",
        "Network",
        "Processes and threads",
    ]


def test_what_was_0_all_along_is_a_word_and_no_picture() -> None:
    profile = jobs.process(1)
    times = [jobs.BEGIN.timestamp() + place for place in range(10)]
    series = [
        TimeSeries("cpu_cores", times, [1.0] * 10),
        TimeSeries("disk_read_bytes_per_second", times, [0.0] * 10),
    ]
    page = timeline_page(Subject(profile, courses_of(profile, series)))
    assert [chart.title for chart in page.charts] == ["CPU"]
    assert page.says[-1] == "Measured, and 0 all along: Disk."


def test_the_figures_are_those_of_the_profile() -> None:
    cpu = titled(timeline(trainer()), "CPU")
    assert cpu.words == "mean 3.9 cores, 95 % below 6.1 cores, at most 7.2 cores, limit 8 cores"


def test_a_limit_is_drawn_where_it_is_near_and_only_told_where_it_is_far() -> None:
    charts = timeline(trainer())
    assert "limit 8 cores" in names(titled(charts, "CPU"))
    gpu = titled(charts, "GPU memory")  # 12 of 40 GiB each
    assert "limit 80 GiB" in gpu.words
    assert not any(name.startswith("limit") for name in names(gpu))
    assert gpu.layout["yaxis"]["range"][1] < 20


def test_of_each_gpu_the_limit_is_that_of_one() -> None:
    power = titled(timeline(trainer()), "GPU power")
    assert {"gpu-0", "gpu-1", "limit 400 W"} <= set(names(power))
    assert "limit 800 W" in power.words


def test_a_limit_that_a_container_does_not_have_is_not_invented() -> None:
    subject = distributed(4)
    (asked,) = subject.profile.asked
    other = type(asked)(container="sidecar", role="Worker", pods=4)
    free = with_profile(subject, asked=(asked, other))
    assert "limit 256 GiB" in titled(timeline(subject), "Memory").words
    assert "limit" not in titled(timeline(free), "Memory").words


def test_cycles_are_marked_where_they_were_seen_and_in_the_steady_phase_alone() -> None:
    charts = timeline(trainer())
    marked = [chart.title for chart in charts if "repeats every 41.8 s" in names(chart)]
    assert marked == ["GPU power"]
    (trace,) = [t for t in titled(charts, "GPU power").traces if "repeats" in t.get("name", "")]
    minutes = trace["x"][::3]
    # A step of the GPU begins 61 s after the start, and every 41.8 s from there.
    for place, minute in enumerate(minutes):
        assert minute * 60 == pytest.approx(61 + 41.8 * place, abs=2.5)
    assert minutes[-1] * 60 <= 723 - 50


def test_a_cycle_that_may_be_an_alias_is_not_marked() -> None:
    doubtful = CycleSeen(period_seconds=41.8, strength=0.9, metric="power", confirmed=False)
    charts = timeline(with_profile(trainer(), cycle=doubtful))
    assert not any("repeats" in name for chart in charts for name in names(chart))


def test_all_phases_but_the_steady_one_are_shaded() -> None:
    for chart in timeline(trainer()):
        begin_up, tail = chart.layout["shapes"]
        assert (begin_up["x0"], begin_up["x1"]) == (0, pytest.approx(61 / 60, rel=1e-4))
        assert tail["x0"] == pytest.approx((723 - 50) / 60, rel=1e-4)
        assert tail["x1"] == pytest.approx(723 / 60, rel=1e-4)


def test_what_may_have_come_follows_the_steady_phase_and_knows_the_cycle() -> None:
    power = titled(timeline(trainer()), "GPU power")
    (middle,) = [t for t in power.traces if "had it gone on" in t.get("name", "")]
    assert middle["x"][0] * 60 == pytest.approx(723 - 50, abs=2)
    assert max(middle["y"]) > 220  # it computes
    assert min(middle["y"]) < 100  # it waits
    (band,) = [t for t in power.traces if t.get("fill") == "toself"]
    assert min(band["y"]) >= 0


def test_a_leak_goes_on_as_fast_as_the_profile_says() -> None:
    memory = titled(timeline(leaker()), "Memory")
    (line,) = [t for t in memory.traces if "had it gone on" in t.get("name", "")]
    assert line["name"] == "had it gone on: 540 MiB a minute"
    (from_minute, to_minute), (from_gib, to_gib) = line["x"], line["y"]
    rate = (to_gib - from_gib) / (to_minute - from_minute)
    assert rate == pytest.approx(540 / 1024, rel=0.01)
    assert "limit 15.4 GiB" in names(memory)


def test_a_leak_without_end_or_speed_breaks_nothing() -> None:
    for speed in (0.0, 1e308):
        leak = MemoryLeak(bytes_per_second=speed, confidence=0.9)
        assert timeline(with_profile(leaker(), leak=leak))


def test_few_workers_are_lines_and_many_a_range() -> None:
    few = titled(timeline(distributed(4)), "CPU")
    many = titled(timeline(distributed(12)), "CPU")
    assert names(few)[:4] == [f"bert-worker-{place}" for place in range(4)]
    assert names(many)[:2] == ["lowest to highest", "mean of 12 workers"]


def test_without_time_series_there_are_bars_and_a_word_about_it() -> None:
    page = timeline_page(Subject(jobs.trainer()))
    cpu = titled(list(page.charts), "CPU")
    lengths = {trace["name"]: trace["x"][0] for trace in cpu.traces}
    assert lengths == {"at most": 7.2, "95 % below": 6.1, "mean": 3.9, "limit 8 cores": 8.0}
    assert any("--granularity time-series" in words for words in page.says)


def test_of_a_job_that_nothing_was_measured_of_it_is_said() -> None:
    page = timeline_page(Subject(jobs.process(1, usage=None, samples=None)))
    assert page.charts == []
    assert any("Nothing was measured" in words for words in page.says)


def test_in_an_overlay_a_job_has_one_line_in_each_picture_and_begins_at_0() -> None:
    (sheet,) = sheets([trainer(), leaker(), workflow()], Kind.OVERLAY)
    cpu = titled(list(sheet.page.charts), "CPU")
    assert [name.split()[0] for name in names(cpu)] == ["train.py", "etl.py"]
    assert all(trace["x"][0] == pytest.approx(0, abs=0.02) for trace in cpu.traces)
    assert "nightly.py" in sheet.page.says[0]
    styles = {(t["line"]["color"], t["line"]["dash"]) for t in cpu.traces}
    assert len(styles) == 2


def test_gpus_of_a_job_are_one_line_in_an_overlay() -> None:
    (sheet,) = sheets([trainer()], Kind.OVERLAY)
    power = titled(list(sheet.page.charts), "GPU power")
    (line,) = power.traces
    assert max(line["y"]) > 450  # both together


def test_a_waterfall_has_the_workflow_and_its_tasks_from_beginning_to_end() -> None:
    (sheet,) = sheets([workflow()], Kind.WATERFALL)
    (chart,) = sheet.page.charts
    bars = {
        told[0]: (base * 60, length * 60)
        for trace in chart.traces
        for told, base, length in zip(trace["customdata"], trace["base"], trace["x"], strict=True)
    }
    expected = {
        "nightly.py": (0, 600),
        "prepare": (10, 90),
        "train": (100, 380),
        "fold-0": (110, 170),
        "fold-1": (290, 170),
        "report": (490, 40),
    }
    assert set(bars) == set(expected)
    for name, span in expected.items():
        assert bars[name] == pytest.approx(span, abs=0.5)
    failed = [t for t in chart.traces if t["name"] == "failed"]
    assert [told[0] for told in failed[0]["customdata"]] == ["report"]
    depths = [text.count("↳") for text in chart.layout["yaxis"]["ticktext"]]
    assert depths == [0, 1, 1, 2, 2, 1]


def test_a_worker_that_came_late_and_lags_is_seen_in_the_waterfall() -> None:
    (sheet,) = sheets([distributed(4)], Kind.WATERFALL)
    bars, shades = sheet.page.charts
    (late,) = [trace for trace in bars.traces if trace["name"] == "lags behind"]
    assert late["customdata"][0][0] == "bert-worker-3"
    assert late["base"][0] == pytest.approx(15, abs=0.5)  # minutes
    (heat,) = shades.traces
    begin = round(len(heat["z"][3]) * 900 / 7200)
    assert all(value is None for value in heat["z"][3][: begin - 8])
    assert all(value is not None for value in heat["z"][3][begin:-8])


def test_what_a_summary_says_is_what_the_jobs_had() -> None:
    profiles = [
        jobs.process(number, "a.py", seconds=3600.0, after_seconds=3600.0 * number)
        for number in range(3)
    ] + [jobs.process(9, "b.py", seconds=7200.0, outcome=Outcome.FAILED)]
    (sheet,) = sheets([Subject(one) for one in profiles], Kind.SUMMARY)
    page = sheet.page
    assert page.lead == "4 jobs: 3 succeeded, 1 failed."
    assert dict(page.tiles) == {
        "jobs": "4",
        "succeeded": "75 %",
        "run time": "5 h",
        "CPU time": "19.5 h",
    }
    ended = titled(list(page.charts), "How they ended, by name")
    assert {trace["name"]: trace["x"] for trace in ended.traces} == {
        "success": [3, 0],
        "failed": [0, 1],
    }
    assert page.table is not None
    assert [row[1] for row in page.table.rows] == ["a.py"] * 3 + ["b.py"]


def test_a_running_job_neither_succeeded_nor_failed() -> None:
    running = jobs.process(1, outcome=Outcome.RUNNING)
    (sheet,) = sheets([Subject(running)], Kind.SUMMARY)
    assert "succeeded" not in dict(sheet.page.tiles)


def test_of_more_names_than_fit_the_rest_is_one_bar() -> None:
    profiles = [jobs.process(number, f"job-{number}.py") for number in range(40)]
    (sheet,) = sheets([Subject(one) for one in profiles], Kind.SUMMARY)
    ended: Chart = titled(list(sheet.page.charts), "How they ended, by name")
    (trace,) = ended.traces
    assert len(trace["x"]) == 16
    assert trace["x"][-1] == 25


def test_a_line_of_a_day_at_half_a_second_makes_a_page_of_the_same_size() -> None:
    profile = jobs.process(1, seconds=86_400.0)
    begin = jobs.BEGIN.timestamp()
    values = np.random.default_rng(1).random(172_800).tolist()
    times = [begin + 0.5 * place for place in range(len(values))]
    series = [TimeSeries("cpu_cores", times, values)]
    page = timeline_page(Subject(profile, courses_of(profile, series)))
    (curve, *_) = page.charts[0].traces
    assert len(curve["x"]) <= 1500
    assert max(curve["y"]) == pytest.approx(max(values), rel=1e-4)


def test_nothing_to_draw_is_said_with_what_to_do() -> None:
    with pytest.raises(CepheidError) as told:
        sheets([workflow()], Kind.OVERLAY)
    assert "time-series" in (told.value.hint or "")
    with pytest.raises(CepheidError):
        sheets([leaker()], Kind.WATERFALL)


def test_samples_before_the_start_that_was_told_are_not_lost() -> None:
    """Of a clock that was set back: they would be left of 0."""
    profile = jobs.process(1, seconds=10.0)
    begin = (jobs.BEGIN - timedelta(seconds=5)).timestamp()
    series = [TimeSeries("cpu_cores", [begin + place for place in range(10)], [1.0] * 10)]
    (course,) = courses_of(profile, series)["cpu_cores"].values()
    assert course.seconds[0] == 0
