"""Recordings become records of the history, and then they may go.

One at a time, whoever comes: a lock says whose turn it is. A recording is deleted when its record
is on the disk and not before; what cannot be kept now (the history is locked, full, read-only, of
a newer version) stays, and the next command of Cepheid's tries again. So do recordings whose
recorder was killed. A history that is broken is set aside under another name, never overwritten.
"""

import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cepheid.errors import CepheidError, HistoryAwayError, HistoryBrokenError
from cepheid.history import History, default_path
from cepheid.history.place import File, place_of
from cepheid.jobprofile import JobProfile
from cepheid.laptop.composing import Composed, compose, judged
from cepheid.laptop.recorder import RECORDINGS, Recorded
from cepheid.laptop.recording import (
    RecordingError,
    boot_id,
    has_lost_its_recorder,
    read,
    waiting,
)
from cepheid.laptop.settings import LaptopSettings, state_folder

log = logging.getLogger(__name__)
TURN_SECONDS = 10.0
"""So long one waits for the turn; whoever ran a command wants to go on."""
LOCKED_SECONDS = 3.0
"""And so long for another program that holds the file."""
MOST_ADOPTED = 200
"""In one command: the rest is left to the next."""
_MIB = 2**20
Talk = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Kept:
    profile: JobProfile
    problem: CepheidError | None = None
    """Why it stays a recording for now."""


def keep(recorded: Recorded, settings: LaptopSettings, talk: Talk = lambda _: None) -> Kept:
    """The profile of a run that has just ended, kept if it can be."""
    try:
        return _keep_own(recorded, settings, talk)
    finally:
        recorded.release()


def _keep_own(recorded: Recorded, settings: LaptopSettings, talk: Talk) -> Kept:
    recording = read(recorded.path, recorded.unwritten)
    composed = compose(recording)
    try:
        with _turn(settings), _history(settings, talk) as history:
            profile = _keep(history, composed, recording.header.granularity)
            with suppress(OSError):  # where it could not be written there is nothing to delete
                recorded.path.unlink()
            _tidy(history, settings)
    except CepheidError as problem:
        if recorded.problem is not None:
            problem = CepheidError(
                f"{problem.message}; nor did the disk take the recording:"
                f" {recorded.problem.strerror}",
                hint="free some room, or name another folder in CEPHEID_STATE",
            )
        log.warning("job %s was not kept: %s", recorded.uid, problem.message)
        return Kept(composed.profile, problem)
    return Kept(profile)


def adopt(settings: LaptopSettings, talk: Talk = lambda _: None) -> int:
    """Keep what was left behind, if there is anything: how many. Cheap where there is not."""
    folder = state_folder(settings) / RECORDINGS
    if not any(True for _ in waiting(folder)):
        return 0
    try:
        with _turn(settings), _history(settings, talk) as history:
            return _adopt(history, settings)
    except CepheidError as problem:
        log.warning("recordings were not kept: %s", problem.message)
        return 0


def kept_before(recorded: Recorded, settings: LaptopSettings) -> JobProfile | None:
    """Its record, where somebody who came by has kept it already."""
    if recorded.unwritten or recorded.path.exists():
        return None
    with History.open(history_place(settings)) as history:
        return history.get(recorded.uid)


def newest(settings: LaptopSettings) -> JobProfile | None:
    place = place_of(history_place(settings))
    if isinstance(place, File) and not place.path.exists():
        return None
    with History.open(history_place(settings)) as history:
        return next(iter(history.find(limit=1)), None)


def history_place(settings: LaptopSettings) -> str | Path:
    return settings.history or default_path()


def _keep(history: History, composed: Composed, granularity: str) -> JobProfile:
    profile = composed.profile
    try:
        profile = judged(profile, history.earlier_runs(profile))
    except HistoryBrokenError as problem:
        # Of one record among many; a file that is broken as a whole fails what comes next.
        log.warning("earlier runs cannot be compared with: %s", problem.message)
    history.keep([profile])
    if granularity == "time-series":
        history.keep_series(profile.job.uid, composed.series)
    return profile


def _tidy(history: History, settings: LaptopSettings) -> None:
    """What else there is to do. The run itself is kept: what fails here is not its affair."""
    try:
        _rotate(history, settings)
        _adopt(history, settings)
    except CepheidError as problem:
        log.warning("the history was not tidied up: %s", problem.message)


def _adopt(history: History, settings: LaptopSettings) -> int:
    adopted = 0
    boot = boot_id()
    for path in waiting(state_folder(settings) / RECORDINGS):
        if adopted >= MOST_ADOPTED:
            break
        try:
            recording = read(path)
            if not has_lost_its_recorder(path, recording.header, boot):
                continue
            composed = compose(recording)
        except (RecordingError, ValueError, KeyError, TypeError) as problem:
            _set_aside_if_old(path, problem)
            continue
        _keep(history, composed, recording.header.granularity)
        path.unlink(missing_ok=True)
        log.info("adopted %s, recorded by process %d", path.name, recording.header.pid)
        adopted += 1
    return adopted


def _set_aside_if_old(path: Path, problem: Exception) -> None:
    """One that was begun this very moment has no header yet; an old one never will.

    It stands in a file that anybody may have changed: whatever is wrong with it, others wait.
    """
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > 60:  # noqa: PLR2004
            path.rename(path.with_suffix(".unreadable"))
            log.warning("%s: %s", path, problem)


def _rotate(history: History, settings: LaptopSettings) -> None:
    history.prune(
        ended_before=datetime.now(UTC) - timedelta(days=settings.keep_days),
        most_each_namespace=settings.keep_jobs,
        most_bytes=int(settings.keep_mib * _MIB),
    )


@contextmanager
def _turn(settings: LaptopSettings) -> Iterator[None]:
    folder = state_folder(settings)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(folder / "keeping.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        # A folder that nothing can be written to: then there are no recordings to fight over.
        yield
        return
    try:
        _wait_for_lock(file)
        yield
    finally:
        os.close(file)


def _wait_for_lock(file: int) -> None:
    end = time.monotonic() + TURN_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            if time.monotonic() >= end:
                raise HistoryAwayError(
                    "another cepheid is keeping records, and takes its time",
                    hint="the next command keeps this one",
                ) from problem
            time.sleep(0.05)
        except OSError:  # a file system without locks
            return
        else:
            return


@contextmanager
def _history(settings: LaptopSettings, talk: Talk) -> Iterator[History]:
    place = place_of(history_place(settings))
    if isinstance(place, File):
        check(place.path, talk)
    with History.open(history_place(settings)) as history:
        yield history


def check(path: Path, talk: Talk) -> None:
    """Sets a broken file aside; raises at once, not after half a minute, where another has it."""
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(path, timeout=LOCKED_SECONDS)) as connection:
            connection.isolation_level = None
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            broken = _broken_pages(connection)
            connection.execute("ROLLBACK")
    except sqlite3.DatabaseError as problem:
        code = getattr(problem, "sqlite_errorname", "")
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise HistoryAwayError(
                f"the history {path} is held by another program",
                hint="the next cepheid command keeps this run; who has it: fuser -v it",
            ) from problem
        if not code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return  # read-only and the like: the history itself says so, in its own words
        broken = str(problem)
    if broken:
        _set_aside(path, broken, talk)


def _broken_pages(connection: sqlite3.Connection) -> str | None:
    """Only of a small file: of 100,000 jobs this would take a second. Larger ones fail in use."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    if pages > 5000:  # noqa: PLR2004 # 20 MB
        return None
    (told,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    return None if told == "ok" else str(told)


def _set_aside(path: Path, why: str, talk: Talk) -> None:
    date = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    aside = path.with_name(f"{path.name}.broken-{date}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.broken-{date}-{number}")
    for suffix in ("-wal", "-shm", ""):
        source = path.with_name(path.name + suffix)
        with suppress(FileNotFoundError):
            source.rename(aside.with_name(aside.name + suffix))
    words = (
        f"the history {path} was broken ({why.strip()}); it is kept as {aside}, a new one begins"
    )
    log.error("%s", words)
    talk(words)
