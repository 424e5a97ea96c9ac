"""Where are jobs read from: the laptop's history, a database by its URL, or a cluster?

    nothing            the laptop's own: CEPHEID_HISTORY, or the XDG folder's
    --history          a file of SQLite, or postgresql://...; CEPHEID_HISTORY keeps a password from
                       the list of processes
    --context, --namespace, --all-namespaces
                       the JobProfiles of a cluster, by the kubeconfig
    --local            the laptop's own; `kubectl cepheid` reads the cluster without it

Of a history a namespace is one of the things that can be asked for.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from cepheid.cli.filters import with_options
from cepheid.errors import NoSuchJobError, UsageError

if TYPE_CHECKING:
    from cepheid.history import History, Kept, Query, TimeSeries
    from cepheid.history.in_file import InFile
    from cepheid.jobprofile import JobProfile, Worker

PLUGIN = "kubectl-cepheid"
VARIABLE = "CEPHEID_HISTORY"
FIRST = "cepheid run -- COMMAND keeps the first one"
IN_CLUSTER = (
    "--all-namespaces looks everywhere; while an operator runs jobs get JobProfiles: cepheid doctor"
)
RECORDINGS = "recordings"
LOOKED_AT = 500
"""So many names are looked at for one that is like what was typed."""


class Jobs(Protocol):
    """What a history and a cluster can both be asked."""

    def find(self, query: "Query" = ..., *, limit: int = ...) -> "list[JobProfile]": ...
    def each(self, query: "Query" = ..., *, with_workers: bool = ...) -> "Iterator[Kept]": ...
    def get(self, uid: str) -> "JobProfile": ...
    def earlier_runs(self, profile: "JobProfile", *, limit: int = ...) -> "list[JobProfile]": ...
    def workers(self, uid: str) -> "tuple[Worker, ...]": ...
    def series(self, uid: str) -> "list[TimeSeries]": ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look, before anything was looked at."""

    path_or_url: str | None = None
    """Of a history; None for a cluster."""
    is_named: bool = False
    """Somebody gave it on the command line."""
    namespace: str | None = None
    context: str | None = None
    all_namespaces: bool = False

    @property
    def is_cluster(self) -> bool:
        return self.path_or_url is None

    @property
    def file(self) -> Path | None:
        """Of a history that is one."""
        if self.path_or_url is None or "://" in self.path_or_url:
            return None
        return Path(self.path_or_url).expanduser()

    @property
    def is_missing(self) -> bool:
        """A file that is not there. Of one that may not be looked at the history itself tells."""
        try:
            return self.file is not None and not self.file.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False

    def __str__(self) -> str:
        if self.is_cluster:
            return "the cluster" if self.context is None else f"the cluster of {self.context}"
        from cepheid.history.place import place_of

        return f"the history {place_of(self.path_or_url or '')}"

    def catch_up(self) -> None:
        """Runs whose recorder was killed, or that could not be kept then, come in now."""
        if self.is_cluster or self.is_named:
            return
        from cepheid.laptop.settings import of_environment, state_folder

        settings = of_environment()
        if not any((state_folder(settings) / RECORDINGS).glob("*.rec")):
            return
        from cepheid.laptop.keeping import adopt

        adopted = adopt(settings, say)
        if adopted:
            from cepheid.reports.words import counted

            say(f"note: {counted(adopted, 'run')} that had not been kept yet came in now")

    @contextmanager
    def open(self) -> "Iterator[Jobs]":
        """To read. What could not be read is said on stderr when it is left."""
        if not self.is_cluster:
            self.catch_up()
            with self._in_file() or self.history() as kept:
                yield kept
            return
        from cepheid.history.in_cluster import InCluster

        with InCluster(self.context, self.namespace, all_namespaces=self.all_namespaces) as cluster:
            try:
                yield cluster
            except NoSuchJobError as problem:
                if problem.hint == FIRST:  # which is a laptop's
                    raise NoSuchJobError("no JobProfiles here", hint=IN_CLUSTER) from problem
                raise
            for words in cluster.missing:
                say(f"note: {words}")

    def _in_file(self) -> "InFile | None":
        """Of a file SQLAlchemy, a third of a second, is loaded only for what needs it."""
        if self.file is None or self.is_missing:
            return None
        from cepheid.history.in_file import InFile

        return InFile(self.file)

    def history(self, *, make: bool = False) -> "History":
        """To write, too: `make` a file that is not there."""
        if self.path_or_url is None:
            raise UsageError(
                "JobProfiles of a cluster are written by Cepheid's operator alone",
                hint="name a history: --history, or --local",
            )
        from cepheid.history import History

        if not make and self.is_missing:
            raise self.no_file()
        return History.open(self.path_or_url)

    def no_file(self) -> NoSuchJobError:
        if self.is_named:
            return NoSuchJobError(
                f"there is no history at {self.path_or_url}", hint="look at what --history says"
            )
        return self.no_job()

    def no_job(self) -> NoSuchJobError:
        return NoSuchJobError(f"no job is kept yet in {self.path_or_url}", hint=FIRST)


def why_none(place: Place, hint: str = "") -> str:
    """Of what was asked for no job fits; or there is none at all, and what to do first."""
    fits = "no job fits" + (f"\nhint: {hint}" if hint else "")
    if place.is_cluster:
        return f"{fits}\nhint: {IN_CLUSTER}"
    with place.open() as kept:
        if kept.find(limit=1):
            return fits
    problem = place.no_job()
    return f"{problem.message}\nhint: {problem.hint}"


def say(words: str) -> None:
    """Talk: never on stdout, and as harmless as what is."""
    from cepheid.reports.plain import plain

    sys.stderr.writelines(f"{plain(line)}\n" for line in words.split("\n"))


def at_a_place(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command, which takes `place`, the options that say where jobs are read from."""

    def choosing(**given: Any) -> None:
        mine = {name: given.pop(name) for name in _OPTIONS}
        command(place=chosen_place(**mine), **given)

    return with_options(choosing, command, "place", _OPTIONS)


def at_a_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Of these options those that name a cluster: a history cannot answer the command."""
    options = {name: _OPTIONS[name] for name in ("context", "namespace")}

    def choosing(**given: Any) -> None:
        mine = {name: given.pop(name) for name in options}
        command(place=Place(None, **mine), **given)

    return with_options(choosing, command, "place", options)


def chosen_place(
    *,
    history: str | None = None,
    local: bool = False,
    context: str | None = None,
    namespace: str | None = None,
    all_namespaces: bool = False,
) -> Place:
    """Of what was typed; nothing is opened."""
    named = {"--history": history is not None, "--local": local, "--context": context is not None}
    given = [name for name, is_given in named.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} name two places", hint="give one of them")
    if namespace is not None and all_namespaces:
        raise UsageError("--namespace and --all-namespaces exclude each other", hint="give one")
    if history is not None:
        return Place(history, is_named=True, namespace=namespace)
    asked = context is not None or namespace is not None or all_namespaces
    if not local and (asked or is_plugin(sys.argv[0])):
        return Place(None, namespace=namespace, context=context, all_namespaces=all_namespaces)
    return Place(own_history(), namespace=namespace)


def is_plugin(program: str) -> bool:
    """Whether it was called as `kubectl cepheid`."""
    return Path(program).stem == PLUGIN


def own_history() -> str:
    from cepheid.history.place import default_path

    return os.environ.get(VARIABLE) or str(default_path())


def job_of(jobs: Jobs, wanted: str | None, namespace: str | None = None) -> "JobProfile":
    """By its uid, its name (the latest run), the beginning of its uid, or the name of its series.

    Without anything, the latest of all.
    """
    from cepheid.history import Query

    if wanted is None:
        latest = jobs.find(Query(namespace=namespace), limit=1)
        if not latest:
            raise NoSuchJobError("no job is kept yet", hint=FIRST)
        return latest[0]
    named = jobs.find(Query(name=wanted, namespace=namespace), limit=1)
    if named:
        return named[0]
    try:
        return jobs.get(wanted)
    except NoSuchJobError as problem:
        runs = jobs.find(Query(series=wanted, namespace=namespace), limit=1)
        if runs:
            return runs[0]
        raise _not_found(problem, wanted, jobs.find(limit=LOOKED_AT)) from problem


def _not_found(
    problem: NoSuchJobError, wanted: str, latest: "Sequence[JobProfile]"
) -> NoSuchJobError:
    from difflib import get_close_matches

    if not latest:
        return NoSuchJobError("no job is kept yet", hint=FIRST)
    if any(one.job.uid.startswith(wanted) for one in latest):
        return problem  # there is more than one
    names = list(dict.fromkeys(one.job.name for one in latest))
    near = get_close_matches(wanted, names, n=3)
    if not near:
        return problem
    from cepheid.reports.plain import plain

    return NoSuchJobError(f"no job is called {wanted!r}", hint=f"is it {plain(' or '.join(near))}?")


_OPTIONS: dict[str, Any] = {
    "history": (
        Annotated[
            str | None,
            typer.Option(
                "--history", metavar="PATH|URL", help="Another history: a file, postgresql://..."
            ),
        ],
        None,
    ),
    "local": (
        Annotated[bool, typer.Option("--local", help="This machine's own history.")],
        False,
    ),
    "context": (
        Annotated[
            str | None, typer.Option("--context", help="The cluster of this kubeconfig context.")
        ],
        None,
    ),
    "namespace": (
        Annotated[
            str | None,
            typer.Option("--namespace", "-n", help="A cluster's namespace; of a history, too."),
        ],
        None,
    ),
    "all_namespaces": (
        Annotated[
            bool, typer.Option("--all-namespaces", "-A", help="Every namespace of the cluster.")
        ],
        False,
    ),
}
