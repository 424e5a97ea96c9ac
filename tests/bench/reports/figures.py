"""What was measured, as a table of Markdown beside the targets."""

from tests.bench.reports.measure import FORECAST, TOP, Measured

MIB = 2.0**20


def against_targets(found: Measured) -> str:
    lines = ["| | target | CPU | memory |", "|---|---|---:|---:|"]
    for name, cost in found.costs.items():
        target = {TOP: "<= 3 s", FORECAST: ""}.get(name, "<= 2 s, <= 300 MiB")
        lines.append(
            f"| `cepheid {name}` | {target} | {cost.cpu_seconds:.2f} s |"
            f" {cost.peak_bytes / MIB:.0f} MiB |"
        )
    if found.empty is not None:
        lines.append(
            f"| for comparison, `cepheid --version` | | {found.empty.cpu_seconds:.2f} s |"
            f" {found.empty.peak_bytes / MIB:.0f} MiB |"
        )
    return "\n".join(lines)
