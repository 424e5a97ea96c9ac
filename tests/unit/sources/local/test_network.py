import shutil
from pathlib import Path

from cepheid.sources.local.files import Roots
from cepheid.sources.local.network import NetworkTraffic, counted_on, interfaces

from .recorded import link, roots, write

HEAD = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop"""


def devices(**counted: tuple[int, int]) -> str:
    lines = [
        f"{name:>6}: {into} 1 0 0 0 0 0 0 {out} 1 0 0 0 0 0 0"
        for name, (into, out) in counted.items()
    ]
    return "\n".join([HEAD, *lines])


def namespace(folder: Path, who: str, number: int, **counted: tuple[int, int]) -> None:
    write(folder, {f"proc/{who}/net/dev": devices(**counted)})
    link(folder, {f"proc/{who}/ns/net": f"net:[{number}]"})


def test_only_what_came_since_the_start_counts_and_lo_never_does(tmp_path: Path) -> None:
    namespace(tmp_path, "self", 1, lo=(5, 5), eth0=(1000, 200))
    traffic = NetworkTraffic(None, roots(tmp_path))
    assert traffic.read() == (0, 0)
    namespace(tmp_path, "self", 1, lo=(900, 900), eth0=(1500, 230))
    assert traffic.read() == (500, 30)


def test_an_interface_that_comes_and_goes_loses_nothing(tmp_path: Path) -> None:
    namespace(tmp_path, "self", 1, eth0=(1000, 0), usb0=(400, 0))
    traffic = NetworkTraffic(None, roots(tmp_path))
    namespace(tmp_path, "self", 1, eth0=(1100, 0))
    assert traffic.read() == (100, 0)
    namespace(tmp_path, "self", 1, eth0=(1100, 0), wlan0=(50, 0))
    assert traffic.read() == (150, 0)


def test_a_counter_that_begins_anew_counts_from_nothing(tmp_path: Path) -> None:
    namespace(tmp_path, "self", 1, eth0=(1000, 1000))
    traffic = NetworkTraffic(None, roots(tmp_path))
    namespace(tmp_path, "self", 1, eth0=(30, 1010))
    assert traffic.read() == (30, 10)


def test_it_is_the_namespace_of_the_command(tmp_path: Path) -> None:
    namespace(tmp_path, "self", 1, eth0=(1000, 0))
    namespace(tmp_path, "7", 2, eth0=(10, 0))
    traffic = NetworkTraffic(7, roots(tmp_path))
    namespace(tmp_path, "7", 2, eth0=(15, 0))
    assert traffic.read() == (5, 0)


def test_a_command_that_enters_another_namespace_is_followed(tmp_path: Path) -> None:
    namespace(tmp_path, "self", 1, eth0=(1000, 0))
    namespace(tmp_path, "7", 1, eth0=(1000, 0))
    traffic = NetworkTraffic(7, roots(tmp_path))
    namespace(tmp_path, "7", 2, eth0=(999_999, 0))
    assert traffic.read() == (0, 0)
    namespace(tmp_path, "7", 2, eth0=(1_000_004, 0))
    assert traffic.read() == (5, 0)


def test_when_the_command_has_ended_its_namespaces_figures_stay(tmp_path: Path) -> None:
    namespace(tmp_path, "self", 1, eth0=(1000, 0))
    namespace(tmp_path, "7", 2, eth0=(10, 0))
    traffic = NetworkTraffic(7, roots(tmp_path))
    namespace(tmp_path, "7", 2, eth0=(15, 0))
    traffic.read()
    shutil.rmtree(tmp_path / "proc/7")
    for received in (9000, 9999):
        namespace(tmp_path, "self", 1, eth0=(received, 0))
        assert traffic.read() == (5, 0)


def test_when_it_shared_ours_counting_goes_on(tmp_path: Path) -> None:
    namespace(tmp_path, "self", 1, eth0=(1000, 0))
    namespace(tmp_path, "7", 1, eth0=(1000, 0))
    traffic = NetworkTraffic(7, roots(tmp_path))
    shutil.rmtree(tmp_path / "proc/7")
    namespace(tmp_path, "self", 1, eth0=(1200, 0))
    assert traffic.read() == (200, 0)


def test_what_only_passes_traffic_on_is_not_counted_twice() -> None:
    found = dict.fromkeys(("lo", "eth0", "docker0", "veth1a2b", "eth0.7", "wg0"), (1.0, 1.0))
    assert set(counted_on(found)) == {"eth0"}


def test_where_nothing_else_is_that_is_what_counts() -> None:
    assert set(counted_on({"lo": (1.0, 1.0), "tap0": (1.0, 1.0)})) == {"tap0"}


def test_broken_lines_are_left_out() -> None:
    text = f"{HEAD}\n eth0: 1 2\nnonsense\n a:b: 7 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0\n"
    assert interfaces(text.encode()) == {"a:b": (7.0, 8.0)}


def test_where_there_is_no_proc_the_figures_are_psutils(tmp_path: Path) -> None:
    received, sent = NetworkTraffic(None, roots(tmp_path)).read()
    assert received >= 0
    assert sent >= 0


def test_this_machine_can_be_read() -> None:
    received, sent = NetworkTraffic(None, Roots()).read()
    assert received >= 0
    assert sent >= 0
