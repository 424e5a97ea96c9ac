"""`cepheid hogs`: who holds what others wait for."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.filters import moment
from cepheid.cli.formats import Column, Output, screen_columns, show, write_lines
from cepheid.cli.job import wrapped
from cepheid.cli.places import Place, at_a_place, say, why_none
from cepheid.cli.progress import progress
from cepheid.errors import UsageError
from cepheid.units import length_seconds

if TYPE_CHECKING:
    from cepheid.jobprofile import JobProfile
    from cepheid.reports.contention.hogs import HogRow, Hogs
    from cepheid.reports.contention.moving import NodeType

SINCE, LEAST = "1d", "10min"
MOST_TOLD = 20
"""Of so many it is said in words why; the table and the other forms have them all."""


class By(StrEnum):
    USER = "user"
    NAMESPACE = "namespace"
    JOB = "job"


class FailOn(StrEnum):
    HOGS = "hogs"


@at_a_place
def hogs(
    since: Annotated[
        str, typer.Option("--since", help="Look at the time since then: 12h, 7d, 2026-03-01.")
    ] = SINCE,
    by: Annotated[By, typer.Option("--by", help="Who is held to account.")] = By.USER,
    least: Annotated[
        str, typer.Option("--least", help="What took less time than this does not count.")
    ] = LEAST,
    exempt: Annotated[
        list[str] | None,
        typer.Option("--exempt", metavar="LABEL=VALUE", help="Jobs with it are no hogs."),
    ] = None,
    all_rows: Annotated[
        bool, typer.Option("--all", help="Those too who are exempt, or whom nobody waited for.")
    ] = False,
    fail_on: Annotated[
        FailOn | None, typer.Option("--fail-on", help="Exit with 1 if there is a hog.")
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = Output.TABLE,
    *,
    place: Place,
) -> None:
    """Name who holds what others wait for, and where it could go.

    Use counts only while others waited for the same and could have used it.
    """
    from cepheid.reports.contention.hogs import HogRow, Question, hogs

    now = datetime.now(UTC)
    begin = moment(since, "--since", now) or now
    if begin >= now:
        raise UsageError(f"--since {since} is not in the past", hint="such as 12h, 7d, 2026-03-01")
    question = Question(
        since=begin,
        now=now,
        by=by.value,
        least_seconds=_seconds(least),
        exempt=[_label(text) for text in exempt or ()],
        nodes=nodes_at(place),
    )
    runs = runs_since(place, begin)
    found = hogs(runs, question)
    shown = [*found.rows, *found.exempt, *found.left_out] if all_rows else [*found.rows]
    show(shown, HogRow, _columns(by), output)
    if output is Output.TABLE and shown:
        write_lines(_told(shown, screen_columns()))
    say(_summary(found) if runs else why_none(place, "look further back, as with --since 7d"))
    if fail_on is FailOn.HOGS and found.rows:
        raise typer.Exit(1)


def runs_since(place: Place, since: datetime) -> "list[JobProfile]":
    """Those that ended since, and those that have not: the last look at these may be older.

    Without their workers: who held what is told by the jobs.
    """
    from cepheid.history import Query
    from cepheid.jobprofile import Outcome

    queries = (
        Query(namespace=place.namespace, since=since),
        Query(namespace=place.namespace, outcome=Outcome.RUNNING),
    )
    with place.open() as kept, progress("reading jobs") as step:
        each = chain.from_iterable(kept.each(query, with_workers=False) for query in queries)
        found = {one.profile.job.uid: one.profile for one in step(each)}
    if place.is_cluster and not place.all_namespaces:
        say("note: who waits in other namespaces is not seen; --all-namespaces looks everywhere")
    return [*found.values()]


def nodes_at(place: Place) -> "tuple[NodeType, ...]":
    if not place.is_cluster:
        return ()
    from cepheid.cli.nodes import node_types

    found = node_types(place.context)
    if found is None:
        say("note: you may not list Nodes: what they have is told by the GPUs that jobs held")
    return found or ()


def _seconds(text: str) -> float:
    found = length_seconds(text)
    if found is None:
        raise UsageError(f"--least is {text!r}", hint="such as 90s, 10min or 2h")
    return found


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"--exempt is {text!r}", hint="a label and its value: team=infra")
    return key, value


def _summary(found: "Hogs") -> str:
    from cepheid.reports.words import counted

    parts = [f"{counted(found.count, 'hog')}."]
    others = len({row.who for row in found.left_out})
    if others:
        were = "was" if others == 1 else "were"
        them = "they" if others > 1 else "it"
        parts.append(
            f"{counted(others, 'heavy user')} {were} left out: nobody waited for what {them} used."
        )
    if found.exempt:
        parts.append(f"{counted(len({row.who for row in found.exempt}), 'other')} exempt.")
    return " ".join(parts)


def _told(rows: "Sequence[HogRow]", columns: int) -> Iterator[str]:
    from cepheid.reports.words import sentence

    yield ""
    for row in rows[:MOST_TOLD]:
        yield from wrapped(f"{row.who}: {row.why}. {sentence(row.advice)}", columns)
    if len(rows) > MOST_TOLD:
        yield f"... and {len(rows) - MOST_TOLD} more: --output json has all of them"


def _columns(by: By) -> "list[Column[HogRow]]":
    from cepheid.reports import words
    from cepheid.reports.contention.holding import Resource
    from cepheid.reports.contention.wording import holds

    def waited(row: "HogRow") -> str:
        if not row.waiting_jobs:
            return "nobody"
        jobs = words.counted(row.waiting_jobs, "job")
        users = words.counted(row.waiting_users, "user")
        return f"{jobs} of {users}, {words.brief(row.waited_seconds)}"

    def percent(row: "HogRow") -> str:
        return "" if row.gpu_util_percent is None else words.in_percent(row.gpu_util_percent)

    def verdict(row: "HogRow") -> str:
        return row.kind if row.verdict.value == "hog" else f"{row.verdict.value} ({row.kind})"

    return [
        Column(by.value.upper(), lambda row: row.who, matters=9, least=10, middle=True),
        Column(
            "HOLDS",
            lambda row: holds(Resource(row.resource), row.held, row.system, row.node),
            matters=9,
            least=14,
        ),
        Column("USED", percent, right=True, matters=6),
        Column("FOR", lambda row: words.brief(row.held_seconds), right=True, matters=7),
        Column("WAITED", waited, matters=8, least=16),
        Column("WHY", verdict, matters=9, least=12),
    ]
