"""NVIDIA's own binding loads our libnvidia-ml.so.1, in a process that is started with it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.simgpu import nvml

GIB = 2**30
A100 = f"""
gpu
name NVIDIA A100-SXM4-80GB
uuid GPU-5a5a0001
total {80 * GIB}
reserved {GIB}
used {20 * GIB}
util 71
memutil 30
power 250500
limit 400000
energy 123456789
"""
LOST = 15
NOT_SUPPORTED = 3
DRIVER_NOT_LOADED = 9

Run = Callable[..., Any]

READ = """
import json, math, os, sys
from cepheid.sources.local.collectors import Collectors
from cepheid.sources.local.processes import Tree

def rows(collectors, count=1):
    for _ in range(count):
        row = dict(zip(collectors.columns, collectors.read(), strict=True))
    return {name: None if math.isnan(value) else value for name, value in row.items()}

def answer(value):
    print(json.dumps(value))

def state(text):
    with open(os.environ["SIMNVML_STATE"], "w") as file:
        file.write(text)

ONLY = ["process", "uss", "io", "network", "system", "cgroup", "energy"]
collectors = Collectors(Tree([os.getpid()]), without=ONLY)
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nvml.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def run(library: Path, tmp_path: Path) -> Run:
    def run(state: str, code: str) -> Any:
        file = tmp_path / "state"
        file.write_text(state)
        done = subprocess.run(
            [sys.executable, "-c", READ + code, state],
            env=nvml.environment(library, file),
            check=True,
            stdout=subprocess.PIPE,
        )
        return json.loads(done.stdout)

    return run


def test_every_figure_of_a_gpu_is_read_in_our_units(run: Run) -> None:
    answer = run(A100, "answer([rows(collectors), collectors.skipped])")
    assert answer == [
        {
            "gpu_util_percent.0": 71,
            "mem_copy_util_percent.0": 30,
            "gpu_memory_used_mib.0": 20 * 1024,
            "gpu_tree_memory_mib.0": 0,
            "gpu_power_watts.0": 250.5,
            "gpu_energy_joules.0": 123456.789,
        },
        {},
    ]


def test_what_a_gpu_is_stands_in_the_facts(run: Run) -> None:
    code = """
import dataclasses
answer([dataclasses.asdict(gpu) for gpu in collectors.facts.gpus])
"""
    assert run(A100, code) == [
        {
            "index": 0,
            "vendor": "nvidia",
            "model": "NVIDIA A100-SXM4-80GB",
            "uuid": "GPU-5a5a0001",
            "memory_total_mib": 80 * 1024,
            "power_limit_watts": 400,
            "integrated": False,
        }
    ]


def test_gpus_are_read_at_every_sample(run: Run) -> None:
    code = """
seen = []
for util in (0, 50, 100):
    state(sys.argv[1].replace("util 71", f"util {util}"))
    seen.append(rows(collectors)["gpu_util_percent.0"])
answer(seen)
"""
    assert run(A100, code) == [0, 50, 100]


def test_several_gpus_have_columns_of_their_own(run: Run) -> None:
    row = run(A100 + A100.replace("util 71", "util 5"), "answer(rows(collectors))")
    assert (row["gpu_util_percent.0"], row["gpu_util_percent.1"]) == (71, 5)


def test_memory_of_the_trees_processes_is_told_from_that_of_others(run: Run) -> None:
    code = """
this = os.getpid()
both = f"compute {this} {3 << 30}\\ngraphics {this} {3 << 30}\\n"
state(sys.argv[1] + both + f"compute 1 {5 << 30}\\n")
collectors = Collectors(Tree([os.getpid()]), without=ONLY)
answer(rows(collectors)["gpu_tree_memory_mib.0"])
"""
    assert run(A100, code) == 3 * 1024


def test_memory_that_the_driver_does_not_tell_is_unknown(run: Run) -> None:
    code = """
state(sys.argv[1] + f"compute {os.getpid()} -1\\n")
answer(rows(Collectors(Tree([os.getpid()]), without=ONLY))["gpu_tree_memory_mib.0"])
"""
    assert run(A100, code) is None


def test_numbers_of_processes_from_outside_of_a_container_say_nothing(run: Run) -> None:
    code = """
from cepheid.sources.local.files import Roots
from cepheid.sources.local.nvidia import nvidia_gpus
state(sys.argv[1] + f"compute 4000000 {1 << 30}\\n")
tree = Tree([os.getpid()])
tree.read()
gpus = nvidia_gpus(tree, Roots(proc="/nowhere"), 0)
unknown = math.isnan(gpus.read()[0].gpu_tree_memory_mib)
state(sys.argv[1] + f"compute 4000000 {1 << 30}\\ncompute {os.getpid()} {2 << 30}\\n")
answer([unknown, nvidia_gpus(tree, Roots(proc="/nowhere"), 0).read()[0].gpu_tree_memory_mib])
"""
    assert run(A100, code) == [True, 2048]


def test_what_a_gpu_does_not_support_is_a_gap_and_the_rest_is_read(run: Run) -> None:
    broken = A100 + "".join(f"fails {what} {NOT_SUPPORTED}\n" for what in ("energy", "util"))
    row, skipped = run(broken, "answer([rows(collectors, 2), collectors.skipped])")
    assert row["gpu_energy_joules.0"] is row["gpu_util_percent.0"] is None
    assert row["gpu_power_watts.0"] == 250.5
    assert skipped == {}


def test_a_moments_trouble_is_a_gap_of_one_sample(run: Run) -> None:
    code = """
state(sys.argv[1] + "fails power 999\\n")
gap = rows(collectors)["gpu_power_watts.0"]
state(sys.argv[1])
answer([gap, rows(collectors)["gpu_power_watts.0"]])
"""
    assert run(A100, code) == [None, 250.5]


def test_a_lost_gpu_is_named_and_the_others_are_read_on(run: Run) -> None:
    code = f"""
before = rows(collectors)
state(sys.argv[1].replace("util 5", "util 5\\nfails all {LOST}"))
after = rows(collectors, 3)
answer([before, after, collectors.skipped])
"""
    before, after, skipped = run(A100 + A100.replace("util 71", "util 5"), code)
    assert before["gpu_util_percent.1"] == 5
    assert {value for name, value in after.items() if name.endswith(".1")} == {None}
    assert after["gpu_util_percent.0"] == 71
    assert skipped == {"gpu 1": "gpu is lost"}


def test_a_driver_that_is_not_loaded_is_named_with_what_to_do(run: Run) -> None:
    columns, skipped = run(
        f"init {DRIVER_NOT_LOADED}\n", "answer([collectors.columns, collectors.skipped])"
    )
    assert columns == []
    assert list(skipped) == ["gpu nvidia"]
    assert "driver not loaded" in skipped["gpu nvidia"]
    assert "nvidia-smi" in skipped["gpu nvidia"]


def test_a_driver_without_gpus_has_no_columns_and_is_no_failure(run: Run) -> None:
    assert run("init 0\n", "answer([collectors.columns, collectors.skipped])") == [[], {}]


def test_an_old_driver_that_counts_its_own_memory_as_used_is_read_too(run: Run) -> None:
    row = run(A100 + "old\n", "answer(rows(collectors))")
    assert row["gpu_memory_used_mib.0"] == 21 * 1024


def test_gpus_can_be_left_out_and_then_the_binding_is_not_loaded(run: Run) -> None:
    code = """
only = sys.modules.pop("pynvml")
collectors = Collectors(Tree([os.getpid()]), without=[*ONLY, "gpu"])
answer([collectors.columns, collectors.facts.gpus, "pynvml" in sys.modules])
"""
    assert run(A100, code) == [[], [], False]


def test_closing_twice_does_no_harm(run: Run) -> None:
    code = "collectors.close(); collectors.close(); answer(rows(collectors))"
    row = run(A100, code)
    assert set(row.values()) == {None}


def test_without_the_library_the_binding_is_not_loaded() -> None:
    code = READ + 'answer(["pynvml" in sys.modules, collectors.skipped])'
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    assert json.loads(done.stdout) == [False, {}]
