"""What the extender takes for granted where little is known; `make bench-scheduler` taught it."""

import numpy as np
import pytest

from cepheid_operator.extender.judging import judge
from cepheid_operator.extender.needs import Needs, Run, needs_of, usual
from cepheid_operator.extender.supply import Gpu, Node, Supply
from cepheid_operator.extender.views import UNKNOWN

A100, T4, ODD = "NVIDIA-A100-PCIE-40GB", "Tesla-T4", "Nobody-Knows-9000"


def run(gpu_type: str, memory_gb: float) -> Run:
    return Run(ended=1.0, gpu_type=gpu_type, seconds=60.0, gpus=1, memory_gb=memory_gb, busy=0.5)


def test_a_job_of_which_no_run_is_known_is_a_usual_one() -> None:
    needs = needs_of(1, [], None, [A100, T4, ODD])
    assert needs.runs == 0
    assert needs.speeds == usual([A100, T4, ODD])
    assert needs.speeds[A100] == 1.0
    assert 0.2 < needs.speeds[T4] < 0.6
    assert ODD not in needs.speeds


def test_it_is_better_off_on_a_faster_type_while_there_is_room() -> None:
    supply = Supply()
    for name, kind in (("fast", A100), ("slow", T4), ("odd", ODD)):
        supply.put(Node(name, kind, 4, (Gpu(empty=True),) * 4, valid_until=np.inf))
    needs = needs_of(1, [], None, supply.types)
    fast, slow, odd = judge(supply, ["fast", "slow", "odd"], needs, 0.0).parts["type"]
    assert fast > odd > slow
    assert odd == UNKNOWN


@pytest.mark.parametrize(
    ("runs", "memory_gb"),
    [
        ([run(A100, 20.0)], 20.0),
        ([run(A100, 36.0)], None),  # as TensorFlow does
        ([run(A100, 30.0)], None),  # as JAX does
        ([run(A100, 36.0), run(T4, 9.0)], 9.0),
        ([run(ODD, 36.0)], 36.0),  # nobody can tell how much it has
    ],
)
def test_who_may_have_taken_all_memory_tells_nothing_of_what_it_needs(
    runs: list[Run], memory_gb: float | None
) -> None:
    assert needs_of(1, runs, None, [A100, T4]).memory_gb == memory_gb


def test_gpus_that_are_shared_in_turns_are_not_packed() -> None:
    supply = Supply()
    for name, shares in (("shared", 3), ("crowded", 3), ("whole", 1), ("held", 1)):
        supply.put(Node(name, T4, 4 * shares, (Gpu(),) * 4, valid_until=np.inf))
    supply.hold("crowded", 8, 1.0)
    supply.hold("held", 3, 1.0)
    pack = judge(supply, ["shared", "crowded", "whole", "held"], Needs(1), 0.0).parts["pack"]
    neutral = (UNKNOWN + 1.0) / 2
    assert pack.tolist() == [neutral, neutral, (0.25 + 0.0) / 2, 1.0]
