"""The figures that the rules of `jobtype` look at: each computed once, each with a meaning.

All are medians, quantiles and shares of samples, so that no single sample decides; and none
depends on which end of the series came first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.signals import GpuLoad, Signals, known, mean, measured, quantiles
from cepheid.model import Cycle, FloatArray

# Kubelet probes, scrapes and an experiment tracker's reports make a few kB/s; acknowledging a
# stream takes 1 to 2 % of it.
PROBES_BYTES_PER_SECOND = 5e3
TWO_WAY_RATIO = 0.04
# Gradients go out as fast as they come in (a ring all-reduce), and in bulk.
PEERS_BYTES_PER_SECOND = 5e6
PEERS_RATIO = 0.8
# A cycle up to here is a step, whatever it looks like. One beyond is an epoch if the load has two
# levels; if it swells and ebbs, or takes hours, it is people's demand.
STEP_SECONDS = 240.0
EPOCH_SECONDS = 4 * 3600.0
TWO_LEVELS_RATIO = 0.65
FEWEST_CYCLES = 2.9
FEWEST_STRENGTH = 0.4
# What counts as the top of the load and as rest, of its 95th percentile.
TOP_RATIO = 0.85
REST_RATIO = 0.15
# A correlation of fewer pairs is chance.
FEWEST_PAIRS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """NaN where it was not measured: it then lies in no range, and no rule that asks it holds."""

    active: float
    """The share of the samples in which anything happened."""
    active_samples: float
    busy: float
    """The typical share of the time in which some kernel runs."""
    work: float
    """What is computed at the upper end: its 90th percentile."""
    waiting: float
    """The share of the samples in which a kernel runs and computes nothing."""
    level: float
    """The typical load while there is any, of all that the GPU can draw."""
    spread: float
    """Half the width of the middle 68 % of the load while there is any, over its median."""
    top_spread: float
    """The same of the samples at the top of the load."""
    two_level: float
    """The share of the samples at the top of the load or at rest; a tide is mostly between."""
    unevenness: float
    """The load's standard deviation over its mean: 1 and more for rare bursts."""
    burst_unevenness: float
    """The same of what was computed in each burst."""
    tensor: float
    """The tensor pipe's activity while a kernel runs."""
    dram_per_tensor: float
    memory_mib: float
    memory_swing: float
    """How far the GPU memory moves, of what is typically held."""
    traffic: float
    """Bytes a second, received and sent."""
    two_way: float
    """1 if traffic is more than probes, and more than one direction and its acknowledgements."""
    among_peers: float
    """1 if traffic goes out as it comes in, in bulk."""
    follows: float
    """The rank correlation of traffic with the load."""
    step_seconds: float
    """The period of a cycle that looks like steps or epochs; 0 where there is none."""
    step_confirmed: float
    """1 if averaged signals show it too, 0 if there were none to ask."""
    tide_seconds: float
    """The period of a cycle that looks like people's demand; 0 where there is none."""


def features(signals: Signals, load: GpuLoad) -> Features:
    acts = load.active if load.active is not None else np.empty(0)
    pulse = load.pulse if load.pulse is not None else np.full(acts.size, np.nan)
    at_work = pulse[acts == 1] if load.active is not None else pulse
    level, spread = _middle(at_work)
    top = quantiles(at_work, 0.95)[0]
    top_spread = _middle(at_work[at_work >= TOP_RATIO * top])[1]
    all_known = known(pulse)
    between = (all_known > REST_RATIO * top) & (all_known < TOP_RATIO * top)
    two_level = 1 - float(between.mean()) if all_known.size else np.nan
    used = measured(signals.gpu_memory_used_mib)
    low, memory, high = quantiles(used, 0.05, 0.5, 0.95)
    tensor, dram = _while_busy(load.tensor, load.busy), _while_busy(load.dram, load.busy)
    traffic = _traffic(signals, load.pulse)
    return Features(
        active=mean(load.active),
        active_samples=float(np.nansum(acts)) if acts.size else np.nan,
        busy=quantiles(load.busy, 0.5)[0],
        work=quantiles(load.work, 0.9)[0],
        waiting=mean(load.waiting),
        level=level,
        spread=spread,
        top_spread=top_spread,
        two_level=two_level,
        unevenness=_unevenness(all_known),
        burst_unevenness=_unevenness(_bursts(pulse, acts)),
        tensor=tensor,
        dram_per_tensor=dram / max(tensor, 1e-3),
        memory_mib=memory,
        memory_swing=(high - low) / max(memory, 1.0),
        **traffic,
        **_cycles(signals.cycles, two_level),
    )


def _middle(values: FloatArray) -> tuple[float, float]:
    """The median, and half the width of the middle 68 % over it: for noise its deviation."""
    low, median, high = quantiles(values, 0.16, 0.5, 0.84)
    return median, (high - low) / 2 / median if median > 0 else np.nan


def _unevenness(values: FloatArray) -> float:
    level = float(values.mean()) if values.size else 0.0
    return float(values.std()) / level if level > 0 else np.nan


def _while_busy(ratio: FloatArray | None, busy: FloatArray | None) -> float:
    """The mean over the time in which a kernel ran, and not over the pauses."""
    if ratio is None or busy is None:
        return np.nan
    both = np.isfinite(ratio) & np.isfinite(busy)
    seconds = float(busy[both].sum())
    return min(1.0, float(ratio[both].sum()) / seconds) if seconds > 0 else np.nan


def _bursts(pulse: FloatArray, acts: FloatArray) -> FloatArray:
    """What was computed in each run of active samples; a gap in the data ends a run."""
    on = acts == 1
    if pulse.size != acts.size or not on.any():
        return np.empty(0)
    starts = np.flatnonzero(on & ~np.concatenate(([False], on[:-1])))
    # reduceat sums up to the next start: the pauses in between must count as nothing.
    return np.add.reduceat(np.where(on & np.isfinite(pulse), pulse, 0.0), starts)


def _traffic(signals: Signals, pulse: FloatArray | None) -> dict[str, float]:
    receive = measured(signals.network_receive_bytes_per_second)
    transmit = measured(signals.network_transmit_bytes_per_second)
    if receive is None or transmit is None:
        return dict.fromkeys(("traffic", "two_way", "among_peers", "follows"), np.nan)
    low, high = sorted((mean(receive), mean(transmit)))
    return {
        "traffic": low + high,
        "two_way": float(low > max(PROBES_BYTES_PER_SECOND, TWO_WAY_RATIO * high)),
        "among_peers": float(low > max(PEERS_BYTES_PER_SECOND, PEERS_RATIO * high)),
        "follows": _rank_correlation(receive + transmit, pulse) if pulse is not None else np.nan,
    }


def _rank_correlation(first: FloatArray, second: FloatArray) -> float:
    """Spearman's, ties broken by place: on measured rates they hardly occur."""
    both = np.isfinite(first) & np.isfinite(second)
    count = int(both.sum())
    if count < FEWEST_PAIRS:
        return np.nan
    ranks = [np.argsort(np.argsort(array[both], kind="stable")) for array in (first, second)]
    difference = (ranks[0] - ranks[1]).astype(np.float64)
    return 1 - 6 * float(difference @ difference) / (count * (count * count - 1.0))


def _cycles(cycles: Sequence[Cycle] | None, two_level: float) -> dict[str, float]:
    """A cycle that the averaged signals do not show is an alias of the gauge: not counted."""
    result = {"step_seconds": 0.0, "step_confirmed": 0.0, "tide_seconds": 0.0}
    if cycles is None:
        return dict.fromkeys(result, np.nan)
    for cycle in sorted(cycles, key=lambda cycle: cycle.strength):
        if cycle.confirmed is False or cycle.strength < FEWEST_STRENGTH:
            continue
        if not cycle.cycles_seen >= FEWEST_CYCLES:
            continue
        epoch = cycle.period_seconds < EPOCH_SECONDS and two_level >= TWO_LEVELS_RATIO
        if cycle.period_seconds <= STEP_SECONDS or epoch:
            result["step_seconds"] = cycle.period_seconds
            result["step_confirmed"] = float(cycle.confirmed is True)
        else:
            result["tide_seconds"] = cycle.period_seconds
    return result
