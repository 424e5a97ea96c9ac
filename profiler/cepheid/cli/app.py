"""Run one command line: find the command, run it, and say on stderr what went wrong."""

from collections.abc import Sequence
from typing import Annotated

import typer

from cepheid import __version__
from cepheid.cli.commands import Commands
from cepheid.cli.completion import prepare
from cepheid.cli.report import report
from cepheid.errors import CepheidError, UsageError

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    # Plain text, the same in a terminal, a pipe and a log, and rich is not even loaded.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cepheid {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True, subcommand_metavar="COMMAND [OPTIONS]")
def cepheid(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Reads the pulse of a Kubernetes GPU cluster."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(commands: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the command that the arguments name, and return the exit code of the process."""
    prepare()
    try:
        # A command returns nothing; typer hands back the code of a typer.Exit, or None.
        code: int | None = typer.main.get_command(commands).main(
            list(arguments), prog_name="cepheid", standalone_mode=False
        )
    except typer.TyperException as wrong:
        return report(UsageError(wrong.format_message(), hint="`cepheid --help` shows what works"))
    except CepheidError as error:
        return report(error)
    return code or 0
