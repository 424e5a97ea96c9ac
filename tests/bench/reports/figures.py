"""What was measured, as a table of Markdown beside the targets."""

from tests.bench.reports.measure import TOP, Cost, Measured

MIB = 2.0**20


def against_targets(found: Measured) -> str:
    lines = ["| | target | CPU | until it ends | memory |", "|---|---|---:|---:|---:|"]
    for name, cost in found.costs.items():
        target = "<= 3 s" if name == TOP else "<= 2 s of CPU, <= 300 MiB"
        lines.append(_line(f"`cepheid {name}`", target, cost))
    if found.empty is not None:
        lines.append(_line("for comparison, `cepheid --version`", "", found.empty))
    return "\n".join(lines)


def _line(what: str, target: str, cost: Cost) -> str:
    return (
        f"| {what} | {target} | {cost.cpu_seconds:.2f} s | {cost.seconds:.2f} s |"
        f" {cost.peak_bytes / MIB:.0f} MiB |"
    )
