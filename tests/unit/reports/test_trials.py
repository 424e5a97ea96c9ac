"""What a PlacementTrial found, in rows, words and a picture."""

import json
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cepheid.errors import UsageError
from cepheid.placementtrial import (
    Answer,
    Arrange,
    Foreseen,
    Goal,
    JobToTry,
    Limits,
    Phase,
    Placement,
    Ruler,
    State,
    Throughput,
    Trial,
    TrialSpec,
    TrialStatus,
    TrialSummary,
    spec_from,
)
from cepheid.plots.page import render
from cepheid.plots.trial import trial_page
from cepheid.reports.plain import width
from cepheid.reports.trial_asked import (
    Wanted,
    job_of,
    numbers,
    prices_of,
    texts,
    trial_document,
)
from cepheid.reports.trial_picture import FORETOLD, LEFT, MEASURED, RIGHT, curve
from cepheid.reports.trials import (
    NOT_SEEN,
    changes,
    cost_scale,
    facts,
    headline,
    placement_rows,
    short,
    trial_row,
)
from tests.unit.plots.pictures import as_figure

A100, T4 = "NVIDIA-A100-SXM4-80GB", "Tesla-T4"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
SPEC = TrialSpec(
    job=JobToTry(api_version="kubeflow.org/v1", kind="MPIJob", name="bert"),
    limits=Limits(gpu_hours=2.0),
)


def placed(workers: int, gpu_type: str = A100, **others: Any) -> Placement:
    return Placement(gpu_type=gpu_type, workers=workers, **others)


def measured(placement: Placement, per_second: float, error: float, **others: Any) -> Trial:
    return Trial(
        job=f"bert-{placement.workers}-{placement.gpu_type[:5].lower()}",
        placement=placement,
        state=State.MEASURED,
        planned_seconds=180.0,
        created=NOW,
        gpu_seconds=218.0,
        throughput=Throughput(
            per_second=per_second, error_percent=error, by=Ruler.PULSE, unit="iterations"
        ),
        **others,
    )


def done() -> TrialStatus:
    """The MPIJob of the README: one A100 is the cheapest, two are the fastest."""
    return TrialStatus(
        phase=Phase.DONE,
        candidates=6,
        spent_gpu_seconds=720.0,
        trials=(
            measured(placed(1), 0.025, 1.5, cost_per_unit=0.0356, best_possible=True),
            measured(placed(1, T4), 0.005, 17.9, cost_per_unit=0.064),
            Trial(
                job="bert-4-tesla",
                placement=placed(4, T4),
                state=State.OUT_OF_MEMORY,
                planned_seconds=180.0,
                created=NOW,
                message="a GPU's memory was too small",
            ),
        ),
        curve=(
            Foreseen(placement=placed(1), per_second=0.0251, low=0.02, high=0.03, tried=True),
            Foreseen(placement=placed(2), per_second=0.035, low=0.03, high=0.05),
            Foreseen(placement=placed(1, T4), per_second=0.005, low=0.004, high=0.006, tried=True),
        ),
        best=Answer(
            placement=placed(1),
            gain=1.8,
            confidence_percent=97.0,
            sentence="Ask for 1 worker with 1 A100-80: 100 iterations cost 3.6.",
        ),
        model="A step computes for 30 s and communicates for 10 s",
        summary=TrialSummary(trials="3/6"),
    )


def test_a_placement_has_what_was_measured_and_else_what_is_foretold() -> None:
    one, two, small, broken = placement_rows(done())
    assert [row.placement for row in (one, two, small, broken)] == [
        "1xA100-80",
        "2xA100-80",
        "1xT4",
        "4xT4",
    ]
    assert (one.per_second, one.error_percent, one.low_per_second) == (0.025, 1.5, 0.02)
    assert (one.is_best, one.best_possible, two.is_best) == (True, True, False)
    assert (two.state, two.per_second, two.error_percent) == ("foreseen", 0.035, None)
    assert (broken.state, broken.per_second) == ("out-of-memory", None)
    assert cost_scale([one, two, small]) == 100
    assert cost_scale([two]) == 1


def test_the_list_has_what_kubectl_shows() -> None:
    row = trial_row("research", "bert", NOW, SPEC, done())
    assert (row.job, row.phase, row.trials, row.best) == ("MPIJob/bert", "Done", "3/6", "1xA100-80")
    assert (row.gain, row.spent_gpu_hours, row.budget_gpu_hours) == (1.8, 0.2, 2.0)
    fresh = trial_row("research", "bert", NOW, SPEC, TrialStatus())
    assert (fresh.phase, fresh.best, fresh.message) == (None, None, NOT_SEEN)


def test_the_first_line_is_the_answer_or_where_it_stands() -> None:
    assert headline("bert", done()).startswith("Ask for 1 worker with 1 A100-80")
    running = replace(done(), phase=Phase.RUNNING, message="trying 2xA100-80")
    assert headline("bert", running).startswith(
        "bert is running (trying 2xA100-80). So far: Ask for 1 worker"
    )
    failed = TrialStatus(phase=Phase.FAILED, message="there is no MPIJob bert")
    assert headline("bert", failed) == "bert failed (there is no MPIJob bert)."
    assert headline("bert", TrialStatus()) == f"bert: {NOT_SEEN}."


def test_facts_say_how_far_for_how_much_and_why() -> None:
    found = dict(facts(SPEC, done()))
    assert found["tried"] == "3 of 6 placements"
    assert found["spent"] == "0.2 of 2 GPU hours"
    assert found["sure"] == "97 % that nothing else is better by 5 %"
    assert found["why"].startswith("A step computes")


def test_only_what_is_new_is_said() -> None:
    after = done()
    before = replace(
        after,
        phase=Phase.RUNNING,
        best=None,
        trials=(replace(after.trials[0], state=State.RUNNING, throughput=None), after.trials[1]),
    )
    assert changes(before, after) == [
        "1xA100-80: measured, 0.025 iterations a second ±1.5 %, by pulse",
        "4xT4: out-of-memory, a GPU's memory was too small",
        "best so far: 1xA100-80",
        "it is done",
    ]
    assert changes(after, after) == []
    assert len(changes(None, after)) == 5
    assert changes(None, TrialStatus()) == []


def test_a_second_attempt_is_another_trial() -> None:
    lost = replace(done().trials[0], state=State.LOST, throughput=None)
    again = replace(lost, attempt=2, state=State.PENDING)
    before, after = TrialStatus(trials=(lost,)), TrialStatus(trials=(lost, again))
    assert changes(before, after) == ["1xA100-80: pending"]
    twice = TrialStatus(trials=(lost, replace(lost, attempt=2)))
    assert changes(before, twice) == ["1xA100-80: lost"]
    assert placement_rows(after)[0].state == "pending"


def test_names_tell_workers_gpus_and_arrangement() -> None:
    place = placed(4, gpus_per_worker=2, arrange=Arrange.SPREAD)
    assert short(place, {A100: "A100-80"}) == "4x2xA100-80 spread"
    assert short(place, {}) == f"4x2x{A100} spread"


def test_the_curve_is_drawn_from_nothing_to_the_fastest() -> None:
    one, two, small = curve(placement_rows(done()), 60)
    assert one.startswith("1xA100-80  ")
    assert one.endswith("0.025")
    room = 60 - len("1xA100-80") - len("0.025") - 4
    # The highest end of a band is 0.05, at the last column.
    assert one.index(MEASURED) == 11 + int(0.5 * (room - 1) + 0.5)
    assert two.index(FORETOLD) == 11 + int(0.7 * (room - 1) + 0.5)
    assert (two.index(LEFT), two.index(RIGHT)) == (11 + int(0.6 * (room - 1) + 0.5), 11 + room - 1)
    assert small.index(MEASURED) < one.index(LEFT)
    assert all(width(line) <= 60 for line in (one, two, small))


def test_without_a_figure_there_is_no_picture() -> None:
    assert list(curve([], 80)) == []
    assert list(curve(placement_rows(TrialStatus(trials=(done().trials[2],))), 80)) == []


AMOUNTS = st.floats(0, 1.7e308)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(
    st.lists(st.tuples(NAMES, st.integers(1, 64), AMOUNTS, AMOUNTS, AMOUNTS), max_size=5),
    st.integers(40, 200),
)
def test_whatever_stands_in_a_status_it_can_be_shown(
    given_curve: list[tuple[str, int, float, float, float]], columns: int
) -> None:
    status = TrialStatus(
        phase=Phase.RUNNING,
        curve=tuple(
            Foreseen(placement=placed(gpus, name), per_second=middle, low=low, high=high)
            for name, gpus, middle, low, high in given_curve
        ),
    )
    rows = placement_rows(status)
    assert all(width(line) <= max(columns, 70) for line in curve(rows, columns))
    assert all(line.isprintable() for line in curve(rows, columns))
    assert cost_scale(rows) >= 1
    for chart in trial_page("bert", SPEC, status).charts:
        json.dumps([*chart.traces, chart.layout], allow_nan=False)


def test_the_page_has_a_point_for_each_trial_a_line_and_a_band_for_each_type() -> None:
    page = trial_page("bert", SPEC, done())
    (chart,) = page.charts
    kinds = [trace.get("name", "band") for trace in chart.traces]
    assert kinds == ["band", "A100-80", "A100-80, measured", "band", "T4", "T4, measured"]
    points = chart.traces[2]
    assert (points["x"], points["y"]) == ([1], [0.025])
    assert points["error_y"]["array"] == pytest.approx([0.025 * 0.015])
    plotly.graph_objects.Figure(as_figure(chart))
    text = render(trial_page("<script>alert(1)</script>", SPEC, done()))
    assert "<script>alert(1)" not in text
    assert "Ask for 1 worker with 1 A100-80" in text
    assert not trial_page("bert", SPEC, TrialStatus()).charts


@pytest.mark.parametrize(
    ("text", "found"),
    [("mpijob/bert", ("MPIJob", "bert")), ("PyTorchJob/a.b-1", ("PyTorchJob", "a.b-1"))],
)
def test_a_job_is_named_by_kind_and_name(text: str, found: tuple[str, str]) -> None:
    assert job_of(text) == found


@pytest.mark.parametrize("text", ["bert", "pod/bert", "job/", "job/Bert", "job/a b", "job/a/b"])
def test_another_kind_or_name_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        job_of(text)


def test_lists_are_taken_apart_once_each() -> None:
    assert numbers("1, 2,4,2", "--workers") == (1, 2, 4)
    assert texts("a,b,a", "--gpu-types") == ("a", "b")
    for wrong in ("", "1,,2", "two", "-1", "1.5", "9" * 9):
        with pytest.raises(UsageError):
            numbers(wrong, "--workers")
    with pytest.raises(UsageError):
        texts("a,,b", "--gpu-types")


def test_what_was_asked_is_a_trial_that_the_operator_can_read() -> None:
    wanted = Wanted(
        kind="MPIJob",
        job="bert",
        gpu_types=(A100, T4),
        workers=(1, 2),
        goal=Goal.COST,
        prices={A100: 3.2, T4: 0.4},
        gpu_hours=2.0,
    )
    document = trial_document("best", "research", wanted, "kubeflow.org/v1")
    assert document["metadata"] == {"name": "best", "namespace": "research"}
    spec = spec_from(document["spec"])
    assert spec.job == JobToTry(api_version="kubeflow.org/v1", kind="MPIJob", name="bert")
    assert (spec.try_on.gpu_types, spec.try_on.workers) == ((A100, T4), (1, 2))
    assert (spec.optimise.goal, dict(spec.optimise.prices)) == (Goal.COST, {A100: 3.2, T4: 0.4})
    assert (spec.limits.gpu_hours, spec.limits.trial_seconds) == (2.0, 180.0)
    bare = trial_document("best", None, Wanted(kind="Job", job="etl"), "batch/v1")
    assert bare["spec"] == {"job": {"apiVersion": "batch/v1", "kind": "Job", "name": "etl"}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"workers": (0,)},
        {"gpus_per_worker": (100,)},
        {"gpu_hours": 0.0},
        {"trial_seconds": 5.0},
        {"goal": Goal.COST},
    ],
)
def test_what_the_cluster_would_refuse_is_refused_before(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as raised:
        trial_document("best", None, Wanted(kind="Job", job="etl", **wrong), "batch/v1")
    assert raised.value.hint


def test_every_type_needs_its_price() -> None:
    assert prices_of((A100,), {A100: 3.2, T4: None}) == {A100: 3.2}
    for types, prices in (((A100, T4), {A100: 3.2, T4: None}), ((), {})):
        with pytest.raises(UsageError, match="price"):
            prices_of(types, prices)
