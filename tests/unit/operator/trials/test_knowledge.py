"""Earlier runs, as far as they tell something of placements."""

from datetime import UTC, datetime

import msgspec
import pytest

from cepheid.jobprofile import (
    Asked,
    CycleSeen,
    GpuHeld,
    JobIdentity,
    JobProfile,
    Outcome,
    Spread,
    Usage,
)
from cepheid.placementtrial import Placement
from cepheid_operator.trials.knowledge import ERROR_RATIO, earlier

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
DIGEST = "0123456789abcdef"


def run(workers: int, period_seconds: float, *, tensor_percent: float = 50.0) -> JobProfile:
    return JobProfile(
        job=JobIdentity(
            api_version="kubeflow.org/v1", kind="MPIJob", namespace="team", name="bert", uid="u"
        ),
        series="bert",
        template=DIGEST,
        created=NOON,
        outcome=Outcome.SUCCESS,
        gpus=tuple(
            GpuHeld(node="gpu-a", index=at, model="NVIDIA A100-SXM4-80GB") for at in range(workers)
        ),
        gpu_count=workers,
        asked=(
            Asked(container="launcher", role="Launcher", limits={"memory": "1Gi"}),
            Asked(container="worker", role="Worker", pods=workers, limits={"nvidia.com/gpu": "1"}),
        ),
        usage=Usage(tensor_percent=Spread(mean=tensor_percent)),
        cycle=CycleSeen(period_seconds=period_seconds, strength=0.9, confirmed=True),
    )


def test_a_run_says_how_fast_the_job_is_where_it_ran() -> None:
    (seen,) = earlier([run(2, 40.0)], DIGEST)
    assert seen.placement == Placement(gpu_type="NVIDIA-A100-SXM4-80GB", workers=2)
    assert seen.per_second == pytest.approx(1 / 40)
    assert seen.error_ratio == ERROR_RATIO


def test_runs_that_divide_the_same_iteration_all_count() -> None:
    found = earlier([run(1, 80.0), run(2, 40.0), run(4, 20.0)], DIGEST)
    assert [one.placement.workers for one in found] == [1, 2, 4]


def test_runs_whose_iteration_grows_with_the_gpus_are_not_compared() -> None:
    found = earlier([run(1, 40.0), run(2, 40.0), run(2, 41.0)], DIGEST)
    assert {one.placement.workers for one in found} == {2}


@pytest.mark.parametrize(
    "change",
    [
        {"template": "another"},
        {"cycle": None},
        {"cycle": CycleSeen(period_seconds=40.0, strength=0.9, confirmed=False)},
        {"gpus": ()},
        {"gpus": (GpuHeld(node="a", index=0, model=None),)},
        {"gpu_count": 3},
        {"asked": ()},
        {"asked": (Asked(container="main", limits={"nvidia.com/gpu": "many"}),)},
    ],
)
def test_of_others_nothing_is_concluded(change: dict[str, object]) -> None:
    changed = msgspec.structs.replace(run(2, 40.0), **change)
    assert earlier([changed], DIGEST) == ()
