"""Scores as text. Pure.

A ratio is that of the same jobs under the default scheduler: of the seeds the geometric mean, and
in brackets the smallest and the largest.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tests.bench.agent.figures import table
from tests.bench.scheduler.scores import Score

MINUTE = 60.0
AIM = 0.8
WORST = 1.02
Value = Callable[[Score], float]


def overview(scores: Sequence[Score], heterogeneous: Sequence[str]) -> str:
    """Mean completion time of every family, beside the default scheduler's."""
    rows = []
    for family in dict.fromkeys(one.family for one in scores):
        some = [one for one in scores if one.family == family]
        default = [one for one in some if one.policy == "default"]
        rows.append(
            (
                family,
                "yes" if family in heterogeneous else "no",
                _minutes(default, lambda one: one.mean_seconds),
                _ratio(some, "bin packing", lambda one: one.mean_seconds),
                _ratio(some, "ours", lambda one: one.mean_seconds),
                _ratio(some, "ours", lambda one: one.p95_seconds),
            )
        )
    head = ("family", "several types", "default, mean", "bin packing", "ours", "ours, p95")
    return table(head, rows)


def against_targets(scores: Sequence[Score], heterogeneous: Sequence[str]) -> str:
    families = list(dict.fromkeys(one.family for one in scores))
    found = {name: _geometric(mean_ratios(scores, name, "ours")) for name in families}
    mixed = [found[name] for name in families if name in heterogeneous]
    over = [name for name in families if found[name] > WORST]
    worst = max(found, key=lambda name: found[name])
    rows = [
        (
            "mean completion time on several types, all such families",
            f"<= {AIM:.2f}",
            f"{_geometric(mixed):.2f}" if mixed else "no data",
        ),
        ("such families that reach it", "-", f"{sum(r <= AIM for r in mixed)} of {len(mixed)}"),
        (f"worst family: {worst}", f"<= {WORST:.2f}", f"{found[worst]:.3f}"),
        ("families that are worse by more", "0", f"{len(over)}" + _named(over)),
    ]
    return table(("beside the default scheduler", "target", "reached"), rows)


def of_family(scores: Sequence[Score]) -> str:
    """All policies, of one family."""
    columns: list[tuple[str, str, Value]] = [
        ("mean", "min", lambda one: one.mean_seconds),
        ("p95", "min", lambda one: one.p95_seconds),
        ("queued, mean", "min", lambda one: one.queued_seconds),
        ("queued, p95", "min", lambda one: one.queued_p95_seconds),
        ("GPU-h idle", "", lambda one: one.idle_gpu_hours),
        ("GPU-h lost", "", lambda one: one.lost_gpu_hours),
        ("kills", "", lambda one: one.kills),
    ]
    rows = []
    for policy in dict.fromkeys(one.policy for one in scores):
        own = [one for one in scores if one.policy == policy]
        cells = [
            _minutes(own, value) if unit else f"{np.mean([value(one) for one in own]):,.1f}"
            for _, unit, value in columns
        ]
        rows.append((policy, *cells, _ratio(scores, policy, lambda one: one.mean_seconds)))
    return table(("", *(name for name, _, _ in columns), "mean, ratio"), rows)


def mean_ratios(scores: Sequence[Score], family: str, policy: str) -> list[float]:
    some = [one for one in scores if one.family == family]
    return _ratios(some, policy, lambda one: one.mean_seconds)


def _ratios(scores: Sequence[Score], policy: str, value: Value) -> list[float]:
    base = {one.seed: value(one) for one in scores if one.policy == "default"}
    return [value(one) / base[one.seed] for one in scores if one.policy == policy]


def _ratio(scores: Sequence[Score], policy: str, value: Value) -> str:
    found = _ratios(scores, policy, value)
    return f"{_geometric(found):.2f} [{min(found):.2f}, {max(found):.2f}]"


def _minutes(scores: Sequence[Score], value: Value) -> str:
    return f"{np.mean([value(one) for one in scores]) / MINUTE:,.1f} min"


def _geometric(ratios: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def _named(names: Sequence[str]) -> str:
    return f": {', '.join(names)}" if names else ""
