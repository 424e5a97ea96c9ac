"""Who gets which node. The default scheduler's own scores are the same for all nodes of a yard, or
speak for the other one: it is the extender that decides."""

import pytest

from cepheid.annotations.facts import HealthFacts
from tests.cluster.progress import wait_for
from tests.scheduling.conftest import Stage
from tests.scheduling.yard import A100, DEFAULT, T4, Yard, best_on, changed, described

PATIENCE_SECONDS = 60


def test_a_pod_whose_job_needs_the_large_gpu_goes_there(stage: Stage, yard: Yard) -> None:
    yard.node("small", T4, cpu="256")  # emptier by its cores: the default scheduler's choice
    yard.node("large", A100, cpu="8")
    yard.ran("bert", A100, memory_gb=40.0)
    job = yard.job("bert-7")
    stage.heard()
    assert yard.place(job, scheduler=DEFAULT) == "small"
    assert yard.place(job) == "large"


def test_a_job_that_never_ran_is_taken_for_a_usual_one(stage: Stage, yard: Yard) -> None:
    """Which gains from faster GPUs."""
    yard.node("small", T4, cpu="256")
    yard.node("large", A100, cpu="8")
    job = yard.job("new-1")
    stage.heard()
    assert yard.place(job) == "large"
    assert stage.extender.metrics()[
        'cepheid_extender_requests_total{known="unknown",verb="filter"}'
    ]


def test_gpus_in_turns_that_are_foretold_to_be_full_are_not_given(stage: Stage, yard: Yard) -> None:
    full = described(T4, 2, held=2, used_gb=5.0, foretold_gb=13.0)
    yard.node("turns", T4, 2, handed_out=8, facts=full, cpu="256")
    yard.ran("serve", T4, memory_gb=6.0)
    job = yard.job("serve-2")
    stage.heard()
    waiting = yard.pod(job)
    said = wait_for(
        "the scheduler's word", lambda: yard.said(waiting, "FailedScheduling"), PATIENCE_SECONDS
    )
    assert "no room on its GPUs: its job is known to need 6.0 GB" in said[0]["message"]
    yard.node("other", T4, 2)
    assert yard.placed(waiting, PATIENCE_SECONDS) == "other"


def test_there_is_room_where_less_is_foretold(stage: Stage, yard: Yard) -> None:
    facts = described(T4, 2, held=2, used_gb=5.0, foretold_gb=8.0)
    yard.node("turns", T4, 2, handed_out=8, facts=facts)
    yard.ran("serve", T4, memory_gb=6.0)
    job = yard.job("serve-2")
    stage.heard()
    assert yard.place(job) == "turns"


@pytest.mark.parametrize("health", [HealthFacts(xid=79), HealthFacts(lost=True)])
def test_a_gpu_that_is_ill_is_no_choice(stage: Stage, yard: Yard, health: HealthFacts) -> None:
    ill = changed(described(T4, 1), 0, health=health)
    yard.node("ill", T4, 1, facts=ill, cpu="256")
    yard.node("well", T4, 1, cpu="8")
    stage.heard()
    assert yard.place() == "well"


def test_what_has_expired_excludes_nobody(stage: Stage, yard: Yard) -> None:
    ill = changed(described(T4, 1, hours=-1), 0, health=HealthFacts(xid=79))
    yard.node("ill", T4, 1, facts=ill)
    stage.heard()
    assert yard.place() == "ill"


def test_the_type_that_a_trial_found_is_preferred(stage: Stage, yard: Yard) -> None:
    yard.node("small", T4, cpu="8")
    yard.node("large", A100, cpu="256")
    job = yard.job("tried", best_on(T4))
    stage.heard()
    assert yard.place(job) == "small"


def test_two_that_wait_for_data_are_kept_apart(stage: Stage, yard: Yard) -> None:
    yard.node("first", cpu="256")  # where everything speaks for it but the neighbour
    yard.node("second", cpu="8")
    for series in ("resnet", "unet"):
        yard.ran(series, waits_for="input")
    one, other = yard.job("resnet-2"), yard.job("unet-2")
    yard.pod(one, node="first")
    stage.heard()
    assert yard.place(other) == "second"


def test_pulses_that_leave_each_other_room_may_share_a_node(stage: Stage, yard: Yard) -> None:
    """Both draw on it for a tenth of the time: hardly ever together."""
    yard.node("first", cpu="256")
    yard.node("second", cpu="8")
    for series in ("resnet", "unet"):
        yard.ran(series, waits_for="input", waits_percent=10.0, pulse_seconds=60.0)
    one, other = yard.job("resnet-2"), yard.job("unet-2")
    yard.pod(one, node="first")
    stage.heard()
    assert yard.place(other) == "first"


def test_pods_without_gpus_are_not_asked_about(stage: Stage, yard: Yard) -> None:
    yard.node("small")
    stage.heard()
    before = asked(stage)
    assert yard.place(gpus=0) == "small"
    assert asked(stage) == before
    assert yard.place(gpus=1) == "small"
    assert asked(stage) > before


def asked(stage: Stage) -> float:
    figures = stage.extender.metrics()
    return sum(figures[one] for one in figures if one.startswith("cepheid_extender_requests_total"))
