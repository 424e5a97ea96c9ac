"""`cepheid acts`: what was done to jobs, the newest first."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.filters import moment
from cepheid.cli.formats import Column, Output, show
from cepheid.cli.places import Place, at_a_place, say
from cepheid.errors import UsageError

if TYPE_CHECKING:
    from cepheid.history.acts import Act

DEFAULT_LIMIT = 50
EVENTS = "kubectl get events -A --field-selector=reportingComponent=ai.centaurus.io/operator"


@at_a_place
def acts(
    since: Annotated[
        str | None, typer.Option("--since", help="Since then: 12h, 7d, yesterday, 2026-03-01.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-l", min=1, help="At most so many.")
    ] = DEFAULT_LIMIT,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = Output.TABLE,
    *,
    place: Place,
) -> None:
    """List what was done to jobs, and why: idle ones suspended.

    The operator writes down everything that its idle policy says and does, if it keeps a history.
    """
    from cepheid.history.acts import Act

    if place.is_cluster:
        raise UsageError(
            "what was done to jobs stands in the operator's history, not on a cluster's objects",
            hint=f"name it: --history postgresql://...; or, for the last hour, {EVENTS}",
        )
    now = datetime.now(UTC)
    with place.history() as history:
        found = history.acts(
            since=moment(since, "--since", now), namespace=place.namespace, limit=limit
        )
    show(found, Act, _columns(now), output)
    if not found:
        say(
            "nothing was done to any job\nhint: a namespace asks for it with the label"
            " ai.centaurus.io/idle-policy=dry-run"
        )
    elif len(found) == limit:
        say(f"the newest {limit}: --limit shows more, --since chooses")


def _columns(now: datetime) -> "list[Column[Act]]":
    from cepheid.reports import words

    return [
        Column("AGE", lambda act: words.age(act.at, now), right=True, matters=7),
        Column("NAMESPACE", lambda act: act.namespace, matters=6),
        Column("KIND", lambda act: act.kind, matters=3),
        Column("NAME", lambda act: act.name, matters=9, least=12, middle=True),
        Column("WHAT", lambda act: act.what, matters=9),
        Column("WHY", lambda act: act.words, matters=8, least=24),
    ]
