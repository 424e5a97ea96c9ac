"""What goes wrong around a run: who records is killed, the history or the disk is in a bad way.

The command's own result is never touched, the record says what happened, and nothing is lost.
"""

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from cepheid.history import History, TimeSeries
from cepheid.jobprofile import Outcome, Reason
from cepheid.laptop.keeping import adopt
from cepheid.laptop.log import MOST_BYTES, OLD_FILES
from cepheid.laptop.settings import LaptopSettings
from tests.laptop.stand import COMMAND, Laptop
from tests.laptop.test_untouched import wait_for

ANSWER = "sh", "-c", "echo answer; exit 3"


def settings(laptop: Laptop, **more: float) -> LaptopSettings:
    return LaptopSettings(history=str(laptop.history_path), state=str(laptop.state), **more)  # type: ignore[arg-type]


def names(laptop: Laptop) -> set[str]:
    return {profile.job.name for profile in laptop.profiles()}


def test_the_recorder_is_killed_and_the_next_command_tells_of_the_run(laptop: Laptop) -> None:
    ready, gone_on = laptop.folder / "ready", laptop.folder / "gone on"
    script = f"echo $$ > '{ready}'; sleep 1.5; echo yes > '{gone_on}'"
    with laptop.popen(
        "run", "--interval", "0.1", "--name", "lost", "--", "sh", "-c", script
    ) as ran:
        wait_for(ready)
        time.sleep(0.8)
        ran.kill()
    assert wait_for(gone_on) == "yes"  # the command itself was not harmed
    (recording,) = laptop.recordings()
    with recording.open("ab") as file:
        file.write(b"torn")  # as a power cut leaves it
    laptop.run("--name", "next", "true")
    lost = {profile.job.name: profile for profile in laptop.profiles()}["lost"]
    assert (lost.outcome, lost.reason) == (Outcome.ERROR, Reason.LOST)
    assert lost.samples is not None
    assert lost.samples >= 4
    assert lost.verdict == "its recorder was killed"
    assert laptop.recordings() == []


def test_a_run_that_goes_on_is_not_taken_for_a_lost_one(laptop: Laptop) -> None:
    ready, go = laptop.folder / "ready", laptop.folder / "go"
    script = f"echo ready > '{ready}'; while [ ! -e '{go}' ]; do sleep 0.05; done"
    with laptop.popen("run", "--name", "long", "--", "sh", "-c", script) as running:
        try:
            wait_for(ready)
            laptop.run("--name", "short", "true")
            assert names(laptop) == {"short"}
            assert len(laptop.recordings()) == 1
        finally:
            go.touch()
        running.communicate(timeout=60)
    assert names(laptop) == {"short", "long"}


def test_the_command_is_killed_and_the_record_says_so(laptop: Laptop) -> None:
    ready = laptop.folder / "ready"
    with laptop.popen("run", "--", "sh", "-c", f"echo $$ > '{ready}'; exec sleep 60") as running:
        os.kill(int(wait_for(ready)), signal.SIGKILL)
        _, talk = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGKILL
    assert "ended by SIGKILL" in talk
    assert laptop.only().reason is Reason.SIGNAL


def test_killed_while_it_keeps_the_record_comes_with_the_next_command(laptop: Laptop) -> None:
    laptop.run("--name", "first", "true")
    with closing(sqlite3.connect(laptop.history_path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        running = laptop.popen("run", "--name", "second", "true")
        end = time.monotonic() + 60
        while not _is_closed(laptop) and time.monotonic() < end:
            time.sleep(0.02)
        running.kill()
        running.communicate()
    assert adopt(settings(laptop)) == 1
    assert names(laptop) == {"first", "second"}
    assert {profile.outcome for profile in laptop.profiles()} == {Outcome.SUCCESS}


def _is_closed(laptop: Laptop) -> bool:
    return any(b'"outcome"' in path.read_bytes() for path in laptop.recordings())


def test_a_broken_history_is_set_aside_and_a_new_one_begun(laptop: Laptop) -> None:
    laptop.run("--name", "before", "true")
    whole = laptop.history_path.read_bytes()
    broken = b"garbage " * 32 + whole[256:]
    laptop.history_path.write_bytes(broken)
    ran = laptop.run("--name", "after", "--", *ANSWER)
    assert (ran.returncode, ran.stdout) == (3, "answer\n")
    assert "was broken" in ran.stderr
    (aside,) = laptop.history_path.parent.glob("history.db.broken-????????T??????")
    assert str(aside) in ran.stderr
    assert aside.read_bytes() == broken
    assert names(laptop) == {"after"}


def test_a_history_with_a_broken_page_is_set_aside_too(laptop: Laptop) -> None:
    laptop.run("--name", "before", "true")
    with laptop.history_path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for page in range(2, size // 4096, 2):
            file.seek(page * 4096)
            file.write(b"\xff" * 64)
    ran = laptop.run("--name", "after", "--", *ANSWER)
    assert ran.returncode == 3
    assert list(laptop.history_path.parent.glob("history.db.broken-*"))
    assert names(laptop) == {"after"}


def test_a_locked_history_keeps_nobody_waiting_and_nothing_is_lost(laptop: Laptop) -> None:
    laptop.run("--name", "first", "true")
    with closing(sqlite3.connect(laptop.history_path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        ran = laptop.run("--name", "second", "--", *ANSWER)
    assert (ran.returncode, ran.stdout) == (3, "answer\n")
    assert "cepheid: second failed with exit code 3" in ran.stderr
    assert "not in the history yet: the history" in ran.stderr
    assert "cepheid: hint: " in ran.stderr
    assert len(laptop.recordings()) == 1
    laptop.run("--name", "third", "true")
    assert names(laptop) == {"first", "second", "third"}
    assert laptop.recordings() == []


def test_a_newer_history_is_left_alone_and_the_recording_stays(laptop: Laptop) -> None:
    laptop.run("--name", "first", "true")
    with closing(sqlite3.connect(laptop.history_path)) as newer:
        tables = [
            row[0] for row in newer.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        (version,) = [table for table in tables if "version" in table]
        column = newer.execute(f"PRAGMA table_info({version})").fetchone()[1]
        newer.execute(f"UPDATE {version} SET {column} = 999")  # noqa: S608 # names of our own
        newer.commit()
        before = list(newer.iterdump())
    ran = laptop.run("--name", "second", "--", *ANSWER)
    assert ran.returncode == 3
    assert "not in the history yet" in ran.stderr
    assert len(laptop.recordings()) == 1
    with closing(sqlite3.connect(laptop.history_path)) as newer:
        assert list(newer.iterdump()) == before


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_history_that_cannot_be_written_is_told_and_the_recording_stays(
    laptop: Laptop, what: str
) -> None:
    if what == "folder":
        laptop.history_path.parent.write_text("no folder at all")
    else:
        laptop.history_path.mkdir(parents=True)
    ran = laptop.run("--name", "second", "--", *ANSWER)
    assert (ran.returncode, ran.stdout) == (3, "answer\n")
    assert "not in the history yet" in ran.stderr
    assert "cepheid: hint: " in ran.stderr
    assert len(laptop.recordings()) == 1


def test_a_read_only_history_is_told_and_the_recording_stays(laptop: Laptop) -> None:
    laptop.run("--name", "first", "true")
    folder = laptop.history_path.parent
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        ran = laptop.run("--name", "second", "--", *ANSWER)
    finally:
        subprocess.run(["umount", folder], check=True)
    assert (ran.returncode, ran.stdout) == (3, "answer\n")
    assert "not in the history yet" in ran.stderr
    laptop.run("--name", "third", "true")
    assert names(laptop) == {"first", "second", "third"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_costs_the_command_nothing_and_the_record_is_held(
    tmp_path: Path, small_disk: Path
) -> None:
    """Recordings on a disk that the command itself fills, the history elsewhere."""
    laptop = Laptop(tmp_path, {"CEPHEID_STATE": str(small_disk / "state")})
    fill = f"head -c 2m /dev/zero > '{small_disk}/fill' 2>/dev/null; sleep 1; echo answer; exit 3"
    ran = laptop.run("--interval", "0.02", "--name", "filler", "--", "sh", "-c", fill)
    assert (ran.returncode, ran.stdout) == (3, "answer\n")
    profile = laptop.only()
    assert (profile.outcome, profile.exit_code) == (Outcome.FAILED, 3)
    assert profile.samples is not None
    assert profile.samples > 10


def test_a_full_disk_of_the_history_leaves_the_recording(tmp_path: Path, small_disk: Path) -> None:
    path = small_disk / "history.db"
    laptop = Laptop(tmp_path, {"CEPHEID_HISTORY": str(path)})
    fill = small_disk / "fill"
    subprocess.run(["dd", "if=/dev/zero", f"of={fill}"], check=False, capture_output=True)
    ran = laptop.run("--name", "first", "--", *ANSWER)
    assert (ran.returncode, ran.stdout) == (3, "answer\n")
    assert "not in the history yet" in ran.stderr
    fill.unlink()
    laptop.run("--name", "second", "true")
    with History.open(path) as history:
        assert {profile.job.name for profile in history.find()} == {"first", "second"}


def test_a_limit_on_the_size_of_files_is_the_commands_alone(laptop: Laptop) -> None:
    """Under `ulimit -f` the signal of a file that grows too large must not end us."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))

    ran = laptop.run("--interval", "0.01", "--", "sh", "-c", "sleep 1; exit 3", preexec_fn=limit)
    assert ran.returncode == 3
    assert "cepheid: sh failed with exit code 3" in ran.stderr
    assert "not in the history yet" in ran.stderr


def test_nowhere_to_write_at_all_still_runs_the_command_and_says_what_it_used(
    laptop: Laptop,
) -> None:
    (laptop.folder / "state").write_text("in the way")
    (laptop.folder / "data").write_text("in the way")
    ran = laptop.run("--", *ANSWER)
    assert (ran.returncode, ran.stdout) == (3, "answer\n")
    assert "cepheid: sh failed with exit code 3" in ran.stderr
    assert "nor did the disk take the recording" in ran.stderr


def test_a_recording_of_another_make_is_left_alone(laptop: Laptop) -> None:
    laptop.run("--name", "first", "true")
    folder = laptop.state / "recordings"
    strange = folder / "strange.rec"
    strange.write_bytes(b"\x00\xffnot ours\n" * 100)
    newer = folder / "newer.rec"
    newer.write_text('{"version": 99, "uid": "x"}\n')
    ran = laptop.run("--name", "second", "true")
    assert ran.returncode == 0
    assert names(laptop) == {"first", "second"}
    assert strange.exists()
    assert newer.exists()


def test_of_too_many_jobs_the_oldest_leave_the_history_after_a_run(laptop: Laptop) -> None:
    few = Laptop(laptop.folder, {"CEPHEID_KEEP_JOBS": "2"})
    for number in range(4):
        few.run("--name", f"run-{number}", "true")
    assert names(few) == {"run-2", "run-3"}


def test_jobs_that_are_too_old_leave_the_history_after_a_run(laptop: Laptop) -> None:
    laptop.run("--name", "first", "true")
    with laptop.history() as history:
        (profile,) = history.find()
        assert profile.ended is not None
        job = replace(profile.job, uid="old", name="old")
        history.keep([replace(profile, job=job, ended=profile.ended - timedelta(days=3))])
    Laptop(laptop.folder, {"CEPHEID_KEEP_DAYS": "4"}).run("--name", "next", "true")
    assert names(laptop) == {"old", "first", "next"}
    Laptop(laptop.folder, {"CEPHEID_KEEP_DAYS": "2"}).run("--name", "last", "true")
    assert names(laptop) == {"first", "next", "last"}


def test_of_too_large_a_history_the_oldest_leave_it_after_a_run(laptop: Laptop) -> None:
    small = Laptop(laptop.folder, {"CEPHEID_KEEP_MIB": "0.1"})
    long = TimeSeries("cpu_cores", range(100_000), [random.random() for _ in range(100_000)])  # noqa: S311
    small.run("--name", "first", "true")
    with small.history() as history:
        history.keep_series(small.only().job.uid, [long])
    assert names(small) == {"first"}
    small.run("--name", "second", "true")
    assert names(small) == {"second"}


def test_the_log_does_not_grow_without_end(laptop: Laptop) -> None:
    laptop.history_path.parent.write_text("in the way")
    log = laptop.state / "cepheid.log"
    log.parent.mkdir(parents=True)
    for number in range(OLD_FILES + 2):
        log.write_text(f"{number}\n" * (MOST_BYTES // 2))
        laptop.run("true")
        assert "was not kept" in log.read_text()
    kept = sorted(path.name for path in laptop.state.glob("cepheid.log*"))
    assert kept == ["cepheid.log", *(f"cepheid.log.{n}" for n in range(1, OLD_FILES + 1))]
    assert (laptop.state / "cepheid.log.1").read_text().startswith(f"{OLD_FILES + 1}\n")


def test_trouble_is_logged_and_the_log_is_told_how_much_to_say(laptop: Laptop) -> None:
    laptop.history_path.parent.write_text("in the way")
    laptop.run("true")
    log = (laptop.state / "cepheid.log").read_text()
    assert "was not kept" in log
    hushed = Laptop(laptop.folder, {"CEPHEID_LOG_LEVEL": "error"})
    hushed.run("true")
    assert (laptop.state / "cepheid.log").read_text() == log
    wrong = Laptop(laptop.folder, {"CEPHEID_LOG_LEVEL": "loud"}).run("true")
    assert wrong.returncode == 2
    assert "CEPHEID_LOG_LEVEL is 'loud'" in wrong.stderr


def test_many_runs_at_the_same_time_are_all_kept(laptop: Laptop) -> None:
    running = [laptop.popen("run", "--name", f"run-{n}", "true") for n in range(8)]
    for one in running:
        one.communicate(timeout=120)
        assert one.returncode == 0
    laptop.run("--name", "last", "true")  # and keeps what had to wait too long for its turn
    assert names(laptop) == {f"run-{n}" for n in range(8)} | {"last"}
    assert laptop.recordings() == []


def test_stderr_that_nobody_reads_any_more_does_not_change_the_exit_code(laptop: Laptop) -> None:
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run(
        [COMMAND, "run", "--", sys.executable, "-c", "raise SystemExit(3)"],
        env=laptop.environment,
        check=False,
        stderr=write,
    )
    os.close(write)
    assert ran.returncode == 3
    assert laptop.only().exit_code == 3
