"""`cepheid run -- COMMAND`: a command as it always ran, and its profile."""

import inspect
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cepheid.cli.report import report
from cepheid.cli.run_options import OPTIONS, RunOption, RunWanted, parse, wanted_of
from cepheid.errors import CepheidError
from cepheid.laptop.settings import LaptopSettings, of_environment, state_folder


def main(arguments: Sequence[str]) -> int:
    """Without typer: while the command runs nothing is in memory that is not needed for it."""
    try:
        return start(parse(arguments))
    except CepheidError as error:
        return report(error)


def start(wanted: RunWanted) -> int:
    """Returns the exit code of the command; dies of the signal that killed it."""
    if wanted.no_profile:
        return _as_typed(wanted)
    settings = of_environment()
    from cepheid.laptop.naming import clean, name_of
    from cepheid.laptop.recorder import PARENT, Wanted
    from cepheid.laptop.runs import as_typed, run

    ran = run(
        wanted.command,
        Wanted(
            name=clean(wanted.name or "") or name_of(wanted.command),
            command=as_typed(wanted.command),
            tags=wanted.tags,
            interval_seconds=wanted.interval_seconds,
            granularity=wanted.granularity,
            without=wanted.without,
            per_thread=wanted.per_thread,
            parent=os.environ.get(PARENT) or None,
        ),
        state_folder(settings),
        timeout_seconds=wanted.timeout_seconds,
    )
    if ran.problem is not None:
        report(ran.problem)
    _keep(ran.recorded, settings, quiet=wanted.quiet or ran.problem is not None)
    if ran.ended is None:
        return 1 if ran.problem is None else ran.problem.code
    from cepheid.laptop.command import end_as

    return end_as(ran.ended)


def _as_typed(wanted: RunWanted) -> int:
    import signal

    from cepheid.laptop.command import unstartable

    # Python itself ignores this one; a program expects it as it is by default.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(wanted.command[0], wanted.command)  # noqa: S606 # that is what it is for
    except OSError as problem:
        error = unstartable(wanted.command[0], problem)
        report(error)
        return error.code


def _keep(recorded: Any, settings: LaptopSettings, *, quiet: bool) -> None:
    """From here on what is heavy may be loaded: the command is over."""
    from cepheid.laptop import log
    from cepheid.laptop.keeping import keep
    from cepheid.reports.in_short import in_short

    log.set_up(settings)
    kept = keep(recorded, settings, talk=_talk)
    if not quiet:
        for line in in_short(kept.profile):
            _talk(line)
    if kept.problem is not None:
        _talk(f"not in the history yet: {kept.problem.message}")
        if kept.problem.hint:
            _talk(f"hint: {kept.problem.hint}")


def _talk(words: str) -> None:
    # Without a terminal left to talk to there is nobody to tell.
    try:
        sys.stderr.write(f"cepheid: {words}\n")
        sys.stderr.flush()
    except OSError:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115


def command() -> Any:
    """For typer: its help, and whoever gets here past the light way."""
    import typer

    def run(context: typer.Context, **given: Any) -> None:
        raise typer.Exit(start(wanted_of({**_named(given), "command": context.args})))

    run.__doc__ = HELP
    first = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [first, *(_parameter(option) for option in OPTIONS)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


HELP = """Run a command as it always ran, and keep a profile of it.

    cepheid run -- python train.py

Its output, input, signals and exit code stay its own. Afterwards stderr says in three lines
what it used; `cepheid job` and `cepheid plot` tell more. Exit codes of its own: 2 wrong use,
124 timeout, 126 not executable, 127 no such command.
"""
TYPER = {
    "options_metavar": "[OPTIONS] -- COMMAND...",
    "context_settings": {
        "allow_extra_args": True,
        "allow_interspersed_args": False,
        "ignore_unknown_options": False,
    },
}


def _parameter(option: RunOption) -> inspect.Parameter:
    import typer

    words = typer.Option(f"--{option.name}", help=option.words, show_default=False)
    kind: Any = list[str] | None if option.repeated else bool if option.kind is bool else str | None
    return inspect.Parameter(
        option.name.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=False if option.kind is bool else None,
        annotation=Annotated[kind, words],
    )


def _named(given: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in given.items()}
