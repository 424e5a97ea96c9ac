"""A run that holds GPUs: only their silicon is simulated, behind NVIDIA's own binding."""

import sys
from pathlib import Path

import pytest

from tests.laptop.stand import Laptop
from tests.simgpu import nvml

GIB = 2**30
TRAINER = """
import os, sys, time
GIB = 2**30
period, cycles, state = float(sys.argv[1]), int(sys.argv[2]), os.environ["SIMNVML_STATE"]

def gpu(util, energy, mine):
    held = f"compute {os.getpid()} {4 * GIB}\\n" if mine else ""
    watts = 60 + 3 * util
    return (f"gpu\\nname NVIDIA A100-SXM4-80GB\\nuuid GPU-{mine}\\ntotal {80 * GIB}\\n"
            f"reserved 0\\nused {5 * GIB}\\nutil {util}\\nmemutil 30\\npower {watts * 1000}\\n"
            f"limit 400000\\nenergy {int(energy * 1000)}\\n{held}")

begin = last = time.monotonic()
energy = 0.0
while (now := time.monotonic()) - begin < period * cycles:
    util = 90 if ((now - begin) / period) % 1 < 0.7 else 0
    energy += (60 + 3 * util) * (now - last)
    last = now
    with open(state + ".new", "w") as file:
        file.write(gpu(util, energy, 1) + gpu(util, energy, 2) + gpu(50, 7.0, 0))
    os.rename(state + ".new", state)
    time.sleep(0.02)
print(energy)
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nvml.build(tmp_path_factory.mktemp("nvml"))


def test_gpus_are_read_all_along_and_only_those_that_the_run_holds(
    tmp_path: Path, library: Path
) -> None:
    state = tmp_path / "gpus"
    one = f"gpu\nname NVIDIA A100-SXM4-80GB\ntotal {80 * GIB}\nreserved 0\nused 0\nlimit 400000\n"
    state.write_text(3 * one)
    laptop = Laptop(tmp_path, {"LD_LIBRARY_PATH": str(library), "SIMNVML_STATE": str(state)})
    ran = laptop.run(
        "--interval", "0.1", "--granularity", "time-series", "--name", "trainer", "--",
        sys.executable, "-c", TRAINER, "1", "14",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    profile = laptop.only()
    assert [(gpu.index, gpu.model) for gpu in profile.gpus] == [
        (0, "NVIDIA A100-SXM4-80GB"),
        (1, "NVIDIA A100-SXM4-80GB"),
    ]
    assert "2 GPUs at " in ran.stderr
    usage = profile.usage
    assert usage is not None
    assert usage.gpu_util_percent is not None
    assert usage.gpu_util_percent.mean == pytest.approx(0.7 * 90, abs=10)
    assert usage.gpu_util_percent.max == 90
    # Of both together, as their counters have it.
    assert usage.energy_joules == pytest.approx(2 * float(ran.stdout), rel=0.1)
    assert profile.cycle is not None
    assert profile.cycle.period_seconds == pytest.approx(1.0, rel=0.05)
    with laptop.history() as history:
        workers = {one.worker for one in history.series(profile.job.uid)}
    assert workers == {None, "gpu-0", "gpu-1"}


def test_a_driver_that_fails_is_named_and_the_rest_is_measured(
    tmp_path: Path, library: Path
) -> None:
    state = tmp_path / "gpus"
    state.write_text("init 999\n")
    laptop = Laptop(tmp_path, {"LD_LIBRARY_PATH": str(library), "SIMNVML_STATE": str(state)})
    ran = laptop.run("--", "sleep", "0.3")
    assert ran.returncode == 0
    process = laptop.only().process
    assert process is not None
    assert any(words.startswith("gpu nvidia: ") for words in process.skipped)
    assert process.peak_memory_bytes is not None
    assert "not measured: gpu nvidia: " in ran.stderr
