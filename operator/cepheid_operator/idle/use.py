"""When were the GPUs of a job last in use, as far as that is known? Pure.

Nothing is taken for granted: a GPU without samples, or with a gap among them, may have been busy.
So a job is idle since the last moment at which one of its GPUs was in use, or was not seen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from cepheid.jobs.advice import IDLE_PERCENT
from cepheid.jobs.pods import Phase, PodState
from cepheid.sources.jobs import PodHistory
from cepheid.sources.reading import GpuReading

LOADS = {"gpu_util_percent": 1.0, "engine_active_ratio": 100.0}
"""Signals that tell it, and what makes them percent. Of a MIG slice only the second is there."""
MOST_GAP_SECONDS = 300.0
"""Between two samples: scrapes are lost now and then. Longer, and nobody knows."""


@dataclass(frozen=True, slots=True)
class Use:
    seen_seconds: float
    """Since then all of its GPUs have been looked at, without a gap."""
    used_seconds: float | None = None
    """When one of them was last in use, since then."""

    @property
    def idle_seconds(self) -> float:
        """Since when, as a Unix time."""
        return self.seen_seconds if self.used_seconds is None else self.used_seconds


def holders(pods: Iterable[PodState]) -> list[PodState]:
    """The pods that hold GPUs; none while one of the job's pods still waits.

    Those that run may well wait for it: that is no fault of theirs.
    """
    there = [pod for pod in pods if not pod.is_over]
    if any(pod.started is None or pod.phase is not Phase.RUNNING for pod in there):
        return []
    return [pod for pod in there if pod.gpu_count]


def use_of(
    pods: Mapping[str, PodState], histories: Iterable[PodHistory], now_seconds: float
) -> Use | None:
    """None where one of their GPUs was not seen just now. A pod may come in several pieces."""
    gpus: dict[str, dict[object, list[GpuReading]]] = {name: {} for name in pods}
    for history in histories:
        for gpu in history.gpus:
            which = (gpu.uuid or gpu.index, gpu.mig_id)
            gpus[history.pod].setdefault(which, []).append(gpu)
    found: list[Use] = []
    for name, pod in pods.items():
        each = [_of_gpu(pieces, now_seconds) for pieces in gpus[name].values()]
        known = [one for one in each if one is not None]
        if pod.started is None or len(known) < max(1, pod.gpu_count):
            return None
        # What was measured before it ran was another's.
        found += [_since(one, pod.started.timestamp()) for one in known]
    if not found:
        return None
    together = Use(
        max(one.seen_seconds for one in found),
        max((one.used_seconds for one in found if one.used_seconds is not None), default=None),
    )
    return _since(together, together.seen_seconds)


def continued(use: Use | None, idle_seconds: float, known_seconds: float | None) -> Use | None:
    """The same for a job that was idle from one moment to another, as an earlier look found."""
    if use is None or known_seconds is None or use.used_seconds is not None:
        return use
    return Use(idle_seconds) if use.seen_seconds <= known_seconds else use


def _since(use: Use, seconds: float) -> Use:
    used = use.used_seconds
    return Use(
        max(use.seen_seconds, seconds), used if used is not None and used > seconds else None
    )


def _of_gpu(pieces: Iterable[GpuReading], now_seconds: float) -> Use | None:
    parts = [
        (part.times, part.values * (part.scale * scale))
        for gpu in pieces
        for name, scale in LOADS.items()
        if name in gpu.signals
        for part in gpu.signals[name].parts
    ]
    if not parts:
        return None
    times = np.concatenate([times for times, _ in parts])
    loads = np.concatenate([loads for _, loads in parts])
    order = np.argsort(times, kind="stable")
    order = order[np.isfinite(loads[order])]
    times, loads = times[order], loads[order]
    if not times.size or now_seconds - times[-1] > MOST_GAP_SECONDS:
        return None
    gaps = np.flatnonzero(np.diff(times) > MOST_GAP_SECONDS)
    begin = int(gaps[-1]) + 1 if gaps.size else 0
    busy = np.flatnonzero(loads[begin:] > IDLE_PERCENT)
    used = float(times[begin + busy[-1]]) if busy.size else None
    return Use(float(times[begin]), used)
