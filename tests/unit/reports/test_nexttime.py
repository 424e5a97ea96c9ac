"""The exact line to change, where it can be told; and none where it cannot."""

import pytest
from msgspec.structs import replace

from cepheid.jobprofile import (
    Asked,
    HeldBackBy,
    JobProfile,
    MemoryLeak,
    Outcome,
    ProcessSeen,
    Reason,
    Spread,
    Usage,
)
from cepheid.reports.nexttime import changes, memory_quantity
from cepheid.units import quantity
from tests.unit.reports.runs import GIB, MIB, pod_job, process


def lines(profile: JobProfile, *earlier: JobProfile) -> list[str]:
    return [change.line for change in changes(profile, earlier)]


def test_memory_that_was_never_used_is_given_back_in_every_place_that_names_it() -> None:
    found = changes(pod_job())
    assert found[0].line == "resources.requests.memory: 44Gi"
    assert found[1].line == "resources.limits.memory: 44Gi"
    assert found[1].why == "Worker, container trainer: frees 81.7 GiB"


def test_no_earlier_run_would_break() -> None:
    larger = pod_job(1, used_bytes=41 * GIB)
    found = changes(pod_job(), [larger, pod_job(2, outcome=Outcome.FAILED, used_bytes=60 * GIB)])
    assert found[0].line == "resources.requests.memory: 48Gi"
    assert "breaks 0 of the last 1 runs" in found[0].why
    assert "resources.limits.memory: 48Gi" in [change.line for change in found]


def test_cpu_is_halved_to_what_was_used() -> None:
    assert 'resources.limits.cpu: "4.5"' in lines(pod_job())


@pytest.mark.parametrize(
    "honest",
    [
        pod_job(used_bytes=50 * GIB),
        pod_job(seconds=100.0),  # too short to show what it needs
        pod_job(outcome=Outcome.RUNNING),  # what comes is not known
        pod_job(leak=MemoryLeak(bytes_per_second=1e6, confidence=0.9)),
    ],
)
def test_what_is_needed_or_not_known_is_not_taken_away(honest: JobProfile) -> None:
    assert not [line for line in lines(honest) if "memory" in line]


def test_of_pods_with_several_containers_none_is_blamed() -> None:
    (asked,) = pod_job().asked
    two = pod_job(asked=(asked, replace(asked, container="sidecar")))
    assert lines(two) == []
    assert lines(pod_job(asked=())) == []


def test_a_killed_one_gets_more_than_what_killed_it() -> None:
    killed = pod_job(outcome=Outcome.FAILED, reason=Reason.OOM_KILLED)
    assert lines(killed) == ["resources.limits.memory: 96Gi"]
    nowhere = replace(killed, asked=(Asked(container="a"),))
    assert lines(nowhere) == []


def test_gpus_that_were_never_used_are_left_out() -> None:
    idle = pod_job(usage=Usage(gpu_util_percent=Spread(mean=0.0, max=2.0)))
    assert "resources.limits: without nvidia.com/gpu" in lines(idle)


def test_a_deadline_is_what_earlier_runs_needed_and_some() -> None:
    stopped = pod_job(outcome=Outcome.TIMEOUT, reason=Reason.DEADLINE, seconds=3600.0)
    assert lines(stopped) == ["spec.runPolicy.activeDeadlineSeconds: 7200"]
    assert lines(stopped, pod_job(1)) == ["spec.runPolicy.activeDeadlineSeconds: 9300"]
    run = process(outcome=Outcome.TIMEOUT, reason=Reason.DEADLINE, seconds=600.0)
    assert lines(run)[0] == "cepheid run --timeout 1200 -- python train.py --num-workers 2"


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("python train.py --num-workers 2", "python train.py --num-workers 4"),
        ("python train.py --num_workers=3 -x", "python train.py --num_workers=6 -x"),
        ("python 'a b.py' --workers 6", "python 'a b.py' --workers 8"),  # the machine has 8 cores
    ],
)
def test_a_run_that_waits_for_input_gets_more_workers(command: str, changed: str) -> None:
    assert lines(waiting(command))[0] == changed


@pytest.mark.parametrize(
    "command",
    ["python train.py", "python train.py --num-workers 8", "python x --workers many", "sh -c 'un"],
)
def test_a_command_that_has_no_such_option_is_left_alone(command: str) -> None:
    assert not [line for line in lines(waiting(command)) if not line.startswith("resources")]


def waiting(command: str) -> JobProfile:
    seen = process().process
    assert isinstance(seen, ProcessSeen)
    held = HeldBackBy(kind="input", share_percent=22.0)
    return process(held_back_by=held, process=replace(seen, command=command))


def test_a_laptops_run_says_what_to_ask_a_cluster_for() -> None:
    assert lines(process()) == [
        'resources.requests: {cpu: "6.9", memory: 7Gi}',
        "resources.limits: {nvidia.com/gpu: 1}",
    ]
    assert lines(process(seconds=10.0)) == []
    assert lines(process(outcome=Outcome.FAILED)) == []
    assert lines(process(usage=None)) == []


@pytest.mark.parametrize(
    ("amount", "text"),
    [(1.0, "16Mi"), (630 * MIB, "640Mi"), (2.2 * GIB, "2.5Gi"), (43.6 * GIB, "44Gi")],
)
def test_quantities_are_round_and_never_less(amount: float, text: str) -> None:
    assert memory_quantity(amount) == text
    assert (quantity(text) or 0.0) >= amount
