"""What was measured, as tables of Markdown beside the targets."""

from collections.abc import Iterator

from tests.bench.laptop.measure import PROCESSES, Measured
from tests.bench.laptop.tools import INTERVAL_SECONDS

MIB = 2.0**20


def against_targets(found: Measured) -> str:
    ours = found.costs["cepheid"]
    lines = ["| | target | measured |", "|---|---|---:|"]
    tree = f"a tree of {PROCESSES} processes at {INTERVAL_SECONDS} s"
    lines.append(f"| CPU beside {tree} | <= 1 % of a core | {ours.core_percent:.2f} % |")
    lines.append(f"| memory while sampling | <= 40 MiB | {ours.peak_bytes / MIB:.0f} MiB |")
    for what, target, name in (
        ("CPU seconds, worst of the workloads", 1, "cpu_seconds"),
        ("peak memory, worst of those with one process", 2, "peak_bytes"),
    ):
        off = max(_off(found, name))
        lines.append(f"| {what} | within {target} % | {off:.2f} % off |")
    if found.sizes is not None:
        lines.append(f"| a summary record | 1-5 KB | {found.sizes.summary_bytes / 1000:.1f} KB |")
        words = f"{found.sizes.series_bytes_a_sample:.0f} bytes for {found.sizes.metrics} metrics"
        lines.append(f"| a time-series sample on disk | <= 40 bytes a metric set | {words} |")
    lines.append(
        f"| `cepheid jobs` on {found.jobs:,} jobs | <= 0.5 s CPU | {found.list_cpu_seconds:.2f} s |"
    )
    lines.append(f"| `cepheid --help` | <= 0.2 s CPU | {found.help_cpu_seconds:.2f} s |")
    return "\n".join(lines)


def _off(found: Measured, name: str) -> Iterator[float]:
    """In percent of the truth."""
    for one in found.accuracy:
        if (name == "peak_bytes") != (one.workload == "memory"):
            continue
        ratio = getattr(one.said["cepheid"], name)
        yield float("nan") if ratio is None else 100 * abs(ratio - 1)


def beside_others(found: Measured) -> str:
    tools = list(found.costs)
    lines = [f"| | {' | '.join(tools)} |", f"|---|{'---:|' * len(tools)}"]
    lines.append(_row("CPU while it watches, % of a core", [
        f"{found.costs[tool].core_percent:.2f}" for tool in tools
    ]))  # fmt: skip
    lines.append(_row("its memory, MiB", [
        f"{found.costs[tool].peak_bytes / MIB:.1f}" for tool in tools
    ]))  # fmt: skip
    for one in found.accuracy:
        cpu = [_percent(one.said[tool].cpu_seconds) for tool in tools]
        peak = [_percent(one.said[tool].peak_bytes) for tool in tools]
        # One sleeps most of the time: its CPU seconds are mostly its interpreter's last. And of
        # several processes nobody accounts the peak of all together.
        if one.workload == "memory":
            lines.append(_row(f"{one.workload}: peak, % of the kernel's", peak))
        else:
            lines.append(_row(f"{one.workload}: CPU seconds, % of the kernel's", cpu))
    return "\n".join(lines)


def _row(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _percent(ratio: float | None) -> str:
    return "not told" if ratio is None else f"{100 * ratio:.1f}"
