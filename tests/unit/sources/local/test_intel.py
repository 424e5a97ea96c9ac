import math
from pathlib import Path

import pytest

from cepheid.sources.local.intel import Intel, intel_gpus
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.procfs import ProcFs

from .recorded import link, process, roots, write

GIB = 2**30
ARC = "0000:03:00.0"
IN_PROCESSOR = "0000:00:02.0"


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def a_card(folder: Path, address: str, slept: str, **more: str | int) -> None:
    files: dict[str, str | int] = {
        "vendor": "0x8086",
        "device": "0x56a0",
        "hwmon/hwmon2/energy1_input": 7_000_000,
        "hwmon/hwmon2/power1_max": 190_000_000,
    }
    link(folder, {"sys/class/drm/card0/device": f"../../../devices/{address}"})
    write(folder / f"sys/devices/{address}", files | more)
    write(folder / "sys/class/drm/card0", {slept: 1000})


def made(folder: Path, clock: Clock) -> Intel:
    process(folder, 10)
    tree = Tree([10], source=ProcFs(f"{folder}/proc", live=False))
    tree.read()
    found = intel_gpus(tree, roots(folder), 0, clock)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "slept",
    [
        "gt/gt0/rc6_residency_ms",
        "device/tile0/gt0/gtidle/idle_residency_ms",
        "power/rc6_residency_ms",
    ],
)
def test_what_it_did_not_sleep_it_was_busy(tmp_path: Path, slept: str) -> None:
    a_card(tmp_path, ARC, slept)
    clock = Clock()
    gpus = made(tmp_path, clock)
    clock.seconds += 0.5
    write(tmp_path / "sys/class/drm/card0", {slept: 1100})
    assert gpus.read()[0].gpu_util_percent == pytest.approx(80)
    clock.seconds += 0.5
    write(tmp_path / "sys/class/drm/card0", {slept: 1601})
    assert gpus.read()[0].gpu_util_percent == 0


def test_a_counter_that_begins_anew_is_a_gap_of_one_sample(tmp_path: Path) -> None:
    slept = "gt/gt0/rc6_residency_ms"
    a_card(tmp_path, ARC, slept)
    clock = Clock()
    gpus = made(tmp_path, clock)
    clock.seconds += 1
    write(tmp_path / "sys/class/drm/card0", {slept: 10})
    assert math.isnan(gpus.read()[0].gpu_util_percent)
    clock.seconds += 1
    write(tmp_path / "sys/class/drm/card0", {slept: 510})
    assert gpus.read()[0].gpu_util_percent == pytest.approx(50)


def test_energy_limit_and_memory_are_read_in_our_units(tmp_path: Path) -> None:
    a_card(tmp_path, ARC, "gt/gt0/rc6_residency_ms")
    write(
        tmp_path / "sys/class/drm/card0",
        {"lmem_total_bytes": 16 * GIB, "lmem_avail_bytes": 12 * GIB},
    )
    client = f"drm-driver:\ti915\ndrm-pdev:\t{ARC}\ndrm-client-id:\t9\n"
    memory = "drm-total-local0:\t8 GiB\ndrm-resident-local0:\t3 GiB\ndrm-resident-system0:\t1 GiB"
    write(tmp_path / "proc/10/fdinfo", {"3": client + memory})
    link(tmp_path / "proc/10/fd", {"3": "/dev/dri/renderD128"})
    gpus = made(tmp_path, Clock())
    (reading,) = gpus.read()
    assert reading.gpu_energy_joules == pytest.approx(7)
    assert reading.gpu_memory_used_mib == 4 * 1024
    assert reading.gpu_tree_memory_mib == 3 * 1024
    assert gpus.gpus[0].power_limit_watts == pytest.approx(190)
    assert gpus.gpus[0].memory_total_mib == 16 * 1024
    assert not gpus.gpus[0].integrated


def test_graphics_of_the_processor_are_marked(tmp_path: Path) -> None:
    a_card(tmp_path, IN_PROCESSOR, "gt/gt0/rc6_residency_ms")
    gpus = made(tmp_path, Clock())
    assert gpus.gpus[0].integrated
    assert gpus.gpus[0].memory_total_mib is None
    assert math.isnan(gpus.read()[0].gpu_memory_used_mib)


def test_a_card_that_sleeps_is_not_woken(tmp_path: Path) -> None:
    a_card(tmp_path, ARC, "gt/gt0/rc6_residency_ms", **{"power/runtime_status": "suspended"})
    (reading,) = made(tmp_path, Clock()).read()
    assert reading.gpu_util_percent == 0
    assert math.isnan(reading.gpu_energy_joules)
