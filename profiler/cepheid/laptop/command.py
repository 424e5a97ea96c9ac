"""How is a command run so that it notices nothing of us, and we lose nothing of it?

It has our stdin, stdout, stderr, other files, process group and terminal, and the signal mask and
handlers that we were started with. What the terminal sends goes to the whole group and so has
reached it already; what somebody sends to us alone is handed on. Processes that lose their parent
become our children, as those of an init do, so that the kernel tells us what they used. We end as
it ended: with its code, or by its signal.
"""

import ctypes
import errno
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cepheid.errors import CepheidError

NOT_EXECUTABLE, NOT_FOUND, TIMED_OUT = 126, 127, 124
"""As shells and timeout(1) have them."""
MERCY_SECONDS = 5.0
"""From SIGTERM to SIGKILL, after the time was up."""
GROUP_SECONDS = 0.05
"""A signal to the whole group reaches both of us: if it ends the command, handing it on is over."""
_PR_SET_CHILD_SUBREAPER = 36
_SI_KERNEL = 0x80
_HANDED_ON = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
)
_WATCHED = (*_HANDED_ON, signal.SIGCHLD)
# Python itself ignores these; a program expects them as they are by default.
_RESTORED = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))


class CommandError(CepheidError):
    """It could not be started."""

    def __init__(self, message: str, *, hint: str, code: int) -> None:
        super().__init__(message, hint=hint)
        self.code = code


@dataclass(frozen=True, slots=True)
class Ended:
    exit_code: int | None
    signal: int | None
    """That killed it."""
    timed_out: bool
    cpu_seconds: float
    """Of it and of all its children that were waited for."""
    peak_memory_bytes: float | None
    """Of the largest process among them; None where that is less than what we had when it began:
    between fork and exec a process has the memory of its parent, and the kernel counts it."""
    read_bytes: float
    written_bytes: float
    dumped_core: bool = False


class Command:
    """Made by `start`; from then on until `wait` returns signals are ours to handle."""

    def __init__(self, pid: int, mask: Collection[int], before: resource.struct_rusage) -> None:
        self.pid = pid
        self._mask = mask
        self._before = before
        self._own_peak = _own_peak()

    def wait(
        self,
        *,
        timeout_seconds: float | None = None,
        on_end: Callable[[], None] = lambda: None,
        tree: Callable[[], Sequence[int]] = tuple,
    ) -> Ended:
        """`on_end` is called when it has ended and its last figures can still be read.

        `tree` lists the processes that go when the time is up.
        """
        begin = time.monotonic()
        deadline = None if timeout_seconds is None else begin + timeout_seconds
        kills = iter((signal.SIGTERM, signal.SIGKILL))
        timed_out = False
        while not self._is_over():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                timed_out = True
                killer = next(kills, signal.SIGKILL)
                self._kill_all(killer, tree())
                deadline = time.monotonic() + MERCY_SECONDS
                continue
            self._hand_on(left)
        on_end()
        _, status, _ = os.wait4(self.pid, 0)
        self._reap_others()
        return self._ended(status, timed_out)

    def give_back_signals(self) -> None:
        """From here on a signal ends us, as it would anybody: what was recorded is on the disk.

        What was sent meanwhile was for the command, and is over with it.
        """
        while _wait_for(_HANDED_ON, 0.0) is not None:
            pass
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _is_over(self) -> bool:
        """Others that ended are reaped on the way."""
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return True
            if found is None:
                return False
            if found.si_pid == self.pid:
                return True
            os.wait4(found.si_pid, os.WNOHANG)

    def _reap_others(self) -> None:
        with suppress(ChildProcessError):
            while os.wait4(-1, os.WNOHANG)[0]:
                pass

    def _hand_on(self, seconds: float | None) -> None:
        number, from_terminal = _next_signal(seconds)
        if number in (None, signal.SIGCHLD) or from_terminal:
            return
        end = time.monotonic() + GROUP_SECONDS
        while (left := end - time.monotonic()) > 0:
            if self._is_over():
                return
            _wait_for((signal.SIGCHLD,), left)
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def _kill_all(self, number: int, tree: Sequence[int]) -> None:
        for pid in {self.pid, *tree} - {os.getpid()}:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
                # One that is stopped would not even notice.
                os.kill(pid, signal.SIGCONT)

    def _ended(self, status: int, timed_out: bool) -> Ended:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        before = self._before
        peak = float(used.ru_maxrss * _MAXRSS_BYTES)
        killed = os.WIFSIGNALED(status)
        return Ended(
            exit_code=None if killed else os.WEXITSTATUS(status),
            signal=os.WTERMSIG(status) if killed else None,
            timed_out=timed_out,
            cpu_seconds=used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime,
            peak_memory_bytes=peak if peak > self._own_peak else None,
            read_bytes=512.0 * (used.ru_inblock - before.ru_inblock),
            written_bytes=512.0 * (used.ru_oublock - before.ru_oublock),
            dumped_core=killed and os.WCOREDUMP(status),
        )


def _own_peak() -> float:
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_BYTES)


_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


def start(arguments: Sequence[str], environment: dict[str, str]) -> Command:
    """Raises CommandError for what cannot be started."""
    adopt_orphans()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        pid = _spawn(arguments, environment, mask)
    except OSError as problem:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise unstartable(arguments[0], problem) from problem
    return Command(pid, mask, before)


def end_as(ended: Ended) -> int:
    """The exit code to leave with; does not return where a signal killed the command."""
    if ended.timed_out:
        return TIMED_OUT
    if ended.signal is None:
        return ended.exit_code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    # The core that matters is the command's.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if ended.signal != signal.SIGKILL:
        signal.signal(ended.signal, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (ended.signal,))
    os.kill(os.getpid(), ended.signal)
    return 128 + ended.signal


def adopt_orphans() -> bool:
    """Linux alone can; elsewhere what a daemon used after its parent's end is not known."""
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def _spawn(arguments: Sequence[str], environment: dict[str, str], mask: Collection[int]) -> int:
    try:
        return os.posix_spawnp(
            arguments[0], list(arguments), environment, setsigmask=mask, setsigdef=_RESTORED
        )
    except OSError as problem:
        if problem.errno != errno.ENOEXEC:
            raise
        # A script without a first line that names its interpreter: shells run it themselves.
        found = _found(arguments[0]) or arguments[0]
        return os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", found, *arguments[1:]],
            environment,
            setsigmask=mask,
            setsigdef=_RESTORED,
        )


def unstartable(program: str, problem: OSError) -> CommandError:
    found = _found(program)
    if problem.errno == errno.ENOENT and found is None:
        hint = "is it spelled right, and on PATH? a shell's own words go as sh -c '...'"
        return CommandError(f"no command {program!r} was found", hint=hint, code=NOT_FOUND)
    if problem.errno == errno.ENOENT:
        return CommandError(
            f"{found} names an interpreter that does not exist",
            hint="look at its first line, the one that begins with #!",
            code=NOT_EXECUTABLE,
        )
    if problem.errno == errno.EACCES:
        return CommandError(
            f"{found or program} is not executable",
            hint=f"chmod +x it, or name its interpreter: python {program}",
            code=NOT_EXECUTABLE,
        )
    return CommandError(
        f"{program!r} cannot be started: {problem.strerror}",
        hint="does it start without cepheid?",
        code=NOT_EXECUTABLE,
    )


def _found(program: str) -> str | None:
    if "/" in program:
        return program if os.path.lexists(program) else None
    for folder in os.get_exec_path():
        path = os.path.join(folder, program)  # noqa: PTH118 # pathlib would be loaded for it
        if os.path.lexists(path):
            return path
    return None


def _next_signal(seconds: float | None) -> tuple[int | None, bool]:
    """The signal, and whether a terminal sent it: then the command has it too."""
    told = _wait_for(_WATCHED, seconds)
    return (None, False) if told is None else told


if hasattr(signal, "sigwaitinfo"):

    def _wait_for(numbers: Collection[int], seconds: float | None) -> tuple[int, bool] | None:
        if seconds is None:
            told = signal.sigwaitinfo(numbers)
        else:
            timed = signal.sigtimedwait(numbers, max(0.0, seconds))
            if timed is None:
                return None
            told = timed
        return told.si_signo, told.si_code == _SI_KERNEL

else:  # macOS has neither: it is looked every so often, and a terminal is taken for the sender
    _POLL_SECONDS = 0.02

    def _wait_for(numbers: Collection[int], seconds: float | None) -> tuple[int, bool] | None:
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            there = signal.sigpending() & set(numbers)
            if there:
                number = signal.sigwait(there)
                return number, number in (signal.SIGINT, signal.SIGQUIT) and os.isatty(0)
            if end is not None and time.monotonic() >= end:
                return None
            time.sleep(_POLL_SECONDS)
