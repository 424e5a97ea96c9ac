import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cepheid.errors import SourceError
from cepheid.sources.local.energy import cpu_energy

from .programs import nobody
from .recorded import roots, write

RANGE = 262_143_328_850  # of a Xeon


def two_packages(folder: Path, *, first: int, second: int, memory: int) -> None:
    write(
        folder / "sys/class/powercap",
        {
            "intel-rapl:0/name": "package-0",
            "intel-rapl:0/energy_uj": first,
            "intel-rapl:0/max_energy_range_uj": RANGE,
            "intel-rapl:0:0/name": "core",
            "intel-rapl:0:0/energy_uj": first // 2,
            "intel-rapl:0:1/name": "dram",
            "intel-rapl:0:1/energy_uj": memory,
            "intel-rapl:0:1/max_energy_range_uj": 65_712_999_613,
            "intel-rapl:1/name": "package-1",
            "intel-rapl:1/energy_uj": second,
            "intel-rapl:1/max_energy_range_uj": RANGE,
            "intel-rapl:2/name": "psys",
            "intel-rapl:2/energy_uj": 10 * (first + second),
            "intel-rapl-mmio:0/name": "package-0",
            "intel-rapl-mmio:0/energy_uj": first,
            "dtpm/name": "dtpm",
        },
    )


def test_packages_and_memory_are_added_up_once(tmp_path: Path) -> None:
    two_packages(tmp_path, first=1_000_000, second=2_000_000, memory=0)
    energy = cpu_energy(roots(tmp_path))
    assert energy is not None
    assert list(energy.read()) == [0.0]
    two_packages(tmp_path, first=4_000_000, second=7_000_000, memory=500_000)
    assert list(energy.read()) == [pytest.approx(3 + 5 + 0.5)]


def test_a_counter_that_begins_anew_loses_nothing(tmp_path: Path) -> None:
    two_packages(tmp_path, first=RANGE - 1_000_000, second=0, memory=0)
    energy = cpu_energy(roots(tmp_path))
    assert energy is not None
    two_packages(tmp_path, first=2_000_000, second=0, memory=0)
    assert list(energy.read()) == [pytest.approx(3.0)]


def test_a_machine_without_counters_has_none(tmp_path: Path) -> None:
    assert cpu_energy(roots(tmp_path)) is None


def test_counters_that_only_root_may_read_are_named_with_what_to_do() -> None:
    with readable_by_all() as folder:
        two_packages(folder, first=1, second=1, memory=1)
        (folder / "sys/class/powercap/intel-rapl:1/energy_uj").chmod(
            0o400 if os.geteuid() == 0 else 0
        )
        with nobody(), pytest.raises(SourceError, match="root alone") as caught:
            cpu_energy(roots(folder))
        assert "chmod a+r" in str(caught.value)


@contextmanager
def readable_by_all() -> Iterator[Path]:
    """pytest's own folders are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
