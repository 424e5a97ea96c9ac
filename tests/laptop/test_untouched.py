"""A command notices nothing of `cepheid run`: its input, output, files, signals, terminal, end."""

import os
import pty
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cepheid.jobprofile import Outcome, Reason
from tests.laptop.stand import COMMAND, Laptop

PYTHON = (sys.executable, "-c")


def wait_for(path: Path) -> str:
    """What a command of ours wrote to tell that it is there."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return text.strip()
        time.sleep(0.02)
    raise AssertionError(f"{path} was not written")


@pytest.mark.parametrize("code", [0, 1, 3, 124, 255])
def test_the_exit_code_is_the_commands(laptop: Laptop, code: int) -> None:
    ran = laptop.run("--", "sh", "-c", f"exit {code}")
    assert ran.returncode == code
    profile = laptop.only()
    assert profile.exit_code == code
    assert profile.outcome is (Outcome.FAILED if code else Outcome.SUCCESS)
    assert profile.reason is (Reason.EXIT_CODE if code else None)


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        (signal.SIGSEGV, Outcome.FAILED),
        (signal.SIGABRT, Outcome.FAILED),
        (signal.SIGTERM, Outcome.ERROR),
        (signal.SIGINT, Outcome.ERROR),
        (signal.SIGKILL, Outcome.ERROR),
    ],
)
def test_what_a_signal_killed_ends_us_by_the_same(
    laptop: Laptop, number: signal.Signals, outcome: Outcome
) -> None:
    ran = laptop.run("--", "sh", "-c", f"kill -{number.value} $$", cwd=laptop.folder)
    assert ran.returncode == -number
    profile = laptop.only()
    assert (profile.outcome, profile.reason) == (outcome, Reason.SIGNAL)
    assert profile.message == f"ended by {number.name}"
    assert not list(laptop.folder.glob("core*"))


def test_stdin_and_stdout_pass_untouched_and_stderr_is_only_added_to(laptop: Laptop) -> None:
    data = "".join(f"line {n} \udcff\n" for n in range(50_000)).encode(errors="surrogateescape")
    ran = subprocess.run(
        [COMMAND, "run", "--", "sh", "-c", "cat; echo its own >&2"],
        input=data,
        env=laptop.environment,
        capture_output=True,
        check=True,
    )
    assert ran.stdout == data
    first, *ours = ran.stderr.decode().splitlines()
    assert first == "its own"
    assert ours
    assert all(line.startswith("cepheid: ") for line in ours)


def test_quiet_says_nothing(laptop: Laptop) -> None:
    assert laptop.run("--quiet", "true").stderr == ""
    assert laptop.only().job.name == "true"


def test_a_command_needs_no_dashes_and_keeps_its_own_options(laptop: Laptop) -> None:
    ran = laptop.run("--name", "x", "echo", "--name", "y", "--", "-z")
    assert ran.stdout == "--name y -- -z\n"


def test_open_files_are_passed_on(laptop: Laptop) -> None:
    read, write = os.pipe()
    laptop.run("--", "sh", "-c", f"echo through > /dev/fd/{write}", pass_fds=(write,))
    os.close(write)
    assert os.read(read, 100) == b"through\n"
    os.close(read)


@pytest.mark.parametrize("ignored", [(), (signal.SIGINT, signal.SIGHUP)])
def test_masks_and_handlers_are_those_that_we_were_started_with(
    laptop: Laptop, ignored: tuple[signal.Signals, ...]
) -> None:
    show = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"
    hush = f"trap '' {' '.join(one.name[3:] for one in ignored)}; " if ignored else ""
    alone = subprocess.run(["sh", "-c", hush + show], check=True, capture_output=True, text=True)
    ran = subprocess.run(
        ["sh", "-c", f'{hush} exec "$@"', "-", COMMAND, "run", "--", "sh", "-c", show],
        env=laptop.environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert _signals(ran.stdout) == _signals(alone.stdout)


def _signals(status: str) -> dict[str, int]:
    """Without 32 and 33, which are the C library's own: its posix_spawn has them ignored."""
    pairs = (line.split() for line in status.splitlines())
    return {name: int(bits, 16) & ~(3 << 31) for name, bits in pairs}


def test_it_runs_where_and_with_what_it_would_have(laptop: Laptop) -> None:
    folder = laptop.folder / "a folder"
    folder.mkdir()
    ran = laptop.run("--", "sh", "-c", "pwd; env | grep -v ^_ | sort", cwd=folder)
    where, *variables = ran.stdout.splitlines()
    assert where == str(folder)
    ours = [line for line in variables if line.startswith("CEPHEID_PARENT=")]
    assert ours == [f"CEPHEID_PARENT={laptop.only().job.uid}"]


HANDLER = """
import pathlib, signal, sys, time
seen = []
for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda n, _: seen.append(n))
path = pathlib.Path(sys.argv[1])
path.write_text("ready\\n")
end = time.monotonic() + 60
while not seen and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.5)
print("seen", *seen)
sys.exit(7)
"""


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP], ids=lambda n: n.name
)
def test_a_signal_to_us_alone_reaches_the_command_once(
    laptop: Laptop, number: signal.Signals
) -> None:
    ready = laptop.folder / "ready"
    with laptop.popen("run", "--", *PYTHON, HANDLER, ready) as running:
        wait_for(ready)
        running.send_signal(number)
        out, _ = running.communicate(timeout=60)
    assert (out, running.returncode) == (f"seen {number.value}\n", 7)
    assert laptop.only().exit_code == 7


def in_a_terminal(laptop: Laptop, *command: str) -> tuple[int, int]:
    """The pid of a session's leader in a terminal of its own, and our end of that."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, laptop.environment)  # noqa: S606
    return pid, terminal


def all_of(terminal: int) -> str:
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # the last one to have it open is gone
        pass
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n")


def test_ctrl_c_in_a_terminal_reaches_the_command_once_and_the_run_is_kept(laptop: Laptop) -> None:
    ready = laptop.folder / "ready"
    pid, terminal = in_a_terminal(laptop, str(COMMAND), "run", "--", *PYTHON, HANDLER, str(ready))
    wait_for(ready)
    os.write(terminal, b"\x03")
    shown = all_of(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert f"seen {signal.SIGINT.value}\n" in shown
    assert "cepheid: python failed with exit code 7" in shown
    assert laptop.only().exit_code == 7


def test_ctrl_c_that_kills_the_command_is_what_ends_us(laptop: Laptop) -> None:
    ready = laptop.folder / "ready"
    pid, terminal = in_a_terminal(
        laptop, str(COMMAND), "run", "--", "sh", "-c", f"echo ready > '{ready}'; exec sleep 60"
    )
    wait_for(ready)
    os.write(terminal, b"\x03")
    shown = all_of(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGINT
    assert "ended by SIGINT" in shown
    assert (laptop.only().outcome, laptop.only().reason) == (Outcome.ERROR, Reason.SIGNAL)


def test_ctrl_z_stops_both_and_fg_lets_them_go_on(laptop: Laptop) -> None:
    ready, go = laptop.folder / "ready", laptop.folder / "go"
    waits = f"until [ -e '{go}' ]; do sleep 0.05; done"
    shell = f'set -m; "$@"; echo "stopped with $?"; {waits}; fg >/dev/null'
    ours = [str(COMMAND), "run", "--", "sh", "-c", f"echo $$ $PPID > '{ready}'; {waits}; exit 6"]
    pid, terminal = in_a_terminal(laptop, "bash", "-c", shell, "bash", *ours)
    both = wait_for(ready).split()
    os.write(terminal, b"\x1a")
    end = time.monotonic() + 60
    while not all(_is_stopped(one) for one in both):
        assert time.monotonic() < end, "not stopped"
        time.sleep(0.02)
    go.touch()
    shown = all_of(terminal)
    _, status = os.waitpid(pid, 0)
    assert f"stopped with {128 + signal.SIGTSTP}" in shown
    assert "cepheid: sh failed with exit code 6" in shown
    assert os.waitstatus_to_exitcode(status) == 6
    assert laptop.only().exit_code == 6


def _is_stopped(pid: str) -> bool:
    return "T (stopped)" in Path(f"/proc/{pid}/status").read_text()


def test_the_terminal_is_the_commands(laptop: Laptop) -> None:
    show = "import os; print(*(os.isatty(n) for n in range(3)), os.tcgetpgrp(0) == os.getpgrp())"
    pid, terminal = in_a_terminal(laptop, str(COMMAND), "run", "--quiet", "--", *PYTHON, show)
    shown = all_of(terminal)
    os.waitpid(pid, 0)
    assert shown == "True True True True\n"


def test_a_timeout_ends_the_whole_tree_also_one_that_ignores_sigterm(laptop: Laptop) -> None:
    stubborn = "trap '' TERM; while :; do sleep 1000; done"
    ran = laptop.run("--timeout", "1", "--", "sh", "-c", stubborn)
    assert ran.returncode == 124
    profile = laptop.only()
    assert (profile.outcome, profile.reason) == (Outcome.TIMEOUT, Reason.DEADLINE)
    assert profile.verdict is not None
    assert profile.verdict.startswith("stopped by its timeout")
    assert profile.process is not None
    assert profile.process.left_running == 0


def test_a_timeout_lets_a_program_that_heeds_sigterm_clean_up(laptop: Laptop) -> None:
    done = laptop.folder / "done"
    polite = f"trap 'echo bye > {done}; exit 0' TERM; sleep 30 & wait"
    ran = laptop.run("--timeout", "2", "--", "sh", "-c", polite)
    assert ran.returncode == 124
    assert done.read_text() == "bye\n"


def test_daemons_left_behind_are_counted_and_neither_waited_for_nor_harmed(laptop: Laptop) -> None:
    pid_file = laptop.folder / "pid"
    daemon = f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 600' >/dev/null 2>&1 </dev/null &"
    ran = laptop.run("--", "sh", "-c", f"{daemon} sleep 0.5; exit 4")
    pid = int(wait_for(pid_file))
    try:
        assert ran.returncode == 4
        assert "1 process of it still runs" in ran.stderr
        process = laptop.only().process
        assert process is not None
        assert process.left_running == 1
        os.kill(pid, 0)
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def script(laptop: Laptop) -> Path:
    path = laptop.folder / "script"
    path.write_text("echo ran $1\n")
    return path


def test_a_command_that_does_not_exist_is_told_and_recorded(laptop: Laptop) -> None:
    ran = laptop.run("--", "no-such-program", "-x")
    assert ran.returncode == 127
    error, hint = ran.stderr.splitlines()
    assert error == "error: no command 'no-such-program' was found"
    assert hint.startswith("hint: ")
    profile = laptop.only()
    assert (profile.outcome, profile.reason) == (Outcome.ERROR, Reason.COMMAND)
    assert profile.exit_code == 127


def test_a_file_that_is_not_executable_is_told_with_what_to_do(
    laptop: Laptop, script: Path
) -> None:
    ran = laptop.run("--", script)
    assert ran.returncode == 126
    assert "is not executable\nhint: chmod +x it" in ran.stderr
    assert laptop.only().reason is Reason.COMMAND


def test_a_script_without_a_first_line_runs_as_in_a_shell(laptop: Laptop, script: Path) -> None:
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    assert laptop.run("--", script, "well").stdout == "ran well\n"


def test_a_script_whose_interpreter_is_missing_is_told_apart(laptop: Laptop, script: Path) -> None:
    script.write_text("#!/no/such/shell\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    ran = laptop.run("--", script)
    assert ran.returncode == 126
    assert "names an interpreter that does not exist" in ran.stderr


def test_without_a_profile_nothing_is_kept_and_nothing_is_said(laptop: Laptop) -> None:
    ran = laptop.run("--no-profile", "--", "sh", "-c", "echo x; exit 5")
    assert (ran.returncode, ran.stdout, ran.stderr) == (5, "x\n", "")
    assert laptop.run("--no-profile", "--", "no-such-program").returncode == 127
    assert not laptop.history_path.exists()
    assert not laptop.state.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--"],
        ["--interval", "soon", "true"],
        ["--interval", "0.001", "true"],
        ["--timeout", "-1", "true"],
        ["--tag", "model", "true"],
        ["--granularity", "fine", "true"],
        ["--without", "gravity", "true"],
        ["--nonsense", "true"],
    ],
    ids=" ".join,
)
def test_wrong_use_exits_2_with_a_hint_and_starts_nothing(
    laptop: Laptop, arguments: list[str]
) -> None:
    ran = laptop.run(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    error, hint = ran.stderr.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert not laptop.history_path.exists()


def test_a_collector_can_be_left_out(laptop: Laptop) -> None:
    laptop.run("--without", "io", "--without", "uss", "--", "sleep", "0.3")
    process = laptop.only().process
    assert process is not None
    assert process.uss_bytes is None
    assert process.rss_bytes is not None


def test_threads_are_told_apart_where_that_is_asked_for(laptop: Laptop) -> None:
    program = (
        "import threading, time, ctypes\n"
        "end = time.process_time() + 1\n"
        "def work():\n"
        "    ctypes.CDLL(None).prctl(15, b'worker', 0, 0, 0)\n"
        "    while time.process_time() < end: pass\n"
        "t = threading.Thread(target=work); t.start(); t.join(); time.sleep(0.3)\n"
    )
    laptop.run("--per-thread", "--interval", "0.1", "--", *PYTHON, program)
    process = laptop.only().process
    assert process is not None
    seen = {thread.name: thread.cpu_seconds for thread in process.busiest_threads}
    assert seen["worker"] == pytest.approx(1.0, rel=0.25)


def test_names_tags_and_a_run_within_a_run_are_kept(laptop: Laptop) -> None:
    laptop.run(
        "--name", "out\x1b[31mer", "--tag", "model=bert", "--",
        COMMAND, "run", "--quiet", "--name", "inner", "true",
    )  # fmt: skip
    outer, inner = sorted(laptop.profiles(), key=lambda one: one.job.name == "inner")
    assert outer.job.name == "out [31mer"
    assert outer.labels == {"model": "bert"}
    assert inner.process is not None
    assert inner.process.parent == outer.job.uid
