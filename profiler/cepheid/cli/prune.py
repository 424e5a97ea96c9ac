"""`cepheid prune`: what is old, or too much, leaves a history."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from cepheid.cli.places import Place, at_a_place, say
from cepheid.errors import UsageError
from cepheid.units import length_seconds


@at_a_place
def prune(
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Jobs that ended so long ago: 90d.")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option("--keep", min=0, help="The newest so many stay, of each namespace."),
    ] = None,
    max_size: Annotated[
        str | None, typer.Option("--max-size", help="The newest stay that fit: 500MiB.")
    ] = None,
    series_older_than: Annotated[
        str | None,
        typer.Option("--series-older-than", help="Only the time series of such jobs: 30d."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many would go.")] = False,
    *,
    place: Place,
) -> None:
    """Delete jobs from a history, the oldest first. Nothing goes that was not asked for.

    `cepheid run` does so by itself, by age, count and size.
    """
    now = datetime.now(UTC)
    limits = {
        "ended_before": _before(older_than, "--older-than", now),
        "series_ended_before": _before(series_older_than, "--series-older-than", now),
        "most_each_namespace": keep,
        "most_bytes": None if max_size is None else _size_bytes(max_size),
    }
    if all(limit is None for limit in limits.values()):
        raise UsageError(
            "nothing says which jobs should go",
            hint="give --older-than 90d, --keep 1000 or --max-size 500MiB",
        )
    with place.history() as history:
        gone = history.prune(**limits, dry_run=dry_run)  # type: ignore[arg-type]
    verb = "would be" if dry_run else "were"
    say(f"{gone:,} jobs {verb} deleted from {place}")


def _before(text: str | None, option: str, now: datetime) -> datetime | None:
    if text is None:
        return None
    seconds = length_seconds(text)
    if seconds is None:
        raise UsageError(f"{option} is {text!r}", hint="such as 12h, 90d or 52w")
    return now - timedelta(seconds=seconds)


def _size_bytes(text: str) -> int:
    from cepheid.units import quantity

    plain = text.strip().removesuffix("B").removesuffix("b")
    amount = quantity(plain)
    if amount is None or amount < 1:
        raise UsageError(f"--max-size is {text!r}", hint="such as 500MiB or 2GiB")
    return int(amount)
