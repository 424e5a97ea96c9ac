"""The device's file: exact integrals, memory that dies with its owner, bytes not to be trusted."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simgpu import device_file
from tests.simgpu.activity import IDLE, Activity
from tests.simgpu.device_file import SLOT_BYTES, SLOTS, Client, Record, read_slot, unpack
from tests.simgpu.errors import SimgpuError

BUSY = Activity(engine=1.0, tensor=0.5, dram=0.25, pcie_tx=1e9)


@pytest.fixture
def device(tmp_path: Path) -> Path:
    path = tmp_path / "GPU-1"
    device_file.create(path)
    return path


@given(
    st.lists(st.tuples(st.floats(0.001, 100), st.floats(0, 1)), min_size=1, max_size=20),
    st.floats(0, 1),
)
def test_integral_is_exact_at_any_instant(
    tmp_path_factory: pytest.TempPathFactory, phases: list[tuple[float, float]], where: float
) -> None:
    path = tmp_path_factory.mktemp("device") / "GPU-1"
    device_file.create(path)
    client = Client(path, "pod", now=10.0)
    now, expected = 10.0, 0.0
    for seconds, level in phases:
        client.announce(Activity(engine=level), 0, now, now + seconds)
        inside = device_file.read(path, now + where * seconds).integral.engine
        assert inside == pytest.approx(expected + level * where * seconds)
        now, expected = now + seconds, expected + level * seconds
    assert device_file.read(path, now + 1000).integral.engine == pytest.approx(expected)
    client.close(now)


def test_nothing_runs_on_after_what_was_announced(device: Path) -> None:
    client = Client(device, "pod", now=0.0)
    client.announce(BUSY, 100, now=0.0, until=2.0)
    assert device_file.read(device, 2.0) == device_file.read(device, 2.0)
    assert device_file.read(device, 50.0).integral == BUSY.times(2.0)


def test_clients_of_a_shared_device_add_up(device: Path) -> None:
    clients = [Client(device, f"pod-{n}", now=0.0) for n in range(3)]
    for client in clients:
        client.announce(BUSY, 1000, now=0.0, until=1.0)
    reading = device_file.read(device, 1.0)
    assert reading.memory_mib == 3000
    assert reading.integral == BUSY.times(3.0)
    assert reading.of("pod-1").memory_mib == 1000
    assert clients[0].busy_neighbours(0.5) == 2
    assert clients[0].neighbours_memory_mib(0.5) == 2000


def test_owner_is_found_by_a_pod_name_longer_than_a_host_name(device: Path) -> None:
    pod = "p" * 100
    client = Client(device, pod[:63], now=0.0)
    client.announce(IDLE, 7, now=0.0, until=1.0)
    assert device_file.read(device, 1.0).of(pod).memory_mib == 7


CLIENT_THAT_HANGS = """
import sys, time
from pathlib import Path
from tests.simgpu.activity import Activity
from tests.simgpu.device_file import Client
client = Client(Path(sys.argv[1]), "victim", now=0.0)
client.announce(Activity(engine=1.0), 4096, now=0.0, until=5.0)
print("ready", flush=True)
time.sleep(600)
"""


def test_kill_minus_9_frees_the_memory_and_keeps_the_counters(device: Path) -> None:
    command = [sys.executable, "-c", CLIENT_THAT_HANGS, str(device)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"ready\n"
        alive = device_file.read(device, 3.0)
        assert (alive.memory_mib, alive.integral.engine) == (4096, 3.0)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    dead = device_file.read(device, 3.0)
    assert (dead.memory_mib, dead.integral.engine) == (0, 3.0)
    heir = Client(device, "heir", now=4.0)
    assert device_file.read(device, 4.0).integral.engine == 5.0
    heir.announce(Activity(engine=1.0), 1, now=6.0, until=7.0)
    assert device_file.read(device, 7.0).integral.engine == 6.0


def test_a_closed_client_leaves_its_slot_to_the_next(device: Path) -> None:
    for turn in range(SLOTS + 1):
        client = Client(device, "pod", now=float(turn))
        client.announce(BUSY, 10, now=float(turn), until=turn + 1.0)
        client.close(turn + 1.0)
    reading = device_file.read(device, 1000.0)
    assert len(reading.clients) == 1
    assert reading.integral.engine == SLOTS + 1
    assert reading.memory_mib == 0


def test_a_full_device_says_so(device: Path) -> None:
    clients = [Client(device, "pod", now=0.0) for _ in range(SLOTS)]
    with pytest.raises(SimgpuError, match="64 clients already"):
        Client(device, "one too many", now=0.0)
    for client in clients:
        client.close(0.0)


def test_a_torn_read_is_read_again() -> None:
    old = Record("pod", 0.0, 1.0, 1.0, IDLE, IDLE)
    new = Record("pod", 1.0, 2.0, 9.0, BUSY, BUSY)
    torn = new.pack()[:100] + old.pack()[100:]
    fetched = iter([torn, torn, new.pack()])
    assert read_slot(lambda: next(fetched)) == new


def test_a_slot_that_stays_broken_counts_as_nothing() -> None:
    broken = Record("pod", 0.0, 1.0, 1.0, IDLE, IDLE).pack()[:150].ljust(SLOT_BYTES, b"x")
    assert read_slot(lambda: broken) is None


@pytest.mark.parametrize(
    "lie",
    [
        Record("pod", 0.0, 1.0, 1.0, Activity(engine=2.0), IDLE),
        Record("pod", 0.0, 1.0, -1.0, IDLE, IDLE),
        Record("pod", 0.0, float("inf"), 1.0, IDLE, IDLE),
        Record("pod", 0.0, 1.0, float("nan"), IDLE, IDLE),
        Record("pod", 0.0, 1.0, 1.0, IDLE, Activity(tensor=-5.0)),
        Record("pod", 0.0, 1.0, 1.0, IDLE, Activity(pcie_rx=1e300)),
    ],
)
def test_a_record_that_no_device_could_make_is_refused(lie: Record) -> None:
    assert unpack(lie.pack()) is None


@given(st.binary(max_size=3 * SLOT_BYTES))
def test_no_bytes_break_the_reader(
    tmp_path_factory: pytest.TempPathFactory, garbage: bytes
) -> None:
    path = tmp_path_factory.mktemp("device") / "GPU-1"
    path.write_bytes(garbage)
    assert device_file.read(path, 1.0).memory_mib == 0


@given(st.integers(0, SLOT_BYTES - 1), st.integers(0, 255))
def test_a_changed_byte_is_either_noticed_or_padding(position: int, value: int) -> None:
    record = Record("pod", 0.0, 1.0, 1.0, BUSY, BUSY)
    data = bytearray(record.pack())
    data[position] = value
    assert unpack(bytes(data)) in (record, None)


def test_making_a_device_again_keeps_what_it_counted_and_any_user_may_write_it(
    device: Path,
) -> None:
    client = Client(device, "pod", now=0.0)
    client.announce(BUSY, 1, now=0.0, until=1.0)
    device_file.create(device)
    assert device_file.read(device, 1.0).integral == BUSY
    assert device.stat().st_mode & 0o777 == 0o666
