"""What is said of a job does not flicker, and what must be known at once is."""

from cepheid.agent.verdicts import Verdicts
from cepheid.analysis.jobrules import JobKind

EMPTY, IDLE, TRAINING, INFERENCE, UNKNOWN = (
    *(JobKind.EMPTY, JobKind.IDLE, JobKind.TRAINING),
    *(JobKind.INFERENCE, JobKind.UNKNOWN),
)


def told(*found: JobKind) -> list[JobKind]:
    verdicts = Verdicts()
    said: list[JobKind] = []
    for kind in found:
        said.append(verdicts.told("gpu", kind, said[-1] if said else None))
    return said


def test_the_second_time_in_a_row_counts() -> None:
    assert told(UNKNOWN, TRAINING, TRAINING) == [UNKNOWN, UNKNOWN, TRAINING]
    assert told(TRAINING, INFERENCE, TRAINING, INFERENCE) == [TRAINING] * 4
    assert told(TRAINING, IDLE, IDLE, TRAINING) == [TRAINING, TRAINING, IDLE, IDLE]


def test_taken_and_left_are_told_at_once() -> None:
    assert told(EMPTY, UNKNOWN) == [EMPTY, UNKNOWN]
    assert told(TRAINING, TRAINING, EMPTY) == [TRAINING, TRAINING, EMPTY]


def test_each_gpu_has_its_own() -> None:
    verdicts = Verdicts()
    assert verdicts.told("a", IDLE, UNKNOWN) is UNKNOWN
    assert verdicts.told("b", IDLE, UNKNOWN) is UNKNOWN
    assert verdicts.told("a", IDLE, UNKNOWN) is IDLE
    verdicts.keep_only({"a"})
    assert verdicts.told("b", IDLE, UNKNOWN) is UNKNOWN
