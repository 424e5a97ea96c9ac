"""Why no kernel runs: what was at its limit while the GPU paused.

Weighted by the pause in each sample, not counted, so that pauses far shorter than a sample weigh
what they last.
"""

import math
from collections.abc import Iterator

import numpy as np

from cepheid.analysis.findings import AT_LIMIT, BUSY_NETWORK, WORTHWHILE, Bottleneck, Case, Cause
from cepheid.analysis.signals import mean, measured, quantiles
from cepheid.model import FloatArray

# A tenth of the scheduler's periods; kubernetes-mixin's alert CPUThrottlingHigh fires at 25 %.
THROTTLED = 0.1
# One thread at full speed, whatever the limit is: an average of it is a little below 1 core.
ONE_CORE = (0.85, 1.1)
# A spinning disk reads 100 MB/s.
BUSY_DISK = 2e7
# Traffic causes pauses if there is this much more of it in them, or if it is flat at a ceiling.
MORE_IN_PAUSES = 1.5
FLAT = 1.15
# The cores that would hide all pauses are not extrapolated beyond five times those used.
LEAST_BUSY = 0.2
READ_ADVICE = (
    "keep the data on a local SSD or in memory, in few large files (WebDataset, TFRecord), and"
    " read ahead"
)
WRITE_ADVICE = (
    "write checkpoints less often or in the background (PyTorch:"
    " torch.distributed.checkpoint.async_save)"
)


def causes_of_pauses(case: Case) -> list[Bottleneck]:
    """The CPU first: where it is at its limit, disk and network run only as fast as it asks."""
    return [*_input(case), *throttled(case)] or [*_storage(case), *_receiving(case)]


def _input(case: Case) -> Iterator[Bottleneck]:
    """The GPU pauses while the CPU is at its limit."""
    if case.cpu is None:
        return
    ratio, cores = case.in_pauses(case.cpu_ratio), case.in_pauses(case.cpu)
    limit = case.signals.cpu_limit_cores or np.nan
    at_limit = ratio >= AT_LIMIT or _fills_at_limit(case)
    # A thread that computes in the pauses only shows as their share of a core.
    threads = (cores, mean(case.cpu * case.pausing) / mean(case.pausing**2))
    if case.load.engine is None:
        threads = (cores, mean(case.cpu) / case.pauses)
    one_thread = any(ONE_CORE[0] <= thread <= ONE_CORE[1] for thread in threads)
    one_thread = one_thread and not limit < 2 * ONE_CORE[0]
    if not (at_limit or one_thread):
        return
    wanted = max(1, math.ceil(mean(case.cpu) / max(1 - case.pauses, LEAST_BUSY)))
    evidence = {"gpu_idle_ratio": case.pauses, "cpu_cores_in_pauses": cores}
    reason = f"no kernel runs {case.pauses:.0%} of the time, and meanwhile "
    if at_limit:
        evidence |= {"cpu_limit_cores": limit, "cpu_of_limit_in_pauses": ratio}
        reason += f"the CPU is at its limit of {limit:.3g} cores"
        advice = (
            f"prepare batches ahead (prefetch) with about {wanted} cores: more loader workers and"
            f' resources.limits.cpu: "{wanted}"'
        )
    else:
        reason += "one core computes alone: the batches are prepared in one thread"
        advice = "use several loader workers (PyTorch: DataLoader num_workers=4 or more)"
    yield Bottleneck(Cause.INPUT, case.pauses, evidence, reason, advice)


def _fills_at_limit(case: Case) -> bool:
    """Whether the CPU computes at its limit for as long as the GPU pauses, and not otherwise.

    Samples longer than a step average both. If the pauses differ from sample to sample, CPU and
    pauses going together are proof enough; if all look the same, throttling has to show the limit.
    """
    if case.cpu_ratio is None:
        return False
    if case.load.engine is None:
        computing, alike = mean(case.cpu_ratio), True
    else:
        computing = mean(np.minimum(case.cpu_ratio, case.pausing))
        alike = float(np.nanstd(case.pausing)) < WORTHWHILE
    proven = not alike or case.throttled >= THROTTLED / 2
    return proven and computing >= AT_LIMIT * case.pauses


def throttled(case: Case) -> Iterator[Bottleneck]:
    stopped = measured(case.signals.throttled_ratio, ceiling=1.0)
    ratio = np.fmax(case.throttled, case.in_pauses(stopped))
    if not ratio >= THROTTLED:
        return
    lost = case.pauses if case.has_gpu else 1.0
    limit = case.signals.cpu_limit_cores
    evidence = {"throttled_ratio": float(ratio)}
    evidence |= {} if limit is None else {"cpu_limit_cores": limit}
    limit_words = "its limit" if limit is None else f"its limit of {limit:.3g} cores"
    yield Bottleneck(
        Cause.CPU_THROTTLED,
        float(ratio) * lost,
        evidence,
        f"{limit_words} stops the CPU in {ratio:.0%} of the scheduler's periods",
        "raise or remove resources.limits.cpu (the request keeps its share of the node), or start"
        " fewer threads (OMP_NUM_THREADS, loader workers)",
    )


def _storage(case: Case) -> Iterator[Bottleneck]:
    for name, verb, advice in (
        ("disk_read_bytes_per_second", "read", READ_ADVICE),
        ("disk_write_bytes_per_second", "written", WRITE_ADVICE),
    ):
        rate = measured(getattr(case.signals, name))
        if _fills_pauses(case, rate, BUSY_DISK):
            speed = case.in_pauses(rate)
            yield Bottleneck(
                Cause.DISK,
                case.pauses,
                {"gpu_idle_ratio": case.pauses, name: speed},
                f"no kernel runs {case.pauses:.0%} of the time, and meanwhile {speed / 1e6:.0f}"
                f" MB/s are {verb}, with the CPU below its limit",
                advice,
            )
            return


def _receiving(case: Case) -> Iterator[Bottleneck]:
    rate = measured(case.signals.network_receive_bytes_per_second)
    if _fills_pauses(case, rate, BUSY_NETWORK):
        speed = case.in_pauses(rate)
        yield Bottleneck(
            Cause.NETWORK,
            case.pauses,
            {"gpu_idle_ratio": case.pauses, "network_receive_bytes_per_second": speed},
            f"no kernel runs {case.pauses:.0%} of the time, and meanwhile {speed / 1e6:.0f} MB/s"
            " come over the network, with the CPU below its limit",
            "cache the data on the node, compress it, or fetch further ahead",
        )


def _fills_pauses(case: Case, rate: FloatArray | None, floor: float) -> bool:
    middle, high = quantiles(rate, 0.5, 0.95)
    inside = case.in_pauses(rate)
    return inside >= floor and (
        inside >= MORE_IN_PAUSES * case.outside(rate) or high <= FLAT * middle
    )
