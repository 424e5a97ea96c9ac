import json
import math
import os
from pathlib import Path

import pytest

from cepheid.sources.local.disk import DiskTraffic
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.procfs import ProcFs

from .programs import program
from .recorded import process, write

WRITE = """
def io():
    fields = open("/proc/self/io").read().split()
    return [int(fields[9]), int(fields[11])]

def put(name, size):
    with open(name, "wb") as file:
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())
"""


def counted(folder: Path, pid: int, read: int, written: int) -> None:
    words = {"rchar": 1, "wchar": 1, "syscr": 1, "syscw": 1}
    words |= {"read_bytes": read, "write_bytes": written, "cancelled_write_bytes": 0}
    write(folder, {f"proc/{pid}/io": "\n".join(f"{name}: {n}" for name, n in words.items())})


def recorded(folder: Path) -> tuple[Tree, DiskTraffic]:
    tree = Tree([10], source=ProcFs(f"{folder}/proc", live=False))
    return tree, DiskTraffic(tree)


def test_what_a_command_and_its_children_wrote_is_what_the_kernel_counts(tmp_path: Path) -> None:
    with program(f"""{WRITE}
say("ready"); wait()
put({str(tmp_path / "a")!r}, 1 << 20)
if (child := os.fork()) == 0:
    put({str(tmp_path / "b")!r}, 2 << 20)
    os._exit(0)
os.waitpid(child, 0)
say(json.dumps(io())); wait()
""") as command:
        command.heard()
        tree = Tree([command.pid])
        traffic = DiskTraffic(tree)
        tree.read()
        before = traffic.read()
        command.go_on()
        kernel = json.loads(command.heard())
        tree.read()
        after = traffic.read()
        assert list(after) == kernel
        # On a file system in memory nothing is.
        assert after[1] - before[1] in (0, pytest.approx(3 << 20, rel=0.1))


def test_a_child_that_its_parent_waited_for_counts_once(tmp_path: Path) -> None:
    process(tmp_path, 10)
    counted(tmp_path, 10, 100, 10)
    process(tmp_path, 11, parent=10, start=200)
    counted(tmp_path, 11, 50, 5)
    tree, traffic = recorded(tmp_path)
    tree.read()
    assert traffic.read() == (150, 15)
    (tmp_path / "proc/11/stat").unlink()
    counted(tmp_path, 10, 160, 16)  # its own, the child's 50 and 5, and 10 and 1 more
    tree.read()
    assert traffic.read() == (160, 16)


def test_a_child_that_nobody_waited_for_is_not_lost(tmp_path: Path) -> None:
    process(tmp_path, 10)
    counted(tmp_path, 10, 100, 10)
    process(tmp_path, 11, parent=10, start=200)
    counted(tmp_path, 11, 50, 5)
    tree, traffic = recorded(tmp_path)
    tree.read()
    traffic.read()
    (tmp_path / "proc/11/stat").unlink()
    counted(tmp_path, 10, 120, 10)
    tree.read()
    assert traffic.read() == (150, 15)
    counted(tmp_path, 10, 130, 20)
    tree.read()
    assert traffic.read() == (160, 25)


def test_of_very_many_processes_what_ends_is_not_counted_twice(tmp_path: Path) -> None:
    process(tmp_path, 10)
    counted(tmp_path, 10, 100, 10)
    for pid in range(100, 500):
        process(tmp_path, pid, parent=10, start=200)
        counted(tmp_path, pid, 1, 1)
    tree, traffic = recorded(tmp_path)
    tree.read()
    assert traffic.read() == (500, 410)
    for inherited, pid in enumerate(range(100, 110), start=1):
        (tmp_path / f"proc/{pid}/stat").unlink()
        counted(tmp_path, 10, 100 + inherited, 10 + inherited)
        tree.read()
        assert traffic.read() == (500, 410)
    counted(tmp_path, 300, 11, 1)
    for _ in range(4):
        tree.read()
        traffic.read()
    assert traffic.read() == (510, 410)


def test_when_all_have_ended_the_figures_stay(tmp_path: Path) -> None:
    process(tmp_path, 10)
    counted(tmp_path, 10, 100, 10)
    tree, traffic = recorded(tmp_path)
    tree.read()
    traffic.read()
    (tmp_path / "proc/10/stat").unlink()
    tree.read()
    assert traffic.read() == (100, 10)


def test_what_may_not_be_told_is_a_gap(tmp_path: Path) -> None:
    process(tmp_path, 10)
    tree, traffic = recorded(tmp_path)
    tree.read()
    assert all(math.isnan(value) for value in traffic.read())


def test_a_reaper_has_what_orphans_wrote_up_to_their_end(tmp_path: Path) -> None:
    with program(f"""{WRITE}
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
from cepheid.sources.local.disk import DiskTraffic
from cepheid.sources.local.processes import Tree
go, back = os.pipe(), os.pipe()
if (root := os.fork()) == 0:
    os.read(go[0], 1)
    if os.fork() == 0:
        put({str(tmp_path / "a")!r}, 2 << 20)
        os.write(back[1], json.dumps(io()).encode())
        os._exit(0)
    os._exit(0)
tree = Tree([root], reaper=os.getpid())
traffic = DiskTraffic(tree)
tree.read()
before = traffic.read()
put({str(tmp_path / "ours")!r}, 4 << 20)
os.write(go[1], b"x")
os.wait(), os.wait()
tree.read()
say(json.dumps([list(before), list(traffic.read()), json.loads(os.read(back[0], 100))])); wait()
""") as command:
        before, after, kernel = json.loads(command.heard())
        assert after[1] >= kernel[1]
        assert after[1] - before[1] < 4 << 20


def test_our_own_process_can_be_read() -> None:
    tree = Tree([os.getpid()])
    traffic = DiskTraffic(tree)
    tree.read()
    assert all(value >= 0 for value in traffic.read())
