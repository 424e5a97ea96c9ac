"""One command from its start to its recording."""

import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cepheid.laptop import command
from cepheid.laptop.command import CommandError, Ended
from cepheid.laptop.recorder import PARENT, Recorded, Recorder, Wanted, new_uid
from cepheid.laptop.recording import Trailer
from cepheid.sources.local.processes import Tree

# By these a program ends itself; the others come from somebody else.
_OWN_FAULT = frozenset(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP", "SIGPIPE")
    if hasattr(signal, name)
)


@dataclass(frozen=True, slots=True)
class Ran:
    recorded: Recorded
    ended: Ended | None
    """None where it could not be started."""
    problem: CommandError | None = None


def run(
    arguments: Sequence[str],
    wanted: Wanted,
    state: Path,
    *,
    timeout_seconds: float | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Ran:
    uid = new_uid()
    try:
        running = command.start(arguments, {**environment, PARENT: uid})
    except CommandError as problem:
        recorder = Recorder(wanted, Tree(), state, uid)
        recorded = recorder.finish(
            Trailer(
                ended_seconds=recorder.now(),
                outcome="error",
                reason="NoCommand",
                message=f"{problem.message}; {problem.hint}",
                exit_code=problem.code,
            )
        )
        return Ran(recorded, None, problem)
    tree = Tree(roots=(running.pid,), reaper=os.getpid(), per_thread=wanted.per_thread)
    recorder = Recorder(wanted, tree, state, uid)
    recorder.start()
    last: list[float] = []
    was_read: list[bool] = []

    def at_its_end() -> None:
        last.append(recorder.now())
        was_read.append(recorder.stop())

    ended = running.wait(
        timeout_seconds=timeout_seconds, on_end=at_its_end, tree=lambda: _now_live(recorder)
    )
    tree.read()
    left = [pid for pid in tree.pids if pid != running.pid]
    recorded = recorder.finish(_trailer(ended, last[0], len(left), last_row=was_read[0]))
    running.give_back_signals()
    return Ran(recorded, ended)


def _now_live(recorder: Recorder) -> Sequence[int]:
    recorder.take()
    return recorder.live()


def _trailer(ended: Ended, at: float, left: int, *, last_row: bool) -> Trailer:
    outcome, reason, message = "success", None, None
    exit_code = ended.exit_code
    if ended.timed_out:
        outcome, reason = "timeout", "DeadlineExceeded"
        message = "stopped by --timeout"
    elif ended.signal is not None:
        outcome = "failed" if ended.signal in _OWN_FAULT else "error"
        reason, message = "Signal", f"ended by {signal_name(ended.signal)}"
        exit_code = 128 + ended.signal
    elif ended.exit_code:
        outcome, reason = "failed", "ExitCode"
    return Trailer(
        ended_seconds=at,
        outcome=outcome,
        reason=reason,
        message=message,
        exit_code=exit_code,
        signal=ended.signal,
        cpu_seconds=ended.cpu_seconds,
        peak_memory_bytes=ended.peak_memory_bytes,
        read_bytes=ended.read_bytes,
        written_bytes=ended.written_bytes,
        left_running=left,
        last_row_is_after_end=last_row,
    )


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def as_typed(arguments: Sequence[str]) -> str:
    return shlex.join(arguments)
