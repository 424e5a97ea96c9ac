"""What was measured as text. Pure."""

import math
from collections.abc import Mapping, Sequence

from tests.bench.agent.figures import MIB, table
from tests.bench.operator.filled import WRITES_AN_HOUR
from tests.bench.operator.jobs import NODES
from tests.bench.operator.measure import LOOK_SECONDS, Ends, Measured, Steady

MINUTE = 60.0


def against_targets(measured: Measured) -> str:
    steady, ends = measured.steady, measured.ends
    rows = [
        ("running pods", "5,000", f"{measured.pods:,}"),
        ("of jobs", "1,000", f"{measured.jobs:,}"),
        ("steady RSS", "< 300 MiB", _mib(steady.usages[-1].rss_bytes)),
        ("peak RSS since it was started", "< 300 MiB", _mib(_peak_bytes(measured))),
        ("CPU of one core, steady", "< 10 %", _percent(steady.cpu_seconds, steady.seconds)),
        (
            f"a job's end to its profile, {ends.jobs} at once: all",
            "<= 30 s",
            _seconds(ends.told, 1.0, ends.jobs),
        ),
        ("the same: 95 %", "-", _seconds(ends.told, 0.95, ends.jobs)),
        ("the same: half", "-", _seconds(ends.told, 0.5, ends.jobs)),
        ("to the figures of Prometheus in it: half", "-", _seconds(ends.complete, 0.5, ends.jobs)),
        ("the same: all", "-", _seconds(ends.complete, 1.0, ends.jobs)),
    ]
    return table(("", "target", "reached"), rows)


def of_start(measured: Measured) -> str:
    start = measured.start
    rows = [
        (f"until all {measured.jobs:,} have a live profile", f"{start.seconds:.0f} s"),
        ("CPU", f"{start.usage.cpu_seconds:.1f} s"),
        ("RSS", _mib(start.usage.rss_bytes)),
        ("peak", _mib(start.usage.peak_rss_bytes)),
        ("threads", f"{start.usage.threads}"),
    ]
    return table(("started beside them all", ""), rows)


def of_steady(measured: Measured) -> str:
    steady = measured.steady
    seconds = steady.seconds
    looks = round(MINUTE / LOOK_SECONDS)
    rss = [usage.rss_bytes for usage in steady.usages]
    rows = [
        ("nodes of kwok", f"{NODES}"),
        ("bytes of a pod, as JSON", f"{measured.pod_bytes:,}"),
        (
            f"pods that agents write, {WRITES_AN_HOUR:.0f} times an hour each",
            _rate(steady.pod_writes, seconds),
        ),
        *_rates("events", steady.events, seconds),
        *_rates("written", {" ".join(key): n for key, n in steady.writes.items()}, seconds),
        *_rates("requests", {" ".join(key): n for key, n in steady.requests.items()}, seconds),
        ("RSS, from and to", f"{_mib(min(rss))}, {_mib(max(rss))}"),
        ("CPU of one core in the busiest minute", _busiest(steady, looks)),
    ]
    return table((f"{seconds:.0f} s of the steady state", ""), rows)


def of_ends(ends: Ends) -> str:
    rows = [
        ("the API server took their pods' ends within", f"{ends.pods_seconds:.1f} s"),
        ("then theirs within", f"{ends.jobs_seconds:.1f} s"),
        ("profiles that told of it", f"{len(ends.told)}"),
        ("with figures of Prometheus", f"{len(ends.complete)}"),
        ("CPU until all had them", f"{ends.cpu_seconds:.1f} s"),
    ]
    return table((f"{ends.jobs} jobs end at once", ""), rows)


def share(values: Sequence[float], of_all: float, count: int) -> float | None:
    """Within which so large a share of `count` came; None where fewer did."""
    at = math.ceil(of_all * count) - 1
    return sorted(values)[at] if 0 <= at < len(values) else None


def _seconds(values: Sequence[float], of_all: float, count: int) -> str:
    found = share(values, of_all, count)
    return "not seen" if found is None else f"{found:.1f} s"


def _peak_bytes(measured: Measured) -> int:
    usages = [measured.start.usage, *measured.steady.usages]
    if measured.ends.usage is not None:
        usages.append(measured.ends.usage)
    return max(usage.peak_rss_bytes for usage in usages)


def _rates(what: str, counts: Mapping[str, int], seconds: float) -> list[tuple[str, str]]:
    named = sorted(counts.items(), key=lambda item: -item[1])
    return [(f"{what}: {name}", _rate(count, seconds)) for name, count in named if count]


def _rate(count: int, seconds: float) -> str:
    return f"{count:,}, {count / seconds:.2f} a second"


def _busiest(steady: Steady, looks: int) -> str:
    seconds = min(looks, len(steady.usages) - 1) * LOOK_SECONDS
    return _percent(steady.busiest_cpu_seconds(looks), min(seconds, steady.seconds))


def _percent(cpu_seconds: float, seconds: float) -> str:
    return f"{100 * cpu_seconds / seconds:.1f} %"


def _mib(count: float) -> str:
    return f"{count / MIB:.0f} MiB"
