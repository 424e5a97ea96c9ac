"""`cepheid top`: what all nodes, GPUs and jobs of a cluster do now."""

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheid.cli.formats import Output, screen_columns, show, table
from cepheid.cli.places import Place, at_a_cluster, say

if TYPE_CHECKING:
    from cepheid.cli.looking import Look
    from cepheid.reports.fleet import Fleet
    from cepheid.reports.fleet import Place as GpuPlace
    from cepheid.reports.top import Live

CLEAR = "\x1b[H\x1b[J"
OTHER_SCREEN, OWN_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
BESIDE = 4
"""Lines of a screen that rows do not get: a summary, titles, what is left, a note."""


class What(StrEnum):
    NODES = "nodes"
    GPUS = "gpus"
    JOBS = "jobs"


class Sort(StrEnum):
    NAME = "name"
    UTIL = "util"
    MEMORY = "memory"
    POWER = "power"
    FORECAST = "forecast"
    FREE = "free"


_FIGURES = {
    Sort.UTIL: ("util_percent",),
    Sort.MEMORY: ("mem_used_gb", "gpu_mem_gb"),
    Sort.POWER: ("power_watts",),
    Sort.FORECAST: ("forecast_util_percent",),
    Sort.FREE: ("free_gpu_score",),
}
_NAMES = ("node", "namespace", "job", "jobs", "model", "job_type", "trouble")


@at_a_cluster
def top(
    what: Annotated[What, typer.Argument(help="What is listed.")] = What.NODES,
    once: Annotated[bool, typer.Option("--once", help="Show it once, and end.")] = False,
    every: Annotated[
        float, typer.Option("--every", min=1, max=3600, help="Seconds from one look to the next.")
    ] = 5.0,
    sort: Annotated[
        Sort, typer.Option("--sort", help="By name, or the highest of a figure first.")
    ] = Sort.NAME,
    find: Annotated[
        str, typer.Option("--find", help="Only rows with this in a name, model, type or trouble.")
    ] = "",
    prometheus: Annotated[
        str,
        typer.Option(
            "--prometheus",
            envvar="CEPHEID_PROMETHEUS_URL",
            help="Its URL, for load, its course and power; NAME.NAMESPACE.svc by the API server.",
        ),
    ] = "",
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = Output.TABLE,
    *,
    place: Place,
) -> None:
    """Show what nodes, GPUs and jobs do now, and will do next.

    From their annotations, and with --prometheus from what was measured last. Of a node whose agent
    no longer writes nothing is shown but that. In a terminal it goes on until Ctrl-C.
    """
    from cepheid.cli.looking import Look

    view = _View(what, sort, find.casefold())
    with Look(place.context, place.namespace, prometheus) as look:
        if sys.stdout.isatty() and output is Output.TABLE and not once:
            _watch(look, view, every)
            return
        fleet, live = look()
        rows = view.rows(fleet, live)
        show(rows, view.kind, view.columns(), output)
    for words in look.notes:
        say(f"note: {words}")
    if not fleet.nodes:
        say("no node says anything of GPUs\nhint: does an agent run there? cepheid doctor tells")
    elif not rows:
        say("nothing fits")


@dataclass(frozen=True, slots=True)
class _View:
    """Which rows of a look, in which order."""

    what: What
    sort: Sort
    words: str

    @property
    def kind(self) -> type[Any]:
        from cepheid.reports.top import GpuRow, JobRow, NodeRow

        return {What.NODES: NodeRow, What.GPUS: GpuRow, What.JOBS: JobRow}[self.what]

    def rows(self, fleet: "Fleet", live: "Mapping[GpuPlace, Live]") -> list[Any]:
        from cepheid.reports.top import gpu_rows, job_rows, node_rows

        make: Any = {What.NODES: node_rows, What.GPUS: gpu_rows, What.JOBS: job_rows}[self.what]
        fitting = [row for row in make(fleet, live) if self.words in _text(row)]
        return sorted(fitting, key=lambda row: (self._rank(row), _order(row)))

    def columns(self) -> list[Any]:
        from cepheid.cli.top_columns import of_gpus, of_jobs, of_nodes

        return {What.NODES: of_nodes, What.GPUS: of_gpus, What.JOBS: of_jobs}[self.what]()

    def _rank(self, row: Any) -> float:
        """The highest first; what is not known comes last."""
        figures = (getattr(row, name, None) for name in _FIGURES.get(self.sort, ()))
        return next((-figure for figure in figures if figure is not None), 1.0)


def _text(row: Any) -> str:
    return " ".join(str(getattr(row, name, None) or "") for name in _NAMES).casefold()


def _order(row: Any) -> tuple[Any, ...]:
    """By name; the GPUs of a node by their numbers."""
    if hasattr(row, "job"):
        return row.namespace, row.job
    number, _, mig = getattr(row, "gpu", "0").partition("/")
    return row.node, int(number), int(mig or -1)


def _watch(look: "Look", view: _View, every_seconds: float) -> None:
    """On a screen of its own: what stood on the terminal is there again afterwards."""
    sys.stdout.write(OTHER_SCREEN)
    try:
        while True:
            fleet, live = look()
            lines = [_summary(fleet), *_fitting(view, view.rows(fleet, live))]
            lines += [f"note: {words}" for words in look.notes]
            sys.stdout.write(CLEAR + "\n".join(lines) + "\n")
            sys.stdout.flush()
            time.sleep(every_seconds)
    except KeyboardInterrupt:
        pass
    finally:
        sys.stdout.write(OWN_SCREEN)
        sys.stdout.flush()


def _fitting(view: _View, rows: Sequence[Any]) -> list[str]:
    """As many as the screen has lines for."""
    room = max(1, shutil.get_terminal_size().lines - BESIDE)
    left = [f"and {len(rows) - room} more"] if len(rows) > room else []
    lines = table(rows[:room], view.columns(), screen_columns()) if rows else ["nothing fits"]
    return lines + left


def _summary(fleet: "Fleet") -> str:
    from cepheid.reports.words import counted

    held = sum(1 for facts in fleet.gpus.values() if facts.pods)
    stale = f" ({len(fleet.stale)} stale)" if fleet.stale else ""
    nodes = counted(len(fleet.nodes), "node")
    return f"{nodes} with GPUs{stale}, {held} of {len(fleet.gpus)} GPUs held"
