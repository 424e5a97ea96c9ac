"""`cepheid stats`: what many jobs did, used and cost."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheid.cli.filters import Chosen, filters
from cepheid.cli.formats import Column, Output, show
from cepheid.cli.places import Place, at_a_place, say, why_none
from cepheid.cli.progress import progress
from cepheid.errors import UsageError

if TYPE_CHECKING:
    from cepheid.reports.prices import Prices
    from cepheid.reports.stats import StatsRow

MOST_BYTES = 2**20
"""Of a price list."""


@at_a_place
@filters
def stats(
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="name, user, status, reason, kind, namespace, type, gpu, host, day, month,"
            " or label:KEY for a label or tag.",
        ),
    ] = "name",
    prices: Annotated[
        Path | None,
        typer.Option("--prices", help="File with money an hour for each GPU model, and cpuHour."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-l", min=1, help="At most so many groups.")
    ] = 20,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = Output.TABLE,
    *,
    chosen: Chosen,
    place: Place,
) -> None:
    """Add up what jobs took: time, CPU, GPUs, energy, cost."""
    from cepheid.reports.stats import GROUPS, LABEL, StatsRow, key_of, stats

    if by not in GROUPS and not by.startswith(LABEL):
        raise UsageError(f"--by is {by!r}", hint=f"one of {', '.join(GROUPS)}, or {LABEL}KEY")
    listed = None if prices is None else read_prices(prices)
    with place.open() as kept, progress("reading jobs") as step:
        fitting = (
            one.profile
            for one in step(kept.each(chosen.query(place.namespace)))
            if chosen.fits(one.profile)
        )
        found = stats(fitting, key_of(by), listed)
    rows = list(found.rows[:limit])
    if len(found.rows) > 1 and output is Output.TABLE:
        rows.append(found.total)
    currency = "" if listed is None else listed.currency
    show(rows, StatsRow, _columns(by, currency), output)
    if not found.total.jobs:
        say(why_none(place))
    if len(found.rows) > limit:
        say(f"the {limit} groups with the most jobs of {len(found.rows)}: --limit shows more")
    if found.total.jobs_without_cost and listed is not None:
        models = ", ".join(found.unpriced[:3])
        why = f": no price for {models}" if models else ": not everything was measured"
        say(f"note: {found.total.jobs_without_cost} jobs are without a cost{why}")


def read_prices(path: Path) -> "Prices":
    from cepheid.reports.prices import EXAMPLE, price_list

    return price_list(read_document(path, "the price list", f"as {EXAMPLE}"))


def read_document(path: Path, what: str, hint: str) -> Any:
    """JSON or YAML, of which JSON is a part."""
    import yaml

    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise UsageError(f"{what} {path} cannot be read: {problem.strerror}", hint=hint) from None
    if len(text) > MOST_BYTES:
        raise UsageError(f"{what} {path} is larger than 1 MiB", hint=hint)
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as problem:
        where = str(problem).splitlines()[0]
        raise UsageError(f"{what} {path} is no JSON or YAML: {where}", hint=hint) from None


def _columns(by: str, currency: str) -> "list[Column[StatsRow]]":
    from cepheid.reports import words

    def figure(value: float | None) -> str:
        return "" if value is None else words.figure(value)

    def money(value: float | None) -> str:
        return "" if value is None else f"{value:,.2f}"

    def energy(kwh: float | None) -> str:
        return "" if kwh is None else words.in_energy(3.6e6 * kwh)

    def percent(value: float | None) -> str:
        return "" if value is None else words.in_percent(value)

    return [
        Column(by.upper(), lambda row: row.group, matters=9, least=14, middle=True),
        Column("JOBS", lambda row: f"{row.jobs:,}", right=True, matters=9),
        Column("RUNNING", lambda row: str(row.running or ""), right=True, matters=1),
        Column("SUCCESS", lambda row: percent(row.success_percent), right=True, matters=8),
        Column("MEAN", lambda row: words.brief(row.duration_mean_seconds), right=True, matters=7),
        Column("P95", lambda row: words.brief(row.duration_p95_seconds), right=True, matters=6),
        Column("CPU h", lambda row: figure(row.cpu_hours), right=True, matters=5),
        Column("GPU h", lambda row: figure(row.gpu_hours), right=True, matters=6),
        Column("GPU", lambda row: percent(row.gpu_util_percent_mean), right=True, matters=3),
        Column("ENERGY", lambda row: energy(row.energy_kwh), right=True, matters=2),
        Column(f"COST {currency}".strip(), lambda row: money(row.cost), right=True, matters=8),
    ]
