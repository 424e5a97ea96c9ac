import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cepheid.sources.local.portable import Psutil
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.procfs import Processes, ProcFs

from .programs import program
from .recorded import process, thread

TICK = 0.01
MIB = 2**20

KINDS: dict[str, Callable[[], Processes]] = {
    "lists of children": lambda: ProcFs(scan=False),
    "files kept open": lambda: ProcFs(keep_open=True),
    "a scan": lambda: ProcFs(scan=True),
    "psutil": Psutil,
}


@pytest.fixture(params=KINDS)
def processes(request: pytest.FixtureRequest) -> Iterator[Processes]:
    made = KINDS[request.param]()
    yield made
    made.close()


def test_children_and_their_children_are_of_the_tree(processes: Processes) -> None:
    with program("""
inner = "import sys; print('here', flush=True); sys.stdin.readline()"
outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
subprocess.run([sys.executable, '-c', outer])
""") as command:
        assert command.heard() == "here"
        tree = Tree([command.pid], source=processes)
        reading = tree.read()
        assert reading.processes == 3
        assert tree.pids[0] == command.pid


def test_children_that_a_thread_started_are_of_the_tree(processes: Processes) -> None:
    with program("""
def start():
    child().wait()
threading.Thread(target=start).start()
""") as command:
        assert command.heard() == "here"
        reading = Tree([command.pid], source=processes).read()
        assert reading.processes == 2
        assert reading.threads == 3


def test_cpu_time_is_what_the_kernel_accounts(processes: Processes) -> None:
    with program("burn(0.3); say(used()); wait()") as command:
        used = float(command.heard())
        read = Tree([command.pid], source=processes).read().cpu_seconds
        # Between its own look and ours it printed and fell asleep.
        assert used - 2 * TICK <= read <= used + 5 * TICK


def test_children_that_came_and_went_between_two_samples_are_not_lost(
    processes: Processes,
) -> None:
    with program("""
say("ready"); wait()
for _ in range(8):
    if (child := os.fork()) == 0:
        burn(0.05)
        os._exit(0)
    os.waitpid(child, 0)
say(used()); wait()
""") as command:
        command.heard()
        tree = Tree([command.pid], source=processes)
        before = tree.read().cpu_seconds
        command.go_on()
        used = float(command.heard())
        after = tree.read().cpu_seconds
        assert after - before >= 0.4 - 2 * TICK
        assert after == pytest.approx(used, abs=5 * TICK)


def test_cpu_time_of_a_child_that_nobody_waits_for_stays(processes: Processes) -> None:
    with program("""
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    burn(0.2)
    say("burned"); wait(); os._exit(0)
try:
    os.wait()
except ChildProcessError:
    burn(0.15)
    say("alone")
time.sleep(600)
""") as command:
        assert command.heard() == "burned"
        tree = Tree([command.pid], source=processes)
        before = tree.read()
        command.go_on()
        assert command.heard() == "alone"
        after = tree.read()
        assert (before.processes, after.processes) == (2, 1)
        assert before.cpu_seconds >= 0.2
        assert after.cpu_seconds >= before.cpu_seconds + 0.15 - 2 * TICK


def test_a_child_that_was_seen_and_then_waited_for_counts_once(processes: Processes) -> None:
    with program("""
if (child := os.fork()) == 0:
    burn(0.3)
    say("burned"); wait(); os._exit(0)
os.waitpid(child, 0)
say(used()); time.sleep(600)
""") as command:
        assert command.heard() == "burned"
        tree = Tree([command.pid], source=processes)
        assert tree.read().cpu_seconds >= 0.3
        command.go_on()
        used = float(command.heard())
        assert tree.read().cpu_seconds == pytest.approx(used, abs=5 * TICK)


def test_an_orphan_that_was_seen_stays_in_the_tree(processes: Processes) -> None:
    with program("""
if os.fork() == 0:
    if os.fork() == 0:
        say("grandchild"); wait(); burn(0.1); say("burned"); time.sleep(600)
    time.sleep(600)
time.sleep(600)
""") as command:
        assert command.heard() == "grandchild"
        tree = Tree([command.pid], source=processes)
        before = tree.read()
        assert before.processes == 3
        _, parent, grandchild = sorted(tree.pids)
        os.kill(parent, signal.SIGKILL)
        command.go_on()
        assert command.heard() == "burned"
        after = tree.read()
        assert grandchild in tree.pids
        assert after.cpu_seconds - before.cpu_seconds >= 0.1 - 2 * TICK


def test_a_reaper_has_the_orphans_that_were_never_seen_with_their_parents() -> None:
    with program("""
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
from cepheid.sources.local.processes import Tree
ready, go = os.pipe(), os.pipe()
if (root := os.fork()) == 0:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            burn(0.2); os.write(ready[1], b"x"); os.read(go[0], 1); burn(0.2); os._exit(0)
        os._exit(0)
    os.wait()
    os._exit(0)
tree = Tree([root], reaper=os.getpid())
os.read(ready[0], 1)
os.waitpid(root, 0)
daemon = tree.read()
os.write(go[1], b"x")
os.wait()
end = tree.read()
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
say(json.dumps([daemon.processes, daemon.cpu_seconds, end.processes, end.cpu_seconds,
                usage.ru_utime + usage.ru_stime]))
wait()
""") as command:
        alive, burned, left, total, waited_for = json.loads(command.heard())
        assert (alive, left) == (1, 0)
        assert burned >= 0.2
        assert total == pytest.approx(waited_for, rel=0.001)


def test_of_our_own_process_cpu_time_of_children_is_exact() -> None:
    with program("""
from cepheid.sources.local.processes import Tree
tree = Tree([os.getpid()])
before = tree.read().cpu_seconds
start = used()
for _ in range(5):
    if (child := os.fork()) == 0:
        burn(0.0137)
        os._exit(0)
    os.waitpid(child, 0)
now = used()
say(json.dumps([tree.read().cpu_seconds - before, now - start])); wait()
""") as command:
        read, truth = json.loads(command.heard())
        assert read == pytest.approx(truth, abs=0.004)


def test_cpu_time_never_falls_while_children_come_and_go(processes: Processes) -> None:
    with program("""
say("ready")
for _ in range(60):
    children = [os.fork() for _ in range(2)]
    if 0 in children:
        burn(0.005)
        os._exit(0)
    for child in children:
        os.waitpid(child, 0)
say(used()); wait()
""") as command:
        command.heard()
        tree = Tree([command.pid], source=processes)
        read = [tree.read().cpu_seconds for _ in range(30)]
        assert read == sorted(read)
        used = float(command.heard())
        assert tree.read().cpu_seconds == pytest.approx(used, abs=5 * TICK)


def test_a_zombie_is_no_process_any_more_and_its_cpu_time_counts(processes: Processes) -> None:
    with program("""
if os.fork() == 0:
    burn(0.1)
    os._exit(0)
os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
say("zombie"); wait()
""") as command:
        assert command.heard() == "zombie"
        reading = Tree([command.pid], source=processes).read()
        assert reading.processes == 1
        assert reading.cpu_seconds >= 0.1


@pytest.mark.parametrize("scan", [False, True])
def test_a_peak_between_two_samples_is_seen(scan: bool) -> None:
    with program("""
say("ready"); wait()
block = bytearray(64 << 20)
block[::4096] = b"x" * len(block[::4096])
del block
say("done"); wait()
""") as command:
        command.heard()
        tree = Tree([command.pid], source=ProcFs(scan=scan))
        before = tree.read()
        command.go_on()
        command.heard()
        after = tree.read()
        assert after.rss_bytes < before.rss_bytes + 32 * MIB
        assert after.peak_rss_bytes == pytest.approx(before.rss_bytes + 64 * MIB, rel=0.02)


def test_a_peak_from_before_we_looked_is_not_the_runs() -> None:
    with program("""
block = bytearray(64 << 20)
block[::4096] = b"x" * len(block[::4096])
del block
say("done"); wait()
""") as command:
        command.heard()
        reading = Tree([command.pid]).read()
        assert reading.peak_rss_bytes == reading.rss_bytes < 64 * MIB


def test_all_of_the_peak_of_a_command_that_we_started_is_its_own(tmp_path: Path) -> None:
    process(tmp_path, 10, rss_kib=1000, peak_kib=7000)
    processes = ProcFs(f"{tmp_path}/proc", live=False)
    assert Tree([10], reaper=1, source=processes).read().peak_rss_bytes == 7000 * 1024


def test_resident_memory_is_added_up(processes: Processes) -> None:
    with program("""
for _ in range(2):
    child("b = bytearray(32 << 20); b[::4096] = b'x' * len(b[::4096])")
time.sleep(600)
""") as command:
        tree = Tree([command.pid], source=processes)
        assert command.heard() == command.heard() == "here"
        reading = tree.read()
        assert 64 * MIB < reading.rss_bytes < 160 * MIB
        assert reading.vms_bytes > reading.rss_bytes


@pytest.mark.parametrize("name", [b") R 1 1 1", b"a\nVmRSS:\t1 kB", b"((", b"\xff\xfe) S 0"])
def test_a_hostile_name_changes_nothing(processes: Processes, name: bytes) -> None:
    with program(f"""
ctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0)  # PR_SET_NAME
child()
time.sleep(600)
""") as command:
        assert command.heard() == "here"
        tree = Tree([command.pid], source=processes, per_thread=True)
        reading = tree.read()
        assert reading.processes == 2
        root = processes.read(command.pid)
        assert root is not None
        assert root.rss_bytes > MIB
        assert tree.thread_cpu_seconds()


def test_cpu_time_of_threads_is_told_by_their_names() -> None:
    with program("""
def busy(name, seconds):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    burn(seconds)
    gate.wait()
gate = threading.Event()
threads = [threading.Thread(target=busy, args=(b"loader", 0.1)) for _ in range(2)]
threads.append(threading.Thread(target=busy, args=(b"writer", 0.05)))
for thread in threads:
    thread.start()
while time.process_time() < 0.25:
    time.sleep(0.01)
say("burned"); wait(); gate.set()
for thread in threads:
    thread.join()
say("ended"); wait()
""") as command:
        command.heard()
        tree = Tree([command.pid], per_thread=True)
        tree.read()
        command.go_on()
        assert command.heard() == "ended"
        tree.read()
        used = tree.thread_cpu_seconds()
        assert used["loader"] > used["writer"] > 0
        assert used["loader"] >= 0.1


def test_names_that_a_program_makes_up_without_end_are_kept_within_bounds(tmp_path: Path) -> None:
    process(tmp_path, 10)
    tree = Tree([10], per_thread=True, source=ProcFs(f"{tmp_path}/proc", live=False))
    for tid in range(1100):
        shutil.rmtree(tmp_path / "proc/10/task", ignore_errors=True)
        thread(tmp_path, 10, tid, name=f"pool-{tid}", ticks=5)
        tree.read()
    used = tree.thread_cpu_seconds()
    assert len(used) == 1001
    assert sum(used.values()) == pytest.approx(1100 * 0.05)


def test_threads_are_not_looked_at_unless_asked(processes: Processes) -> None:
    tree = Tree([os.getpid()], source=processes)
    tree.read()
    assert tree.thread_cpu_seconds() == {}


def test_a_root_that_is_gone_leaves_an_empty_tree(processes: Processes) -> None:
    with program("burn(0.1); say('burned'); wait()") as command:
        command.heard()
        tree = Tree([command.pid], source=processes)
        before = tree.read()
        command.ended()
        after = tree.read()
        assert after.processes == after.rss_bytes == 0
        assert after.cpu_seconds >= before.cpu_seconds > 0
        assert after.peak_rss_bytes >= before.rss_bytes
        assert tree.pids == ()


def test_a_number_that_was_given_to_another_process_is_not_of_the_tree(tmp_path: Path) -> None:
    process(tmp_path, 10, start=100, ticks=50)
    process(tmp_path, 11, parent=10, start=110, ticks=20)
    tree = Tree([10], source=ProcFs(f"{tmp_path}/proc", live=False))
    assert tree.read().processes == 2
    process(tmp_path, 11, parent=1, start=900, ticks=7000)
    after = tree.read()
    assert tree.pids == (10,)
    assert after.cpu_seconds == pytest.approx(0.7)


def test_an_unrelated_process_is_not_taken_for_a_child_of_a_reused_parent(tmp_path: Path) -> None:
    process(tmp_path, 10)
    process(tmp_path, 20, parent=11)
    process(tmp_path, 11)
    tree = Tree([10], source=ProcFs(f"{tmp_path}/proc", live=False))
    assert tree.read().processes == 1
    # 11 ended, 20 has another parent since; then the command starts a child that is numbered 11.
    process(tmp_path, 20, parent=1)
    process(tmp_path, 11, parent=10, start=500)
    shutil.rmtree(tmp_path / "proc/11")
    tree.read()
    process(tmp_path, 11, parent=10, start=500)
    tree.read()
    assert set(tree.pids) == {10, 11}


def test_a_copy_of_its_parent_that_has_just_been_forked_is_no_peak(tmp_path: Path) -> None:
    forked = 0x40
    process(tmp_path, 10, rss_kib=1000_000, peak_kib=1000_000)
    tree = Tree([10], source=ProcFs(f"{tmp_path}/proc", live=False))
    process(tmp_path, 11, parent=10, flags=forked, rss_kib=1000_000, peak_kib=1000_000)
    assert tree.read().peak_rss_bytes == 1000_000 * 1024
    process(tmp_path, 11, parent=10, flags=0, rss_kib=2000, peak_kib=2000)
    assert tree.read().peak_rss_bytes == 1002_000 * 1024


def test_a_worker_that_stays_a_fork_counts_from_its_second_sample_on(tmp_path: Path) -> None:
    process(tmp_path, 10, rss_kib=1000)
    tree = Tree([10], source=ProcFs(f"{tmp_path}/proc", live=False))
    process(tmp_path, 11, parent=10, flags=0x40, rss_kib=800, peak_kib=900)
    assert tree.read().rss_bytes == 1000 * 1024
    second = tree.read()
    assert second.rss_bytes == 1800 * 1024
    assert second.peak_rss_bytes == 1900 * 1024


def test_a_program_that_replaced_another_begins_its_peak_anew(tmp_path: Path) -> None:
    process(tmp_path, 10, rss_kib=9000, peak_kib=9000)
    tree = Tree([10], source=ProcFs(f"{tmp_path}/proc", live=False))
    assert tree.read().peak_rss_bytes == 9000 * 1024
    process(tmp_path, 10, rss_kib=1000, peak_kib=5000)
    process(tmp_path, 11, parent=10, rss_kib=8000, peak_kib=8000)
    assert tree.read().peak_rss_bytes == 13000 * 1024


def test_of_very_many_processes_all_are_counted_and_their_peaks_seen_by_turns(
    tmp_path: Path,
) -> None:
    process(tmp_path, 10)
    for pid in range(100, 500):
        process(tmp_path, pid, parent=10, rss_kib=1000)
    tree = Tree([10], source=ProcFs(f"{tmp_path}/proc", live=False))
    tree.read()
    process(tmp_path, 300, parent=10, ticks=700, rss_kib=1200, peak_kib=900_000)
    seen = [tree.read() for _ in range(5)]
    assert {reading.processes for reading in seen} == {401}
    assert {reading.cpu_seconds for reading in seen} == {7.0}
    assert {reading.rss_bytes for reading in seen} == {(400 * 1000 + 1200) * 1024}
    assert seen[-1].peak_rss_bytes == (400 * 1000 + 900_000) * 1024


def test_many_threads_are_found_by_a_scan_as_by_lists() -> None:
    with program("""
gate = threading.Event()
for _ in range(150):
    threading.Thread(target=gate.wait, daemon=True).start()
child()
time.sleep(600)
""") as command:
        assert command.heard() == "here"
        tree = Tree([command.pid], source=ProcFs())
        first, second = tree.read(), tree.read()
        assert first.processes == second.processes == 2
        assert second.threads == 152
