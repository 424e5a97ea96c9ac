"""What holds a job back, with the figures that show it and what a person can do about it.

The time of a GPU divides into three: no kernel runs (it pauses), a kernel runs and computes
nothing (it waits for its peers), something is computed. The engine's activity is an average, so
the division holds for steps far shorter than a sample, too. Pauses are then laid at the door of
whatever was at its limit while they lasted: weighted by the pause in each sample, not counted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from cepheid.analysis.findings import (
    AT_LIMIT,
    BUSY_NETWORK,
    FEWEST_SAMPLES,
    WORTHWHILE,
    Bottleneck,
    Case,
    Cause,
    divide,
    of_limit,
    weighted,
)
from cepheid.analysis.jobtype import JobKind
from cepheid.analysis.pauses import causes_of_pauses, throttled
from cepheid.analysis.signals import Signals, known, mean, measured, quantiles
from cepheid.model import FloatArray

__all__ = ["Bottleneck", "Cause", "bottlenecks"]

# A link between GPUs that is busy: PCIe 3.0 x16 carries 16 GB/s, NVLink hundreds.
BUSY_LINK = 1e9
# What well tuned kernels reach of the tensor pipe, of device memory and of the power range.
GOOD_TENSOR, GOOD_DRAM, GOOD_POWER = 0.6, 0.8, 0.8
# What of the last a kernel draws that merely runs.
SPINNING = 0.2
HOLLOW = 0.35
# The GPU itself holds a job back only where it has something to do most of the time.
MOSTLY = 0.7


def bottlenecks(signals: Signals, kind: JobKind | None = None) -> tuple[Bottleneck, ...] | None:
    """The heaviest first; none where nothing holds it back, None where too little was measured.

    Of a job that has nothing to do, pauses are no loss: `kind` tells.
    """
    case = divide(signals)
    near = of_limit(measured(signals.memory_working_set_bytes), signals.memory_limit_bytes)
    arrays = (case.load.busy, case.cpu_ratio, near, measured(signals.throttled_ratio))
    if max(known(array).size for array in arrays) < FEWEST_SAMPLES:
        return None
    found = list(_memory(near))
    if kind not in (JobKind.IDLE, JobKind.EMPTY, JobKind.INTERACTIVE):
        found += _gpu(case, kind) if case.has_gpu else _cpu(case)
    found.sort(key=lambda one: -one.share)
    return tuple(replace(one, evidence=_measured_only(one.evidence)) for one in found)


def _measured_only(evidence: Mapping[str, float]) -> dict[str, float]:
    return {name: figure for name, figure in evidence.items() if np.isfinite(figure)}


def _gpu(case: Case, kind: JobKind | None) -> Iterator[Bottleneck]:
    explained = False
    if case.pauses >= WORTHWHILE and mean(case.load.active) >= WORTHWHILE:
        causes = causes_of_pauses(case)
        yield from causes
        explained = bool(causes)
    if case.waits >= WORTHWHILE:
        yield _exchange(case, case.waits) if _exchanging(case) else _peers(case)
    yield from _computing(case)
    # A server pauses when nobody asks it; only of training the pauses want an explanation.
    if case.pauses >= 2 * WORTHWHILE and not explained and kind is JobKind.TRAINING:
        yield Bottleneck(
            Cause.UNKNOWN,
            case.pauses,
            {"gpu_idle_ratio": case.pauses},
            f"no kernel runs {case.pauses:.0%} of the time, and nothing measured was at its limit",
            "profile a few steps (torch.profiler, nsys) and look at what the host does in between",
        )


def _cpu(case: Case) -> Iterator[Bottleneck]:
    """Of a job without a GPU, or whose GPU shows nothing."""
    if stopped := list(throttled(case)):
        yield from stopped
        return
    ratios = known(case.cpu_ratio)
    share = float((ratios >= AT_LIMIT).mean()) if ratios.size else 0.0
    if share >= WORTHWHILE:
        limit = case.signals.cpu_limit_cores or np.nan
        yield Bottleneck(
            Cause.CPU,
            share,
            {"cpu_cores": mean(case.cpu), "cpu_limit_cores": limit},
            f"the CPU is at the {limit:.3g} cores that it can have {share:.0%} of the time",
            "give it more cores if it scales, or a node with faster ones",
        )


def _memory(near: FloatArray | None) -> Iterator[Bottleneck]:
    ratios = known(near)
    share = float((ratios >= AT_LIMIT).mean()) if ratios.size else 0.0
    if share >= WORTHWHILE:
        peak = quantiles(near, 0.98)[0]
        yield Bottleneck(
            Cause.MEMORY,
            share / 2,
            {"memory_of_limit": peak},
            f"the working set is at {peak:.0%} of its limit; at 100 % it is killed",
            "raise resources.limits.memory, or hold less: smaller batches ahead, fewer workers",
        )


def _peers(case: Case) -> Bottleneck:
    evidence = {"waiting_ratio": case.waits, "kernel_running_ratio": mean(case.load.busy)}
    if case.load.power is not None:
        evidence["power_of_range"] = weighted(case.load.power, case.load.waiting)
    return Bottleneck(
        Cause.PEERS,
        case.waits,
        evidence,
        f"a kernel spins {case.waits:.0%} of the time: it computes nothing and hardly anything"
        " goes out or comes in, so other ranks are late",
        "look for the rank that does not wait: a slower node, more data, or stuck. NCCL_DEBUG=INFO"
        " and py-spy dump show where it stands",
    )


def _exchange(case: Case, share: float) -> Bottleneck:
    evidence = {"exchange_ratio": share}
    for name in (
        "network_transmit_bytes_per_second",
        "network_receive_bytes_per_second",
        "interconnect_bytes_per_second",
    ):
        evidence[name] = mean(measured(getattr(case.signals, name)))
    return Bottleneck(
        Cause.NETWORK,
        share,
        evidence,
        f"kernels run, but about {share:.0%} of the time they exchange data with their peers"
        " rather than compute",
        "exchange less often (gradient accumulation), less (BF16 or compressed gradients), among"
        " GPUs on one node with NVLink, or over RDMA",
    )


def _computing(case: Case) -> Iterator[Bottleneck]:
    """GPU_UTIL alone cannot tell this: something has to show that work was done."""
    load, busy = case.load, mean(case.load.busy)
    if load.work is None:
        return
    tensor, dram, power = (mean(array) for array in (load.tensor, load.dram, load.power))
    fullness = np.nanmax(
        [tensor / GOOD_TENSOR, dram / GOOD_DRAM, power / GOOD_POWER - SPINNING, 0.0]
    )
    # A plain float: numpy's own cannot be written down.
    computing = busy - float(np.nan_to_num(case.waits))
    # Of a MIG instance only device memory may be known: that it rests proves nothing.
    provable = load.tensor is not None or load.power is not None
    hollow = max(0.0, computing - min(1.0, float(fullness))) if provable else 0.0
    if hollow >= HOLLOW and _exchanging(case):
        yield _exchange(case, hollow)
        computing -= hollow
    if computing < MOSTLY:
        return
    evidence = {"kernel_running_ratio": busy, "tensor_ratio": tensor, "dram_ratio": dram}
    evidence |= {"power_of_range": power}
    if hollow >= HOLLOW:
        words = "kernels run all the time but leave most of the GPU unused"
        advice = "larger batches, fused kernels (torch.compile, CUDA graphs), or a smaller GPU"
    elif dram / GOOD_DRAM > np.fmax(tensor, 0.0) / GOOD_TENSOR:
        words = f"the GPU's memory is the limit, active {dram:.0%} of the time"
        advice = "fuse kernels, use a smaller number format, or a GPU with more memory bandwidth"
    else:
        words = "the GPU itself is the limit: it computes nearly all the time"
        advice = "all is well; faster only on more or faster GPUs, or in a smaller number format"
    yield Bottleneck(Cause.GPU, computing, evidence, words, advice)


def _exchanging(case: Case) -> bool:
    """Whether data moves between GPUs while kernels run; in the pauses it is the input's."""
    running = case.load.waiting if case.waits >= WORTHWHILE else 1 - case.pausing
    link = weighted(measured(case.signals.interconnect_bytes_per_second), running)
    receive = weighted(measured(case.signals.network_receive_bytes_per_second), running)
    transmit = weighted(measured(case.signals.network_transmit_bytes_per_second), running)
    return link >= BUSY_LINK or min(receive, transmit) >= BUSY_NETWORK
