"""The same profile for a block of a Python program.

    import cepheid

    with cepheid.profile("epoch", tags={"model": "bert"}) as run:
        train()
        run.set_status("failed", "loss is NaN")

    @cepheid.profile("evaluate")          # or on an `async def`
    def evaluate(): ...

    cepheid.last().usage.cpu_cores.mean

What is measured is the whole process and its children meanwhile, by one thread; blocks in several
threads at the same time see the same process. A block within a block is a task of it, also across
`await`; in a thread of your own give it `parent=run`. A fork leaves the recording to the parent.
It is meant for what takes a second or more: to begin and end a block costs some milliseconds, and
when the outermost has ended it is analysed and kept, which takes half a second the first time;
`async with` does that beside the event loop. Nothing that fails in it ever reaches your program.
"""

import contextvars
import functools
import inspect
import logging
import os
import shlex
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from cepheid.errors import CepheidError, UsageError
from cepheid.laptop.naming import clean
from cepheid.laptop.recorder import PARENT, Recorded, Recorder, Wanted, new_uid
from cepheid.laptop.recording import RecordingError, Trailer
from cepheid.laptop.sampling import INTERVAL_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS
from cepheid.laptop.settings import of_environment, state_folder
from cepheid.sources.local.processes import Tree

if TYPE_CHECKING:
    from cepheid.jobprofile import JobProfile

_P = ParamSpec("_P")
_R = TypeVar("_R")
STATUSES = ("success", "failed", "timeout", "error")
log = logging.getLogger(__name__)
_current: contextvars.ContextVar["Run | None"] = contextvars.ContextVar("cepheid", default=None)
_running: "weakref.WeakSet[Run]" = weakref.WeakSet()
_keeping = threading.Lock()
_last: list["Run"] = []


class Run:
    """One block, while it runs and afterwards."""

    def __init__(self, wanted: Wanted) -> None:
        self.uid = new_uid()
        self.name = wanted.name
        self.parent = wanted.parent
        self._pid = os.getpid()
        self._settings = of_environment()
        self._status: tuple[str, str | None] | None = None
        tree = Tree(roots=(self._pid,), per_thread=wanted.per_thread)
        self._recorder = Recorder(wanted, tree, state_folder(self._settings), self.uid)
        self._recorded: Recorded | None = None
        self._profile: JobProfile | None = None
        self._recorder.start()
        _running.add(self)

    def set_status(self, status: str, message: str | None = None) -> None:
        """How it ended, where no exception tells: success, failed, timeout or error."""
        if status not in STATUSES:
            raise UsageError(f"status is {status!r}", hint=f"one of {', '.join(STATUSES)}")
        self._status = (status, message)

    @property
    def profile(self) -> "JobProfile | None":
        """When the block has ended; None before, and in a fork of the process."""
        if self._profile is None and self._recorded is not None:
            self._keep()
        return self._profile

    def end(self, error: BaseException | None) -> None:
        if os.getpid() != self._pid:
            return  # a fork that left the block on its own: this is the parent's to end
        _running.discard(self)
        self._recorder.stop()
        outcome, reason, message = self._outcome(error)
        self._recorded = self._recorder.finish(
            Trailer(
                ended_seconds=self._recorder.now(),
                outcome=outcome,
                reason=reason,
                message=message,
            )
        )
        _last[:] = [self]
        if self.parent is None or self._recorded.unwritten:
            self._keep()
        else:
            # A task's waits until what it is a task of has ended, whoever keeps that.
            self._recorded.release()

    def forget(self) -> None:
        self._recorder.forget()

    def _outcome(self, error: BaseException | None) -> tuple[str, str | None, str | None]:
        told = _told(error)
        if self._status is not None and (told is None or self._status[0] != "success"):
            status, message = self._status
            return status, _REASONS.get(status), message
        return told or ("success", None, None)

    def _keep(self) -> None:
        from cepheid.laptop.keeping import keep, kept_before  # noqa: PLC0415 (heavy, seldom)

        recorded = self._recorded
        if recorded is None or self._profile is not None:
            return
        try:
            with _keeping:
                self._profile = kept_before(recorded, self._settings)
                if self._profile is None:
                    self._profile = keep(recorded, self._settings).profile
        except RecordingError:  # gone in between: somebody was quicker
            self._profile = kept_before(recorded, self._settings)
        except CepheidError as problem:
            log.warning("the profile of %s was not kept: %s", self.name, problem)


_REASONS = {"failed": "Unknown", "timeout": "DeadlineExceeded", "error": "Unknown"}


def _told(error: BaseException | None) -> tuple[str, str | None, str | None] | None:
    """What an exception that left the block says."""
    if error is None or (isinstance(error, SystemExit) and not error.code):
        return None
    words = clean(f"{type(error).__name__}: {error}".rstrip(": "))
    if isinstance(error, TimeoutError):
        return "timeout", "DeadlineExceeded", words
    # asyncio's and others' alike, without loading any of them.
    cancelled = type(error).__name__ in ("CancelledError", "Cancelled")
    if cancelled or isinstance(error, KeyboardInterrupt | GeneratorExit):
        return "error", "Stopped", words
    return "failed", "Unknown", words


class Profiling:
    """A context manager, for `with` and `async with`, and a decorator. Made by `profile`."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._run: Run | None = None
        self._token: contextvars.Token[Run | None] | None = None
        self._variable: str | None = None

    def __enter__(self) -> Run:
        if self._run is not None:
            raise UsageError(
                "this profile is running already", hint="make one for each block: cepheid.profile()"
            )
        run = Run(_wanted(self._given))
        self._run = run
        self._token = _current.set(run)
        if threading.current_thread() is threading.main_thread():
            # So that a `cepheid run` that the block starts is a task of it.
            self._variable = os.environ.get(PARENT, "")
            os.environ[PARENT] = run.uid
        return run

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        run = self._left()
        if run is not None:
            run.end(error)

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        run = self._left()
        if run is not None:
            import asyncio  # noqa: PLC0415 (whoever awaits has it; others do without its 8 MiB)

            # Shielded: who cancels the task must not cancel its record.
            await asyncio.shield(asyncio.to_thread(run.end, error))

    def _left(self) -> Run | None:
        run, self._run = self._run, None
        if run is None:
            return None
        if self._token is not None:
            try:
                _current.reset(self._token)
            except ValueError:  # left in another context than entered, as a fixture may be
                _current.set(None)
        if self._variable is not None and os.environ.get(PARENT) == run.uid:
            if self._variable:
                os.environ[PARENT] = self._variable
            else:
                del os.environ[PARENT]
        return run

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        """Each call is a run of its own."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise UsageError(
                f"{function.__qualname__} is a generator, which runs in pieces",
                hint="put `with cepheid.profile(...)` around what goes through it",
            )
        given = dict(self._given)
        given["name"] = given["name"] or function.__qualname__
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def profiled_later(*args: _P.args, **kwargs: _P.kwargs) -> Any:
                async with Profiling(given):
                    return await cast(Any, function)(*args, **kwargs)

            return cast("Callable[_P, _R]", profiled_later)

        @functools.wraps(function)
        def profiled(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            with Profiling(given):
                return function(*args, **kwargs)

        return profiled


@overload
def profile(name: Callable[_P, _R], /) -> Callable[_P, _R]: ...


@overload
def profile(
    name: str | None = None,
    *,
    tags: Mapping[str, str] | None = None,
    interval: float = INTERVAL_SECONDS,
    granularity: str = "summary",
    without: Collection[str] = (),
    per_thread: bool = False,
    parent: Run | str | None = None,
) -> Profiling: ...


def profile(
    name: Any = None,
    *,
    tags: Mapping[str, str] | None = None,
    interval: float = INTERVAL_SECONDS,
    granularity: str = "summary",
    without: Collection[str] = (),
    per_thread: bool = False,
    parent: Run | str | None = None,
) -> Any:
    """Profile a block (`with`, `async with`) or each call of a function (as a decorator).

    `interval` is in seconds; `granularity` "time-series" keeps every sample for `cepheid plot`;
    `without` names collectors to leave out; `parent` the run that this is a task of, where that is
    not the block around it.
    """
    given = {
        "name": None if callable(name) else name,
        "tags": tags or {},
        "interval": interval,
        "granularity": granularity,
        "without": tuple(without),
        "per_thread": per_thread,
        "parent": parent,
    }
    _wanted(given)  # what cannot be is refused here, where it stands in the program
    return Profiling(given)(name) if callable(name) else Profiling(given)


def last() -> "JobProfile | None":
    """Of the block that ended last in this process; else of the newest run in the history."""
    run = next(iter(_last), None)
    if run is not None:
        return run.profile
    from cepheid.laptop.keeping import adopt, newest  # noqa: PLC0415 (heavy, seldom)

    settings = of_environment()
    adopt(settings)
    return newest(settings)


def _wanted(given: Mapping[str, Any]) -> Wanted:
    interval = float(given["interval"])
    if not SHORTEST_SECONDS <= interval <= LONGEST_SECONDS:
        raise UsageError(
            f"interval is {interval:g} s",
            hint=f"from {SHORTEST_SECONDS:g} to {LONGEST_SECONDS:g} s it can be",
        )
    if given["granularity"] not in ("summary", "time-series"):
        raise UsageError(
            f"granularity is {given['granularity']!r}", hint="one of summary, time-series"
        )
    program = sys.argv[0] if sys.argv and sys.argv[0] else "python"
    return Wanted(
        name=clean(str(given["name"] or "")) or clean(os.path.basename(program)),  # noqa: PTH119
        command=shlex.join(sys.argv) if sys.argv else program,
        tags={str(key): str(value) for key, value in given["tags"].items()},
        interval_seconds=interval,
        granularity=given["granularity"],
        without=given["without"],
        per_thread=given["per_thread"],
        is_command=False,
        parent=_parent(given["parent"]),
    )


_inherited = os.environ.get(PARENT) or None
"""Of the `cepheid run` that this process is in."""


def _parent(told: Run | str | None) -> str | None:
    if told is not None:
        return told.uid if isinstance(told, Run) else str(told)
    around = _current.get()
    return around.uid if around is not None else _inherited


def _after_fork() -> None:
    """The child has none of our threads: it lets go of what is its parent's."""
    global _keeping  # noqa: PLW0603 # another thread may have held it, and is not there any more
    _keeping = threading.Lock()
    for run in tuple(_running):
        run.forget()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

__all__ = ["Profiling", "Run", "last", "profile"]
