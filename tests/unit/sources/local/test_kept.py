import os
import time
from pathlib import Path

import pytest

from cepheid.sources.local.kept import KeptOpen
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.procfs import ProcFs

from .programs import program


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_every_sample_is_of_its_moment() -> None:
    with program("say('ready'); wait(); burn(0.1); child(); wait()") as command:
        command.heard()
        tree = Tree([command.pid], source=ProcFs(keep_open=True))
        before = tree.read()
        command.go_on()
        assert command.heard() == "here"
        after = tree.read()
        assert after.cpu_seconds >= before.cpu_seconds + 0.1
        assert (before.processes, after.processes) == (1, 2)
        tree.close()


def test_files_of_who_has_ended_do_not_stay_open() -> None:
    before = open_files()
    with program("""
for _ in range(5):
    child()
time.sleep(600)
""") as command:
        tree = Tree([command.pid], source=ProcFs(keep_open=True))
        for _ in range(5):
            command.heard()
        tree.read()
        for pid in tree.pids:
            tree.processes.disk_bytes(pid)
        assert open_files() > before + 2 + 6 * 3
    while tree.read().processes:  # they have been killed, and take a moment to die
        time.sleep(0.01)
    assert open_files() == before


def test_closing_closes_all_and_may_be_done_twice() -> None:
    before = open_files()
    tree = Tree([os.getpid()], source=ProcFs(keep_open=True))
    tree.read()
    assert open_files() > before
    tree.close()
    tree.close()
    assert open_files() == before


def test_only_so_many_stay_open() -> None:
    before = open_files()
    kept = KeptOpen("/proc", most=1)
    assert kept.read(os.getpid(), "stat")
    assert kept.read(1, "stat")
    assert open_files() == before + 1
    kept.close()


def test_of_a_process_that_is_not_there_nothing_stays() -> None:
    with program("wait()") as command:
        command.ended()
        kept = KeptOpen("/proc")
        before = open_files()
        with pytest.raises((FileNotFoundError, ProcessLookupError)):
            kept.read(command.pid, "stat")
        assert open_files() == before


def test_what_does_not_fit_into_one_reading_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/children").write_text("123456 " * 2000)
    kept = KeptOpen(str(tmp_path))
    assert len(kept.read(7, "children")) == 14_000
    kept.close()


def test_somebody_elses_program_keeps_none_of_our_files() -> None:
    before = open_files()
    Tree([os.getpid()]).read()
    assert open_files() == before
