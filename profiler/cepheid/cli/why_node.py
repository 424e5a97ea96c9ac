"""`cepheid why-node`: which nodes were considered for a pod, with which scores, and why."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.formats import (
    Column,
    Output,
    document,
    screen_columns,
    show,
    table,
    write_lines,
)
from cepheid.cli.places import Place, at_a_cluster, say
from cepheid.errors import CepheidError, UsageError

if TYPE_CHECKING:
    from cepheid.reports.why_node import NodeRow
    from cepheid.reports.why_node_events import PodSeen, Told

LABEL = 7
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


@at_a_cluster
def why_node(
    pod: Annotated[str, typer.Argument(metavar="POD", help="Name of the pod.")],
    output: Annotated[
        Output, typer.Option("--output", "-o", help="Words for people, or for programs.")
    ] = Output.TABLE,
    *,
    place: Place,
) -> None:
    """Say which nodes were considered for a pod, their scores and why.

    By the Event that Cepheid's extender writes about a pod with GPUs when it got its node, or has
    waited for one for a while. Kubernetes keeps it for an hour.
    """
    from cepheid.cli.why_node_requests import read
    from cepheid.reports.why_node import hint, provenance
    from cepheid.reports.why_node_events import PodSeen, heard, nothing_told

    name = pod.removeprefix("pod/").removeprefix("pods/")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{pod!r} is no name of a pod", hint="kubectl get pods lists them")
    raw, events = read(place.context, place.namespace, name)
    now = datetime.now(UTC)
    seen = PodSeen.of(raw)
    found = heard(seen, events)
    if found.told is None:
        if found.wrong:
            raise found.wrong[-1]
        words, what_to_do = nothing_told(seen, found.foreign, now)
        raise CepheidError(words, hint=what_to_do)
    _show(seen, found.told, output)
    say(f"note: {provenance(seen, found.told, now)}")
    if left := found.foreign + len(found.wrong):
        say(f"note: {left} more such as it were left out: not the extender's, or not possible")
    say(f"hint: {hint(seen, found.told.considered)}")


def _show(pod: "PodSeen", told: "Told", output: Output) -> None:
    from cepheid.reports.why_node import NodeRow, node_rows
    from cepheid.whynode import to_document

    rows = node_rows(pod, told.considered)
    if output is Output.TABLE:
        write_lines(lines(pod, told, rows, screen_columns()))
    elif output is Output.CSV:
        show(rows, NodeRow, (), output)
    else:
        whole = {
            "namespace": pod.namespace,
            "pod": pod.name,
            "phase": pod.phase,
            "node": pod.node,
            "scheduler": pod.scheduler,
            "told": told.created,
            "considered": to_document(told.considered),
        }
        document(whole, output)


def lines(pod: "PodSeen", told: "Told", rows: "Sequence[NodeRow]", columns: int) -> list[str]:
    from cepheid.cli.job import wrapped
    from cepheid.reports.plain import padded
    from cepheid.reports.why_node import LEGEND, facts, headline, left_out, not_shown

    considered = told.considered
    made = [*wrapped(headline(pod, considered), columns), ""]
    for label, words in facts(considered):
        begin = f"  {padded(label, LABEL)}  "
        for line in wrapped(words, columns - len(begin)):
            made.append(f"{begin}{line}")
            begin = " " * len(begin)
    if scored := [row for row in rows if row.score is not None]:
        made += ["", *table(scored, _columns(), columns)]
        if more := not_shown(considered):
            made += wrapped(more, columns)
        made += ["", *wrapped(LEGEND, columns)]
    if out := [*left_out(considered)]:
        made += ["", "left out:"]
        for words in out:
            first, *others = wrapped(words, columns - 4)
            made += [f"  {first}", *(f"    {line}" for line in others)]
    return made


def _columns() -> "list[Column[NodeRow]]":
    from cepheid.reports import words

    def percent(value: float | None) -> str:
        return "" if value is None else words.in_percent(value)

    return [
        Column("NODE", lambda row: row.node, matters=9, least=12, middle=True),
        Column("SCORE", lambda row: str(row.score), right=True, matters=9),
        Column("TYPE", lambda row: percent(row.type_percent), right=True, matters=8),
        Column("FIT", lambda row: percent(row.fit_percent), right=True),
        Column("FREE", lambda row: percent(row.free_percent), right=True),
        Column("APART", lambda row: percent(row.apart_percent), right=True),
        Column("PACK", lambda row: percent(row.pack_percent), right=True),
        Column("SOUND", lambda row: percent(row.sound_percent), right=True),
        Column("", lambda row: "its node" if row.is_its_node else "", matters=8),
    ]
