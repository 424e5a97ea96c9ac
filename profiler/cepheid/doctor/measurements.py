"""What a Prometheus has of GPUs and containers: few questions, whose answers stay small.

No text from a label or a name goes into a question.
"""

from collections.abc import Callable

import numpy as np

from cepheid.doctor.asking import Questions, last
from cepheid.doctor.facts import Metrics, Pace
from cepheid.sources import catalog
from cepheid.sources.answer import RawSeries
from cepheid.sources.catalog import Source
from cepheid.sources.selection import CANDIDATES, INSTANCE

BACK = "1h"
"""Whose samples are looked for where there are none within the usual five minutes."""
PACE_WINDOW = "10m"
FEWEST = 4
"""Samples, or changes, from which an interval can be told."""
OF_EVERY_GPU = ("gpu_memory_used_mib", "gpu_util_percent", "engine_active_ratio")
"""Signals of which an exporter has one at least."""
COUNTED = "power_watts"
"""The counter behind it grows with every reading, also of an idle GPU."""
OF_CONTAINERS = "cpu_cores"


def measurements(ask: Questions, clock: Callable[[], float]) -> Metrics:
    """Raises SourceError where Prometheus cannot be asked."""
    begun = clock()
    theirs = ask.number("vector(time())")
    ours = (begun + clock()) / 2
    now = ours if theirs is None else theirs
    names = _names_of(ask, Source.DCGM)
    device = next((one for one in _metrics(Source.DCGM, *OF_EVERY_GPU) if one in names), None)
    devices = [] if device is None else ask.vector(device)
    containers = _metrics(Source.CADVISOR, OF_CONTAINERS)[0]
    return Metrics(
        version=ask.version(),
        ahead_seconds=now - ours,
        dcgm=frozenset(names),
        devices=tuple(dict(one.labels) for one in devices),
        blanks=_blanks(ask, names),
        gpu_age_seconds=_age(ask, now, _metrics(Source.DCGM, *OF_EVERY_GPU)),
        gpu_pace=_pace(ask, _metrics(Source.DCGM, COUNTED, *OF_EVERY_GPU)),
        has_amd=bool(_names_of(ask, Source.AMD)),
        cadvisor_age_seconds=_age(ask, now, [containers]),
        cadvisor_nodes=_nodes(ask, containers),
    )


def _metrics(source: Source, *signals: str) -> list[str]:
    """Names, in the order of the signals."""
    of = catalog.of(source)
    return [metric.name for signal in signals for metric in of if metric.signal == signal]


def _names_of(ask: Questions, source: Source) -> set[str]:
    names = "|".join(metric.name for metric in catalog.of(source))
    found = ask.vector(f'count by (__name__) ({{__name__=~"{names}"}})')
    return {one.labels.get("__name__", "") for one in found}


def _blanks(ask: Questions, names: set[str]) -> dict[str, int]:
    parts = [
        f'label_replace(count({one.name} > {one.highest:g} or {one.name} < 0), "metric",'
        f' "{one.name}", "", "")'
        for one in catalog.of(Source.DCGM)
        if one.name in names
    ]
    found = ask.vector(" or ".join(parts)) if parts else []
    return {
        one.labels.get("metric", ""): int(value)
        for one in found
        if (value := last(one)) is not None
    }


def _age(ask: Questions, now: float, names: list[str]) -> float | None:
    """Of the newest sample: within five minutes, or further back."""
    for question in ("max(timestamp({0}))", f"max(max_over_time(timestamp({{0}})[{BACK}:30s]))"):
        whole = " or ".join(
            f'label_replace({question.format(name)}, "metric", "{name}", "", "")' for name in names
        )
        newest = [value for one in ask.vector(whole) if (value := last(one)) is not None]
        if newest:
            return now - max(newest)
    return None


def _pace(ask: Questions, names: list[str]) -> Pace | None:
    """By the first metric that tells, of the first GPU of the node that was seen longest."""
    for name in names:
        found = ask.vector(f'{name}{{gpu="0"}}[{PACE_WINDOW}]')
        longest = max(found, key=lambda one: one.times.size, default=None)
        if longest is not None and longest.times.size >= FEWEST:
            renewed = _renewed(longest) if name in _metrics(Source.DCGM, COUNTED) else None
            return Pace(float(np.median(np.diff(longest.times))), renewed)
    return None


def _renewed(series: RawSeries) -> float | None:
    changed = series.times[1:][np.diff(series.values) != 0]
    return float(np.median(np.diff(changed))) if changed.size >= FEWEST else None


def _nodes(ask: Questions, metric: str) -> frozenset[str]:
    labels = CANDIDATES[Source.CADVISOR]
    found = ask.vector(f"count by ({', '.join(labels)}) ({metric})")
    return frozenset(
        _host(value) if label == INSTANCE else value
        for one in found
        for label in labels
        if (value := one.labels.get(label))
    )


def _host(instance: str) -> str:
    host, colon, port = instance.rpartition(":")
    return (host if colon and port.isdigit() else instance).strip("[]")
