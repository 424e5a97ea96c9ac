"""`cepheid uninstall`: take Cepheid, and what it wrote, off a cluster again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.formats import Column, Output, show
from cepheid.errors import CepheidError, UsageError

if TYPE_CHECKING:
    from cepheid.annotations.api import ApiServer
    from cepheid.doctor.belongings import Belonging, Plan


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that goes, in the order in which it does."""

    action: str
    kind: str
    namespace: str
    name: str
    note: str


def uninstall(
    annotations: Annotated[
        bool,
        typer.Option("--annotations", help="Take only the ai.centaurus.io annotations, at once."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would go; so it is without --yes.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it.")] = False,
    context: Annotated[
        str | None, typer.Option("--context", help="The cluster of this kubeconfig context.")
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = Output.TABLE,
) -> None:
    """Take Cepheid, and what it wrote, off a cluster.

    Shows what would go: agents and operator, annotations, rights, policies, definitions with all
    JobProfiles, namespaces. With --yes it goes. --annotations takes those alone, and at once.
    """
    if dry_run and yes:
        raise UsageError("--dry-run and --yes exclude each other", hint="give one of them")
    with _server(context) as server:
        if annotations:
            _annotations(server, output, dry_run=dry_run)
        else:
            _everything(server, output, yes=yes)


def _server(context: str | None) -> "ApiServer":
    from cepheid.annotations.api import ApiServer

    if context is None:
        return ApiServer()
    # It reads JobProfiles too, for which the agent's image has no library.
    from cepheid.history.in_cluster import connect_to

    return ApiServer(lambda: connect_to(context))


def _annotations(server: "ApiServer", output: Output, *, dry_run: bool) -> None:
    """As the Job in manifests/uninstall.yaml runs it."""
    from cepheid.annotations.removal import annotated, remove
    from cepheid.jobs.kinds import KINDS

    cleared = []
    for found in annotated(server, KINDS.keys()):
        if dry_run or remove(server, found):
            cleared.append(
                Removal("clear", found.kind.name, found.namespace or "", found.name, "annotations")
            )
            if output is Output.TABLE:
                typer.echo(str(found))
    if output is not Output.TABLE:
        show(cleared, Removal, [], output)
    verb = "have" if dry_run else "had"
    typer.echo(f"{len(cleared)} objects {verb} annotations of Cepheid", err=True)


def _everything(server: "ApiServer", output: Output, *, yes: bool) -> None:
    from cepheid.annotations.removal import annotated
    from cepheid.cli.places import say
    from cepheid.doctor.belongings import plan
    from cepheid.jobs.kinds import KINDS

    found = plan(server)
    unseen = list(found.unseen)
    rows = [_row(one) for one in found.workloads]
    try:
        rows += [
            Removal("clear", one.kind.name, one.namespace or "", one.name, "annotations")
            for one in annotated(server, KINDS.keys())
        ]
    except CepheidError as problem:
        unseen.append(problem.message)
    rows += [_row(one) for one in found.rest]
    show(rows, Removal, _columns(), output)
    for words in found.kept:
        say(f"note: stays: {words}")
    for words in unseen:
        say(f"note: not looked at: {words}")
    if not rows:
        say("there is nothing of Cepheid here" if not unseen else "nothing was found")
    elif not yes:
        say(f"nothing was done: {len(rows)} things would go. hint: --yes does it")
        if any(row.kind == "CustomResourceDefinition" for row in rows):
            say("hint: kubectl get jobprofiles,placementtrials -A -o json > kept.json keeps them")
    else:
        _remove(server, found)
    if unseen and yes:
        raise typer.Exit(1)


def _remove(server: "ApiServer", found: "Plan") -> None:
    from cepheid.cli.places import say
    from cepheid.doctor.removing import carry_out
    from cepheid.jobs.kinds import KINDS

    done = carry_out(server, found, KINDS.keys())
    say(f"{done.deleted} objects were deleted, {done.cleared} had annotations of Cepheid")
    if done.still_there:
        say(f"note: these pods did not end, and may write again: {', '.join(done.still_there)}")
    for words in done.failed:
        say(f"note: {words}")
    if done.failed or done.still_there:
        raise typer.Exit(1)


def _row(one: "Belonging") -> Removal:
    return Removal("delete", one.kind.__name__, one.namespace or "", one.name, one.note)


def _columns() -> list[Column[Removal]]:
    return [
        Column("ACTION", lambda row: row.action, matters=9),
        Column("KIND", lambda row: row.kind, matters=9, least=18, middle=True),
        Column("NAMESPACE", lambda row: row.namespace, matters=6, least=12, middle=True),
        Column("NAME", lambda row: row.name, matters=9, least=16, middle=True),
        Column("NOTE", lambda row: row.note, matters=3, least=11),
    ]
