"""The Python API, in programs as people write them."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cepheid.jobprofile import JobProfile, Outcome, Reason
from tests.laptop.stand import COMMAND, WORKLOADS, Laptop

COMPUTE = f"""
import sys, time, os
sys.path.insert(0, {str(WORKLOADS.parent)!r})
from workloads import compute_seconds, touched, MIB
import cepheid
"""


def program(
    laptop: Laptop, text: str, *under: object, code: int = 0
) -> subprocess.CompletedProcess[str]:
    path = laptop.folder / "program.py"
    path.write_text(COMPUTE + textwrap.dedent(text))
    ran = subprocess.run(
        [*map(str, under), sys.executable, "-W", "error", path],
        env=laptop.environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=laptop.folder,
    )
    assert ran.returncode == code, ran.stderr
    return ran


def by_name(laptop: Laptop) -> dict[str, JobProfile]:
    return {profile.job.name: profile for profile in laptop.profiles()}


def parent(profile: JobProfile) -> str | None:
    assert profile.process is not None
    return profile.process.parent


def test_a_block_has_the_profile_of_its_own_time(laptop: Laptop) -> None:
    ran = program(
        laptop,
        """
        compute_seconds(1)
        with cepheid.profile("block", tags={"model": "bert"}, interval=0.1) as run:
            before = time.process_time()
            compute_seconds(1)
            held = touched(64 * MIB)
            time.sleep(0.3)
            used = time.process_time() - before
        compute_seconds(1)
        assert cepheid.last() == run.profile
        print(used, run.profile.process.cpu_seconds)
        """,
    )
    used, told = map(float, ran.stdout.split())
    assert told == pytest.approx(used, rel=0.05, abs=0.05)
    profile = laptop.only()
    assert profile.outcome is Outcome.SUCCESS
    assert profile.labels == {"model": "bert"}
    assert profile.process is not None
    assert profile.process.command.endswith("program.py")
    assert profile.process.peak_memory_bytes is not None
    assert profile.process.peak_memory_bytes > 64 * 2**20
    assert laptop.recordings() == []


def test_children_of_the_block_count(laptop: Laptop) -> None:
    program(
        laptop,
        """
        import subprocess
        with cepheid.profile("children", interval=0.1):
            subprocess.run([sys.executable, "-c", "import workloads; workloads.compute_seconds(1)"],
                           cwd=sys.path[0], check=True)
        """,
    )
    process = laptop.only().process
    assert process is not None
    assert process.cpu_seconds == pytest.approx(1.05, rel=0.15)


@pytest.mark.parametrize(
    ("body", "outcome", "reason", "message"),
    [
        ("pass", Outcome.SUCCESS, None, None),
        ("p.set_status('failed', 'loss is NaN')", Outcome.FAILED, Reason.UNKNOWN, "loss is NaN"),
        ("p.set_status('timeout')", Outcome.TIMEOUT, Reason.DEADLINE, None),
        ("1 / 0", Outcome.FAILED, Reason.UNKNOWN, "ZeroDivisionError: division by zero"),
        ("raise TimeoutError('10 s')", Outcome.TIMEOUT, Reason.DEADLINE, "TimeoutError: 10 s"),
        ("raise KeyboardInterrupt", Outcome.ERROR, Reason.STOPPED, "KeyboardInterrupt"),
        ("sys.exit(0)", Outcome.SUCCESS, None, None),
        ("sys.exit(3)", Outcome.FAILED, Reason.UNKNOWN, "SystemExit: 3"),
        ("p.set_status('success'); 1 / 0", Outcome.FAILED, Reason.UNKNOWN,
         "ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_how_it_ended_is_told_by_the_program_or_by_its_exception(
    laptop: Laptop, body: str, outcome: Outcome, reason: Reason | None, message: str | None
) -> None:
    program(
        laptop,
        f"""
        try:
            with cepheid.profile("block") as p:
                {body}
        except BaseException as problem:
            print(type(problem).__name__)
        """,
    )
    profile = laptop.only()
    assert (profile.outcome, profile.reason, profile.message) == (outcome, reason, message)


def test_blocks_within_blocks_are_tasks_also_in_threads_and_across_await(laptop: Laptop) -> None:
    program(
        laptop,
        """
        import asyncio, contextvars, threading
        with cepheid.profile("flow") as flow:
            with cepheid.profile("load"):
                pass
            with cepheid.profile("train"):
                with cepheid.profile("epoch"):
                    pass

            def work(name):
                with cepheid.profile(name, parent=flow):
                    time.sleep(0.2)
            threads = [threading.Thread(target=work, args=(f"thread-{n}",)) for n in "ab"]
            [t.start() for t in threads]
            [t.join() for t in threads]

            @cepheid.profile
            async def evaluate():
                await asyncio.sleep(0.1)
                return 42

            async def both():
                async with cepheid.profile("gather"):
                    return await asyncio.gather(evaluate(), evaluate())
            assert asyncio.run(both()) == [42, 42]
        """,
    )
    found = by_name(laptop)
    flow = found["flow"].job.uid
    assert parent(found["flow"]) is None
    assert {parent(found[name]) for name in ("load", "train", "thread-a", "thread-b")} == {flow}
    assert parent(found["epoch"]) == found["train"].job.uid
    assert parent(found["gather"]) == flow
    assert parent(found["evaluate"]) == found["gather"].job.uid
    assert len(laptop.profiles()) == 9
    assert laptop.recordings() == []


def test_threads_that_begin_blocks_of_their_own_are_no_tasks_of_each_other(laptop: Laptop) -> None:
    program(
        laptop,
        """
        import threading
        ready = threading.Barrier(2)
        def work(name):
            with cepheid.profile(name):
                ready.wait()
        threads = [threading.Thread(target=work, args=(f"thread-{n}",)) for n in "ab"]
        [t.start() for t in threads]
        [t.join() for t in threads]
        """,
    )
    assert [parent(profile) for profile in laptop.profiles()] == [None, None]


def test_a_decorated_function_keeps_its_name_result_and_signature(laptop: Laptop) -> None:
    program(
        laptop,
        """
        import inspect
        @cepheid.profile(tags={"a": "b"})
        def add(one: int, two: int = 2) -> int:
            "Adds."
            return one + two
        assert add(1) + add(1, two=5) == 9
        assert (add.__name__, add.__doc__, str(inspect.signature(add))) == (
            "add", "Adds.", "(one: int, two: int = 2) -> int")
        """,
    )
    assert [profile.job.name for profile in laptop.profiles()] == ["add", "add"]


def test_a_fork_leaves_the_recording_to_its_parent(laptop: Laptop) -> None:
    program(
        laptop,
        """
        with cepheid.profile("outer", interval=0.05) as outer:
            time.sleep(0.2)
            pid = os.fork()
            if pid == 0:
                with cepheid.profile("child") as child:
                    time.sleep(0.2)
                assert child.parent == outer.uid
            else:
                assert os.waitpid(pid, 0)[1] == 0
        if pid == 0:
            assert outer.profile is None
            os._exit(0)
        print(outer.profile.samples)
        """,
    )
    found = by_name(laptop)
    assert found.keys() == {"outer", "child"}
    assert parent(found["child"]) == found["outer"].job.uid
    assert laptop.recordings() == []


def test_a_pool_of_forked_processes_works_within_a_block(laptop: Laptop) -> None:
    ran = program(
        laptop,
        """
        import multiprocessing
        def square(n):
            return n * n
        with cepheid.profile("pool", interval=0.02):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(sum(pool.map(square, range(1000))))
        """,
    )
    assert ran.stdout == "332833500\n"
    assert laptop.only().outcome is Outcome.SUCCESS


def test_a_block_in_a_profiled_command_is_its_task(laptop: Laptop) -> None:
    program(
        laptop,
        """
        with cepheid.profile("block"):
            pass
        """,
        COMMAND, "run", "--name", "command", "--",
    )  # fmt: skip
    found = by_name(laptop)
    assert parent(found["block"]) == found["command"].job.uid


def test_a_program_goes_on_where_nothing_can_be_kept(laptop: Laptop) -> None:
    (laptop.folder / "data").write_text("in the way")
    (laptop.folder / "state").write_text("in the way")
    ran = program(
        laptop,
        """
        with cepheid.profile("block") as run:
            print("worked")
        print(run.profile.outcome)
        """,
    )
    assert ran.stdout == "worked\nsuccess\n"


def test_what_cannot_be_is_refused_where_it_stands(laptop: Laptop) -> None:
    program(
        laptop,
        """
        from cepheid.errors import UsageError
        def refused(call):
            try:
                call()
            except UsageError as problem:
                assert problem.hint
            else:
                raise AssertionError("it was taken")
        refused(lambda: cepheid.profile("x", interval=0))
        refused(lambda: cepheid.profile("x", granularity="fine"))
        def generator():
            yield 1
        refused(lambda: cepheid.profile(generator))
        with cepheid.profile("x") as run:
            refused(lambda: run.set_status("fine"))
        """,
    )


def test_nothing_was_run_yet_so_there_is_no_last_one(laptop: Laptop) -> None:
    program(laptop, "assert cepheid.last() is None")


def test_the_last_one_is_the_newest_run_where_this_process_has_none(laptop: Laptop) -> None:
    laptop.run("--name", "earlier", "true")
    assert program(laptop, "print(cepheid.last().job.name)").stdout == "earlier\n"


def test_importing_the_package_loads_next_to_nothing(tmp_path: Path) -> None:
    show = "import sys, cepheid; print(*sorted(m for m in sys.modules if m.startswith('cepheid')))"
    ran = subprocess.run(
        [sys.executable, "-c", show], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert ran.stdout == "cepheid\n"
