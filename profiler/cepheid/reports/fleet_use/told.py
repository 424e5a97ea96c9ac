"""What is worth saying of the fleet's hours, to somebody who reads one page of it?"""

from collections.abc import Iterator, Sequence

from cepheid.reports.fleet_use.usage import UsageReport, UsageRow
from cepheid.reports.prices import JOULES_PER_KWH
from cepheid.reports.words import counted, figure, in_energy, in_percent

NOTABLE = 0.1
"""Of all that was wasted: whose share is less is not named."""
MOST_NAMED = 3


def lead(total: UsageRow) -> str:
    """The answer, in a sentence."""
    held = total.gpu_hours_held
    if not held:
        jobs = counted(total.jobs, "job")
        return f"No GPU was held by {jobs}." if total.jobs else "No job ran in this time."
    said = f"{figure(held)} GPU hours were held"
    wasted = _share(total)
    if wasted is None:
        return f"{said}; nobody measured how many of them were used."
    return f"{said}, and {in_percent(100 * wasted)} of what was measured of them was not used."


def says(report: UsageReport, what: str) -> Iterator[str]:
    """Who wastes the most, and what failed; `what` they are: users, namespaces."""
    total = report.total
    wasted = total.gpu_hours_wasted or 0.0
    ranked = sorted(report.rows, key=lambda row: -(row.gpu_hours_wasted or 0.0))
    for row in ranked[:MOST_NAMED]:
        own = row.gpu_hours_wasted or 0.0
        if wasted and own >= NOTABLE * wasted and len(report.rows) > 1:
            of_own = in_percent(100 * (_share(row) or 0.0))
            yield (
                f"{row.group} left {figure(own)} GPU hours unused, {of_own} of its own and"
                f" {in_percent(100 * own / wasted)} of all {what} together."
            )
    if total.gpu_hours_failed and total.gpu_hours_held:
        part = _percent(total.gpu_hours_failed, total.gpu_hours_held)
        yield f"{figure(total.gpu_hours_failed)} GPU hours ({part}) went into jobs that failed."
    if total.gpu_hours_unknown and total.gpu_hours_held:
        part = _percent(total.gpu_hours_unknown, total.gpu_hours_held)
        yield f"Of {part} of the hours nobody measured the load: neither used nor unused."


def tiles(total: UsageRow, currency: str) -> list[tuple[str, str]]:
    found = [("jobs", f"{total.jobs:,}")]
    for name, hours in (
        ("GPU hours held", total.gpu_hours_held),
        ("used", total.gpu_hours_used),
        ("unused", total.gpu_hours_wasted),
        ("of failed jobs", total.gpu_hours_failed),
        ("CPU hours", total.cpu_hours),
    ):
        if hours is not None:
            found.append((name, figure(hours)))
    if total.energy_kwh is not None:
        found.append(("energy", in_energy(JOULES_PER_KWH * total.energy_kwh)))
    if total.cost is not None:
        found.append(("cost", f"{total.cost:,.2f} {currency}".strip()))
    if total.cost_wasted is not None:
        found.append(("of it unused", f"{total.cost_wasted:,.2f} {currency}".strip()))
    return found


def table(rows: Sequence[UsageRow]) -> list[tuple[str, ...]]:
    """Name, jobs, held, used, unused, share, failed, cost."""
    return [
        (
            row.group,
            f"{row.jobs:,}",
            _figure(row.gpu_hours_held),
            _figure(row.gpu_hours_used),
            _figure(row.gpu_hours_wasted),
            "" if (share := _share(row)) is None else in_percent(100 * share),
            _figure(row.gpu_hours_failed),
            "" if row.cost is None else f"{row.cost:,.2f}",
        )
        for row in rows
    ]


def _share(row: UsageRow) -> float | None:
    """Unused of what was measured."""
    used, wasted = row.gpu_hours_used or 0.0, row.gpu_hours_wasted or 0.0
    return wasted / (used + wasted) if used + wasted > 0 else None


def _figure(value: float | None) -> str:
    return "" if value is None else figure(value)


def _percent(hours: float, held: float) -> str:
    """Of what is a part of what was held, whatever rounding made of it."""
    return in_percent(100 * min(1.0, hours / held))
