"""`cepheid plot`: a job's resources as pages that open in any browser."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.places import Jobs, Place, at_a_place, job_of, say
from cepheid.errors import UsageError
from cepheid.plots.kinds import Kind

if TYPE_CHECKING:
    from cepheid.jobprofile import JobProfile
    from cepheid.plots.subject import Subject

NEWEST = 200
"""Jobs in a summary of no jobs in particular."""


@at_a_place
def plot(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="Uids, their beginnings, or names (the latest run). Default: the latest job.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--output-dir", "-o", metavar="DIR", help="Where the pages go.")
    ] = Path(),
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="P", help="Put before the name of every page.")
    ] = "",
    job_ids: Annotated[
        str, typer.Option("--job-ids", metavar="A,B", help="More IDs, separated by commas.")
    ] = "",
    kind: Annotated[
        Kind,
        typer.Option(
            "--kind", help="Time lines, several jobs in one, a dashboard, or what ran when."
        ),
    ] = Kind.ALL,
    *,
    place: Place,
) -> None:
    """Draw jobs as HTML pages; their paths are printed.

    A page holds all that it shows: it opens without a network, on a phone too. Of one job there is
    a time line, and a waterfall where it had tasks or workers; of several also an overlay and a
    summary. `--kind summary` without an ID is of the newest 200 jobs.
    """
    if any(part in prefix for part in ("/", "\\", "\0")):
        raise UsageError(f"prefix is {prefix!r}", hint="it begins a file's name; -o names a folder")
    wanted = [one for one in (*(ids or ()), *job_ids.split(",")) if one.strip()]
    with place.open() as jobs:
        profiles = _profiles(jobs, wanted, place.namespace, kind)
        subjects = [*_subjects(jobs, profiles, kind)]
    from cepheid.plots.album import sheets
    from cepheid.plots.file import write

    for sheet in sheets(subjects, kind):
        typer.echo(str(write(sheet, folder, prefix)))


def _profiles(
    jobs: Jobs, wanted: Sequence[str], namespace: str | None, kind: Kind
) -> "list[JobProfile]":
    """Each once, in the order in which they were named."""
    from cepheid.history import Query

    if not wanted and kind is Kind.SUMMARY:
        found = jobs.find(Query(namespace=namespace), limit=NEWEST)
        if found:
            return found
    named = [job_of(jobs, one, namespace) for one in wanted or (None,)]
    return list({one.job.uid: one for one in named}.values())


def _subjects(jobs: Jobs, profiles: "Sequence[JobProfile]", kind: Kind) -> "Iterator[Subject]":
    from cepheid.plots.subject import Subject, read

    for place, profile in enumerate(profiles):
        if len(profiles) > SAID and not place % SAID and kind is not Kind.SUMMARY:
            say(f"reading job {place + 1} of {len(profiles)}")
        yield Subject(profile) if kind is Kind.SUMMARY else read(jobs, profile)


SAID = 20
"""Jobs after which something is said, so that nobody thinks that it hangs."""
