"""Run one command line: find the command, run it, and say on stderr what went wrong."""

from collections.abc import Sequence
from typing import Annotated

import typer

from cepheid import __version__
from cepheid.cli.agent import agent
from cepheid.cli.compare import compare
from cepheid.cli.completion import completion, prepare
from cepheid.cli.export import export
from cepheid.cli.import_jobs import import_jobs
from cepheid.cli.job import job
from cepheid.cli.jobs import jobs
from cepheid.cli.operator import operator
from cepheid.cli.plot import plot
from cepheid.cli.prune import prune
from cepheid.cli.report import report
from cepheid.cli.run import CONTEXT as RUN_CONTEXT
from cepheid.cli.run import USAGE as RUN_USAGE
from cepheid.cli.run import command as run_command
from cepheid.cli.stats import stats
from cepheid.cli.uninstall import uninstall
from cepheid.errors import CepheidError, UsageError

app = typer.Typer(
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


app.command()(agent)
app.command()(jobs)
app.command()(job)
app.command()(stats)
app.command()(compare)
app.command()(export)
app.command("import")(import_jobs)
app.command()(prune)
app.command()(completion)
app.command()(operator)
app.command()(plot)
app.command("run", context_settings=RUN_CONTEXT, options_metavar=RUN_USAGE)(run_command())
app.command()(uninstall)


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
