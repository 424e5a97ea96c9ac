"""Which commands are there? A table, so that `--help` lists them without loading any.

What stands in a command's own help is loaded with the command; its first sentence stands here too,
and a test compares them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperGroup

LOOK = "Look at jobs"
ADVISE = "What to change"
HISTORY = "Keep a history"
CLUSTER = "In a cluster"


@dataclass(frozen=True, slots=True)
class Listed:
    """One command, before anybody wants it."""

    words: str
    group: str
    module: str = ""
    """Under cepheid.cli; the command's own name where none is given."""


COMMANDS: Mapping[str, Listed] = {
    "run": Listed("Run a command as it always ran, and keep a profile of it.", LOOK),
    "jobs": Listed("List the jobs that were kept, the newest first.", LOOK),
    "job": Listed("Tell what happened to a job, and what to change next time.", LOOK),
    "stats": Listed("Add up what jobs took: time, CPU, GPUs, energy, cost.", LOOK),
    "usage": Listed("Show what the fleet held, used and wasted, and what comes.", LOOK),
    "compare": Listed("Show what is really different between two runs.", LOOK),
    "plot": Listed("Draw jobs as HTML pages; their paths are printed.", LOOK),
    "report": Listed(
        "Write one page on the fleet, which opens in any browser.", LOOK, "fleet_report"
    ),
    "top": Listed("Show what nodes, GPUs and jobs do now, and will do next.", CLUSTER),
    "check": Listed("Compare what jobs asked for with what they used.", ADVISE),
    "rightsize": Listed("Say what to ask for next time, and how sure that is.", ADVISE),
    "hogs": Listed("Name who holds what others wait for, and where it could go.", ADVISE),
    "scale": Listed("Say whether more GPUs would help a job, and how sure that is.", ADVISE),
    "trial": Listed("Try on which GPUs a job runs best: create, list, show, watch.", CLUSTER),
    "why-node": Listed(
        "Say which nodes were considered for a pod, their scores and why.", CLUSTER, "why_node"
    ),
    "acts": Listed("List what was done to jobs, and why: idle ones suspended.", HISTORY),
    "export": Listed("Write jobs as JSON Lines, CSV or Parquet.", HISTORY),
    "import": Listed("Read exported jobs into a history.", HISTORY, "import_jobs"),
    "prune": Listed("Delete jobs from a history, the oldest first.", HISTORY),
    "completion": Listed("Print a shell's completion script.", HISTORY),
    "agent": Listed("Profile this node, again and again, and annotate it.", CLUSTER),
    "operator": Listed("Keep a profile of every job, and annotate jobs.", CLUSTER),
    "extender": Listed("Answer a kube-scheduler which nodes suit a pod with GPUs.", CLUSTER),
    "doctor": Listed("Say what is wrong with an installation, and what to type.", CLUSTER),
    "uninstall": Listed("Take Cepheid, and what it wrote, off a cluster.", CLUSTER),
}


class Commands(TyperGroup):
    """The commands of the table, each loaded when it is wanted."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        # For who types one wrong: their names are all that it takes.
        self.commands = dict.fromkeys(COMMANDS, cast("Any", None))

    def list_commands(self, _: Any) -> list[str]:
        return [*COMMANDS]

    def get_command(self, _: Any, cmd_name: str) -> Any:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, _: Any, formatter: Any) -> None:
        for group in dict.fromkeys(one.group for one in COMMANDS.values()):
            rows = [(name, one.words) for name, one in COMMANDS.items() if one.group == group]
            with formatter.section(group):
                formatter.write_dl(rows)


@cache
def load(name: str) -> Any:
    """The function of that name in its module, or what `command()` there makes.

    A module with a GROUP has several commands under its name.
    """
    function = COMMANDS[name].module or name
    module = import_module(f"cepheid.cli.{function}")
    if (group := getattr(module, "GROUP", None)) is not None:
        return typer.main.get_command(group)
    make = getattr(module, "command", None)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, **getattr(module, "TYPER", {}))(make() if make else vars(module)[function])
    return typer.main.get_command(alone)
