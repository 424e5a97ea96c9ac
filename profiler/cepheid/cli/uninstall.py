"""`cepheid uninstall`: take what Cepheid wrote off a cluster's objects again."""

from typing import Annotated

import typer

from cepheid.errors import UsageError


def uninstall(
    annotations: Annotated[
        bool, typer.Option("--annotations", help="Take every ai.centaurus.io annotation away.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say which objects have some.")
    ] = False,
) -> None:
    """Take what Cepheid wrote off Nodes, Pods and jobs.

    Delete the agents and the operator first: they would write it again.
    """
    if not annotations:
        raise UsageError("there is nothing to take away", hint="give --annotations")
    from cepheid.annotations.api import ApiServer
    from cepheid.annotations.removal import annotated, remove
    from cepheid.jobs.kinds import KINDS

    cleared = 0
    with ApiServer() as server:
        for found in annotated(server, KINDS.keys()):
            if dry_run or remove(server, found):
                cleared += 1
                typer.echo(str(found))
    verb = "have" if dry_run else "had"
    typer.echo(f"{cleared} objects {verb} annotations of Cepheid", err=True)
