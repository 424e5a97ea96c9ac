"""`cepheid operator`: looks after the jobs of the whole cluster, in a pod of the Deployment."""

import importlib
import os
from typing import Any, NoReturn

import typer

from cepheid.cli.flags import takes
from cepheid.errors import UsageError
from cepheid.settings import OperatorSettings, read

MODULE = "cepheid_operator.main"
"""By its name: a laptop has the profiler alone, and the profiler never needs the operator."""


@takes(OperatorSettings)
def operator(**given: Any) -> None:
    """Keep a profile of every job, and annotate jobs.

    Annotates jobs, writes JobProfiles, archives them, runs PlacementTrials, until SIGTERM. Of
    several only one acts, the others wait for it to end. Every option can also be given as a
    variable: --live-seconds as CEPHEID_LIVE_SECONDS.
    """
    run_of_operator(MODULE, OperatorSettings, given)


def run_of_operator(module: str, kind: type, given: dict[str, Any]) -> NoReturn:
    """A process of the operator's package, whose libraries only its image has."""
    settings: Any = read(kind, given, os.environ)
    try:
        process = importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise UsageError(
            f"the operator's libraries are not installed: {missing.name}",
            hint="pip install 'cepheid[operator]'",
        ) from missing
    raise typer.Exit(process.run(settings))
