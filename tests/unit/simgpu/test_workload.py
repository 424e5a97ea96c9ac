"""The workload does what it was told: read from the device's file, in simulated time."""

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.simgpu import device_file
from tests.simgpu.activity import IDLE, Activity
from tests.simgpu.device_file import Client, Reading
from tests.simgpu.errors import SimgpuError
from tests.simgpu.inventory import parse_inventory
from tests.simgpu.meter import mean_levels
from tests.simgpu.ranks import Ranks, find_ranks
from tests.simgpu.runner import OutOfMemoryError, Runner
from tests.simgpu.silicon import MODELS, find_model
from tests.simgpu.step_model import modelled_step
from tests.simgpu.workload import open_devices, parse, phases

A100, T4 = MODELS["NVIDIA A100-SXM4-80GB"], MODELS["Tesla T4"]


class SimulatedClock:
    def __init__(self) -> None:
        self.time = 1000.0
        self.computed = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def compute(self, cpu_seconds: float) -> None:
        self.computed += cpu_seconds
        self.time += cpu_seconds


class Job:
    """A workload on a device of its own; `run` gives what the device saw of it."""

    def __init__(self, device: Path, *arguments: str, clock: SimulatedClock | None = None) -> None:
        device_file.create(device)
        self.device = device
        self.clock = clock or SimulatedClock()
        self.options = parse(list(arguments))
        self.lines: list[str] = []
        self.client = Client(device, "pod", self.clock.now())
        self.runner = Runner([self.client], A100, self.clock, self.lines.append)

    def run(self) -> tuple[Reading, Reading]:
        before = device_file.read(self.device, self.clock.now())
        random = Random(self.options.seed)  # noqa: S311 - a simulation
        todo = phases(self.options, A100, 1, random)
        self.runner.run(todo, self.options.duration, self.options.steps)
        return before, device_file.read(self.device, self.clock.now())


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    return lambda *arguments: Job(tmp_path / "GPU-1", *arguments)


def seconds_per_step(lines: Sequence[str]) -> list[float]:
    return [float(line.split()[-2]) for line in lines if line.startswith("step ")]


def test_training_keeps_its_period_duty_and_memory(job: Callable[..., Job]) -> None:
    one = job("--step-seconds=2", "--duty=0.75", "--jitter=0", "--memory-mib=9000", "--steps=50")
    before, after = one.run()
    assert after.at - before.at == pytest.approx(100)
    assert mean_levels(before, after).engine == pytest.approx(0.75)
    assert after.memory_mib == 9000
    assert set(seconds_per_step(one.lines)) == {2.0}
    assert one.lines[11].startswith("step 12 loss ")
    assert one.lines[11].endswith(" 2.00 s/it")


def test_jitter_spreads_the_steps_around_the_period(job: Callable[..., Job]) -> None:
    one = job("--step-seconds=2", "--jitter=0.1", "--steps=400")
    before, after = one.run()
    assert (after.at - before.at) / 400 == pytest.approx(2, rel=0.03)
    steps = seconds_per_step(one.lines)
    assert min(steps) < 1.8
    assert max(steps) > 2.2


def test_an_epoch_ends_in_a_pause_with_a_checkpoint(job: Callable[..., Job]) -> None:
    one = job(
        *("--step-seconds=1", "--jitter=0", "--steps=21"),
        *("--steps-per-epoch=10", "--epoch-pause-seconds=5"),
    )
    before, after = one.run()
    assert after.at - before.at == pytest.approx(21 + 2 * 5)
    assert [line for line in one.lines if "epoch" in line] == [
        "epoch 1 done, checkpoint written",
        "epoch 2 done, checkpoint written",
    ]


def test_the_same_seed_does_the_same_again(tmp_path: Path) -> None:
    def lines(name: str, seed: int) -> list[str]:
        one = Job(tmp_path / name, "--jitter=0.1", "--steps=20", f"--seed={seed}")
        one.run()
        return one.lines

    assert lines("a", 1) == lines("b", 1) != lines("c", 2)


def test_duration_ends_a_job_on_time_in_the_middle_of_a_step(job: Callable[..., Job]) -> None:
    before, after = job("--step-seconds=7", "--duration=30").run()
    assert after.at - before.at == pytest.approx(30)


def test_the_input_phase_costs_real_cpu(job: Callable[..., Job]) -> None:
    one = job("--step-seconds=2", "--duty=0.5", "--jitter=0", "--cpu-share=0.4", "--steps=10")
    one.run()
    assert one.clock.computed == pytest.approx(10 * 1.0 * 0.4)


def test_inference_follows_the_day(job: Callable[..., Job]) -> None:
    one = job("--pattern=inference", "--day-seconds=2000", "--peak-load=0.8", "--duration=200")
    loads = []
    random = Random(0)  # noqa: S311 - a simulation
    todo = phases(one.options, A100, 1, random)
    for _ in range(10):
        before = device_file.read(one.device, one.clock.now())
        one.runner.run(todo, one.options.duration, 0)
        after = device_file.read(one.device, one.clock.now())
        loads.append(mean_levels(before, after).engine)
    assert loads[4] > 0.65
    assert loads[5] > 0.65
    assert loads[0] < 0.3
    assert loads[9] < 0.3


def test_interactive_is_irregular_and_mostly_idle(job: Callable[..., Job]) -> None:
    one = job("--pattern=interactive", "--burst-seconds=5", "--duration=20000")
    before, after = one.run()
    assert 0.02 < mean_levels(before, after).engine < 0.15
    bursts = [float(line.split()[-2]) for line in one.lines]
    assert max(bursts) > 4 * sorted(bursts)[len(bursts) // 2]


def test_idle_holds_memory_and_does_nothing(job: Callable[..., Job]) -> None:
    before, after = job("--pattern=idle", "--memory-mib=30000", "--duration=600").run()
    assert after.integral == before.integral
    assert after.memory_mib == 30000


def test_a_waiting_rank_spins(job: Callable[..., Job]) -> None:
    levels = mean_levels(*job("--pattern=waiting", "--duration=600").run())
    assert levels.engine == pytest.approx(1.0)
    assert levels.tensor == 0


def test_a_gpu_leak_grows_at_its_rate_until_the_memory_is_full(job: Callable[..., Job]) -> None:
    one = job("--pattern=leak", "--gpu-leak-mib-per-minute=600", "--memory-mib=1000", "--steps=300")
    _, after = one.run()
    assert after.memory_mib == pytest.approx(1000 + 600 * 10, rel=0.02)
    full = job("--pattern=leak", "--gpu-leak-mib-per-minute=60000", "--steps=10000")
    with pytest.raises(OutOfMemoryError, match="CUDA out of memory"):
        full.run()


def test_a_host_leak_takes_real_memory(job: Callable[..., Job]) -> None:
    leaks = job("--pattern=leak", "--leak-mib-per-minute=60", "--jitter=0")
    random = Random(0)  # noqa: S311 - a simulation
    todo = itertools.takewhile(
        lambda phase: phase.host_memory_mib < 20, phases(leaks.options, A100, 1, random)
    )
    grown = [phase.host_memory_mib for phase in todo if phase.ends_step]
    assert grown == pytest.approx([2.0 * step for step in range(10)])


def test_more_memory_than_is_free_is_a_cuda_error(job: Callable[..., Job]) -> None:
    one = job("--pattern=idle", "--memory-mib=50000", "--duration=1")
    neighbour = Client(one.device, "neighbour", one.clock.now())
    neighbour.announce(IDLE, 40000, one.clock.now(), one.clock.now())
    with pytest.raises(OutOfMemoryError) as caught:
        one.run()
    assert "Tried to allocate 50000.00 MiB" in str(caught.value)
    assert "41046.00 MiB is free" in str(caught.value)


def test_a_busy_neighbour_on_a_time_sliced_gpu_halves_the_speed(tmp_path: Path) -> None:
    one = Job(tmp_path / "GPU-1", "--step-seconds=1", "--duty=1", "--jitter=0", "--steps=10")
    neighbour = Client(one.device, "neighbour", one.clock.now())
    neighbour.announce(Activity(engine=1.0), 0, 0.0, 1e9)
    before, after = one.run()
    assert after.at - before.at == pytest.approx(20)
    mine = mean_levels(before.of("pod"), after.of("pod"))
    assert mine.engine == pytest.approx(0.5)


def test_ranks_that_finish_early_spin_until_the_last_is_done(tmp_path: Path) -> None:
    one = Job(tmp_path / "GPU-1", "--step-seconds=1", "--duty=0.5", "--jitter=0", "--steps=1")
    end = one.clock.now() + 3.0  # the other rank needs three seconds
    one.runner = Runner(
        [one.client], A100, one.clock, one.lines.append, lambda: lambda: one.clock.now() >= end
    )
    before, after = one.run()
    assert after.at - before.at == pytest.approx(3, abs=0.01)
    assert after.integral.engine == pytest.approx(0.5 + 2.0, abs=0.01)
    assert seconds_per_step(one.lines) == [3.0]


def test_a_step_is_slower_on_a_slower_gpu_and_scaling_ends() -> None:
    def step(gpu: str, gpus: int, bound: str) -> float:
        return modelled_step(10.0, bound, find_model(gpu), gpus).total

    assert step(A100.name, 1, "compute") == pytest.approx(10.0)
    assert step(T4.name, 1, "compute") > 4 * step(A100.name, 1, "compute")
    assert step(A100.name, 8, "compute") < step(A100.name, 1, "compute") / 6
    # From here on the ring's hops cost more than sharing the work saves.
    eight, sixteen, thirty_two = (step(A100.name, gpus, "communication") for gpus in (8, 16, 32))
    assert eight < sixteen < thirty_two
    # A faster GPU does not help a job that waits for its data.
    assert step("NVIDIA H100 80GB HBM3", 1, "input") > 0.8 * step(A100.name, 1, "input")
    # Memory-bound work follows the bandwidth, not the peak.
    h100_gain = step(A100.name, 1, "memory") / step("NVIDIA H100 80GB HBM3", 1, "memory")
    assert h100_gain == pytest.approx(1.6, abs=0.15)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Ranks(0, 1, 0, 1)),
        ({"WORLD_SIZE": "4", "RANK": "3"}, Ranks(3, 4, 0, 1)),
        (
            {
                "OMPI_COMM_WORLD_SIZE": "8",
                "OMPI_COMM_WORLD_RANK": "5",
                "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
            },
            Ranks(5, 8, 1, 4),
        ),
    ],
)
def test_ranks_are_those_of_the_launcher(environ: dict[str, str], expected: Ranks) -> None:
    assert find_ranks(environ) == expected


def test_ranks_in_one_pod_take_a_gpu_each_and_a_rank_alone_takes_all() -> None:
    assert Ranks(1, 2, 1, 2).devices(["a", "b"]) == ["b"]
    assert Ranks(1, 2, 0, 1).devices(["a", "b"]) == ["a", "b"]


def test_a_container_without_a_gpu_is_told_how_to_ask_for_one() -> None:
    for visible in ("", "void"):
        with pytest.raises(SimgpuError, match=r"hint: ask for one: resources: .*nvidia\.com/gpu"):
            open_devices({"NVIDIA_VISIBLE_DEVICES": visible}, Ranks(0, 1, 0, 1), "pod", 0.0)


def test_as_a_process_it_ends_with_0_and_with_1_when_the_memory_does_not_suffice(
    tmp_path: Path,
) -> None:
    uuid = parse_inventory({"model": "Tesla T4"}, "node1").gpus[0].uuid
    device_file.create(tmp_path / uuid)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tests.simgpu.workload", "--step-seconds=0.01", *arguments],
            env={
                "SIMGPU_DEVICES": str(tmp_path),
                "NVIDIA_VISIBLE_DEVICES": uuid,
                "SIMGPU_MODEL": "Tesla T4",
            },
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=False,
        )

    good = run("--steps=3")
    assert good.returncode == 0, good.stderr
    assert good.stdout.splitlines()[0] == "rank 0 of 1: training on 1 x Tesla T4, 1 GPUs in all"
    assert good.stdout.splitlines()[-1] == "done"
    bad = run("--memory-mib=16000")
    assert bad.returncode == 1
    assert "error: CUDA out of memory" in bad.stderr


def test_sigterm_ends_it_as_a_signal_does_and_gives_the_gpu_back(tmp_path: Path) -> None:
    device_file.create(tmp_path / "GPU-1")
    command = [sys.executable, "-m", "tests.simgpu.workload", "--pattern=waiting"]
    environ = {
        "SIMGPU_DEVICES": str(tmp_path),
        "NVIDIA_VISIBLE_DEVICES": "GPU-1",
        "SIMGPU_MODEL": "Tesla T4",
    }
    folder = Path(__file__).parents[3]
    with subprocess.Popen(
        command, env=environ, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while device_file.read(tmp_path / "GPU-1", time.monotonic()).memory_mib == 0:
            time.sleep(0.01)
        process.terminate()
        assert process.wait() == 143
    now = time.monotonic()
    (client,) = device_file.read(tmp_path / "GPU-1", now).clients
    assert not client.alive
    assert client.memory_mib == 0
    # Nothing runs on: the announcement was taken back.
    assert device_file.read(tmp_path / "GPU-1", now + 10).integral == client.integral
