import math
from pathlib import Path

import pytest

from cepheid.sources.local.amd import amd_gpus
from cepheid.sources.local.facts import GpuFacts
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.procfs import ProcFs
from cepheid.sources.local.seldom import Seldom

from .recorded import link, process, roots, write

GIB = 2**30
MI210 = "0000:03:00.0"

Files = dict[str, str | int | float]


def a_card(folder: Path, number: int = 0, address: str = MI210, more: Files | None = None) -> None:
    files: Files = {
        "vendor": "0x1002",
        "device": "0x740f",
        "product_name": "AMD Instinct MI210",
        "unique_id": "1a2b3c",
        "gpu_busy_percent": 88,
        "mem_busy_percent": 12,
        "mem_info_vram_total": 64 * GIB,
        "mem_info_vram_used": 8 * GIB,
        "hwmon/hwmon3/power1_average": 250_000_000,
        "hwmon/hwmon3/power1_cap": 300_000_000,
        "hwmon/hwmon3/energy1_input": 5_000_000,
    }
    write(folder / f"sys/devices/{address}", files | (more or {}))
    link(folder, {f"sys/class/drm/card{number}/device": f"../../../devices/{address}"})


def a_tree(folder: Path) -> Tree:
    process(folder, 10)
    tree = Tree([10], source=ProcFs(f"{folder}/proc", live=False))
    tree.read()
    return tree


def test_a_card_is_read_in_our_units(tmp_path: Path) -> None:
    a_card(tmp_path)
    gpus = amd_gpus(a_tree(tmp_path), roots(tmp_path), 0)
    assert gpus is not None
    (reading,) = gpus.read()
    assert reading.gpu_util_percent == 88
    assert reading.mem_copy_util_percent == 12
    assert reading.gpu_memory_used_mib == 8 * 1024
    assert reading.gpu_tree_memory_mib == 0
    assert reading.gpu_power_watts == pytest.approx(250)
    assert reading.gpu_energy_joules == pytest.approx(5)
    assert gpus.gpus == (
        GpuFacts(
            index=0,
            vendor="amd",
            model="AMD Instinct MI210",
            uuid="1a2b3c",
            memory_total_mib=64 * 1024,
            power_limit_watts=300,
        ),
    )


def test_cards_are_numbered_behind_those_of_others_and_connectors_are_none(tmp_path: Path) -> None:
    for number in (2, 10):
        a_card(tmp_path, number, f"0000:{number:02x}:00.0", {"gpu_busy_percent": number})
    write(tmp_path, {"sys/class/drm/card2-HDMI-A-1/status": "connected"})
    gpus = amd_gpus(a_tree(tmp_path), roots(tmp_path), 3)
    assert gpus is not None
    assert [gpu.index for gpu in gpus.gpus] == [3, 4]
    assert [reading.gpu_util_percent for reading in gpus.read()] == [2, 10]


def test_newer_chips_have_their_power_under_another_name(tmp_path: Path) -> None:
    a_card(tmp_path)
    hwmon = tmp_path / f"sys/devices/{MI210}/hwmon/hwmon3"
    (hwmon / "power1_average").rename(hwmon / "power1_input")
    gpus = amd_gpus(a_tree(tmp_path), roots(tmp_path), 0)
    assert gpus is not None
    assert gpus.read()[0].gpu_power_watts == pytest.approx(250)


def test_what_a_card_does_not_tell_is_a_gap(tmp_path: Path) -> None:
    a_card(tmp_path)
    for name in ("gpu_busy_percent", "mem_info_vram_used", "hwmon/hwmon3/energy1_input"):
        (tmp_path / f"sys/devices/{MI210}" / name).unlink()
    gpus = amd_gpus(a_tree(tmp_path), roots(tmp_path), 0)
    assert gpus is not None
    (reading,) = gpus.read()
    assert math.isnan(reading.gpu_util_percent)
    assert math.isnan(reading.gpu_memory_used_mib)
    assert math.isnan(reading.gpu_energy_joules)
    assert reading.gpu_power_watts == pytest.approx(250)


def test_a_card_that_sleeps_is_not_woken(tmp_path: Path) -> None:
    a_card(tmp_path, more={"power/runtime_status": "suspended"})
    gpus = amd_gpus(a_tree(tmp_path), roots(tmp_path), 0)
    assert gpus is not None
    (reading,) = gpus.read()
    assert reading.gpu_util_percent == 0
    assert math.isnan(reading.gpu_power_watts)


def test_graphics_of_the_processor_are_marked(tmp_path: Path) -> None:
    a_card(tmp_path, more={"mem_info_vram_total": GIB // 2})
    gpus = amd_gpus(a_tree(tmp_path), roots(tmp_path), 0)
    assert gpus is not None
    assert gpus.gpus[0].integrated


def test_memory_of_the_tree_counts_once_a_client(tmp_path: Path) -> None:
    a_card(tmp_path)
    tree = a_tree(tmp_path)
    client = (
        f"pos:\t0\ndrm-driver:\tamdgpu\ndrm-pdev:\t{MI210}\ndrm-client-id:\t5\n"
        "drm-memory-vram:\t2097152 KiB\ndrm-memory-gtt:\t999 KiB"
    )
    other = client.replace("id:\t5", "id:\t6").replace("2097152 KiB", "1 GiB")
    write(tmp_path / "proc/10/fdinfo", {"4": client, "5": client, "6": other, "7": "pos: 0"})
    link(
        tmp_path / "proc/10/fd",
        {"4": "/dev/dri/renderD128", "5": "/dev/dri/renderD128", "6": "/dev/dri/card0"},
    )
    link(tmp_path / "proc/10/fd", {"7": "/dev/null", "8": "/dev/dri/renderD129"})
    gpus = amd_gpus(tree, roots(tmp_path), 0)
    assert gpus is not None
    assert gpus.read()[0].gpu_tree_memory_mib == 3 * 1024


def test_memory_of_computing_is_told_by_its_own_driver(tmp_path: Path) -> None:
    a_card(tmp_path)
    tree = a_tree(tmp_path)
    write(
        tmp_path / "sys/class/kfd/kfd",
        {
            "proc/10/vram_4711": 6 * GIB,
            "proc/99/vram_4711": GIB,
            "topology/nodes/0/gpu_id": 0,
            "topology/nodes/0/properties": "cpu_cores_count 64\nlocation_id 0",
            "topology/nodes/1/gpu_id": 4711,
            "topology/nodes/1/properties": f"simd_count 416\nlocation_id {3 << 8}\ndomain 0",
        },
    )
    gpus = amd_gpus(tree, roots(tmp_path), 0)
    assert gpus is not None
    assert gpus.read()[0].gpu_tree_memory_mib == 6 * 1024


def test_who_holds_memory_is_asked_seldom(tmp_path: Path) -> None:
    a_card(tmp_path)
    gpus = amd_gpus(a_tree(tmp_path), roots(tmp_path), 0)
    assert gpus is not None
    gpus.seldom = Seldom(now=lambda: 5.0)
    assert gpus.read()[0].gpu_tree_memory_mib == 0
    assert math.isnan(gpus.read()[0].gpu_tree_memory_mib)


def test_a_machine_without_cards_has_none(tmp_path: Path) -> None:
    a_card(tmp_path, more={"vendor": "0x10de"})
    assert amd_gpus(a_tree(tmp_path), roots(tmp_path), 0) is None
