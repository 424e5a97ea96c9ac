"""`cepheid jobs`: what ran, the newest first."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.filters import Chosen, filters
from cepheid.cli.formats import Column, Output, show
from cepheid.cli.places import FIRST, Place, at_a_place, say

if TYPE_CHECKING:
    from cepheid.jobprofile import JobProfile
    from cepheid.reports.listing import JobRow

ID_CHARACTERS = 8
DEFAULT_LIMIT = 50


@at_a_place
@filters
def jobs(
    limit: Annotated[
        int, typer.Option("--limit", "-l", min=1, help="At most so many.")
    ] = DEFAULT_LIMIT,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = Output.TABLE,
    *,
    chosen: Chosen,
    place: Place,
) -> None:
    """List the jobs that were kept, the newest first.

    An ID is the beginning of a job's uid; `cepheid job ID` tells all of it.
    """
    from cepheid.reports.listing import JobRow, row_of

    found = _newest(place, chosen, limit)
    show([row_of(one) for one in found], JobRow, columns(found), output)
    if not found:
        say(_why_none(place, chosen))
    elif len(found) == limit:
        say(f"the newest {limit}: --limit shows more, --since and --name choose")


def _newest(place: Place, chosen: Chosen, limit: int) -> "list[JobProfile]":
    query = chosen.query(place.namespace)
    place.catch_up()
    if place.is_missing:
        if place.is_named:
            raise place.no_file()
        return []
    with place.open() as kept:
        if chosen.pattern is None:
            return kept.find(query, limit=limit)
        fitting = (one.profile for one in kept.each(query) if chosen.fits(one.profile))
        return list(islice(fitting, limit))


def _why_none(place: Place, chosen: Chosen) -> str:
    if chosen.is_any:
        return "no job fits\nhint: ask for less, as with a longer --since"
    if place.is_cluster:
        return (
            "no JobProfiles here\nhint: --all-namespaces looks everywhere; --local on this machine"
        )
    return f"no job is kept yet in {place.path_or_url}\nhint: {FIRST}"


def columns(jobs: "Sequence[JobProfile]") -> "list[Column[JobRow]]":
    """Whose and where only if they differ: most histories are of one user's, in one place."""
    from cepheid.reports import words

    now = datetime.now(UTC)
    length = id_characters([one.job.uid for one in jobs])
    several = {
        "namespace": len({one.job.namespace for one in jobs}) > 1,
        "user": len({one.user or one.service_account for one in jobs}) > 1,
        "kind": len({one.job.kind for one in jobs}) > 1,
    }

    def known(text: str) -> str:
        return "" if text == words.NO_DATA else text

    return [
        Column("ID", lambda row: row.id[:length], matters=9),
        Column("NAMESPACE", lambda row: row.namespace, matters=6 if several["namespace"] else 1),
        Column("NAME", lambda row: row.name, matters=9, least=12, middle=True),
        Column("KIND", lambda row: row.kind, matters=3 if several["kind"] else 1),
        Column("USER", lambda row: row.user or "", matters=4 if several["user"] else 1, least=8),
        Column("STATUS", lambda row: row.status, matters=9),
        Column("REASON", lambda row: row.reason or "", matters=2),
        Column("AGE", lambda row: words.age(row.ended or row.started, now), right=True, matters=7),
        Column("TOOK", lambda row: words.brief(row.duration_seconds), right=True, matters=8),
        Column("CPU", lambda row: known(words.in_cores(row.cpu_cores_mean)), right=True),
        Column(
            "MEMORY",
            lambda row: known(words.in_bytes(row.memory_peak_bytes)),
            right=True,
            matters=6,
        ),
        Column("GPUS", lambda row: row.gpu_models or "", matters=4),
        Column("GPU", lambda row: known(words.in_percent(row.gpu_util_percent_mean)), right=True),
        Column("PERIOD", lambda row: words.brief(row.period_seconds), right=True, matters=2),
        Column("VERDICT", lambda row: row.verdict or "", matters=7, least=16),
    ]


def id_characters(uids: Sequence[str]) -> int:
    """As few as tell the ones listed from each other, and not fewer than eight."""
    length = ID_CHARACTERS
    while len({uid[:length] for uid in uids}) < len(uids) and length < max(map(len, uids)):
        length += 1
    return length
