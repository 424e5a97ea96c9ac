import os
from pathlib import Path

import pytest

from cepheid.errors import SourceError
from cepheid.sources.local.files import Roots, read_bytes
from cepheid.sources.local.machine import SystemCpu, core_count, host_name, memory_bytes

from .recorded import roots, write

TICKS = os.sysconf("SC_CLK_TCK")


def test_idle_waiting_and_stolen_time_is_not_used_and_a_guests_counts_once(tmp_path: Path) -> None:
    # user nice system idle iowait irq softirq steal guest guest_nice
    write(tmp_path, {"proc/stat": "cpu  100 20 30 9000 800 4 6 7000 60 5\ncpu0 1 1 1 1 1 1 1 1 1"})
    assert SystemCpu(roots(tmp_path)).read() == (160 / TICKS,)


def test_a_file_that_is_something_else_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"proc/stat": "nonsense"})
    with pytest.raises(SourceError, match="proc/stat"):
        SystemCpu(roots(tmp_path)).read()


def test_where_there_is_no_proc_the_figures_are_psutils(tmp_path: Path) -> None:
    here, elsewhere = SystemCpu(Roots()).read()[0], SystemCpu(roots(tmp_path)).read()[0]
    assert elsewhere == pytest.approx(here, rel=0.2)


def test_memory_is_that_of_the_machine(tmp_path: Path) -> None:
    write(tmp_path, {"proc/meminfo": "MemTotal:       2048 kB\nMemFree: 5 kB"})
    assert memory_bytes(roots(tmp_path)) == 2048 * 1024
    assert memory_bytes(roots(tmp_path / "no")) == pytest.approx(memory_bytes(Roots()), rel=0.05)


def test_a_machine_has_a_name_and_cores() -> None:
    assert host_name()
    assert core_count() >= 1


def test_a_file_that_the_kernel_hands_out_line_by_line_is_read_whole() -> None:
    last = Path("/proc/self/maps").read_bytes().splitlines()[-1]
    read = read_bytes("/proc/self/maps")
    assert len(read) > 4096
    assert read.splitlines()[-1] == last


def test_a_file_larger_than_a_page_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 200_000)
    assert len(read_bytes(str(tmp_path / "large"))) == 200_000
