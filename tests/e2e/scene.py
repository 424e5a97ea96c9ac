"""Seven jobs that run together, each with its own vice or none, and who waits for what they hold.

They have a node of their own, with GPUs of a model that no other test asks for: so nobody else
waits for them, and they keep nothing from anybody. Each belongs to another user; one namespace is
theirs alone. The order in which it all happens is in play.py.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.e2e.workloads import Manifest, mpi_job, pod_spec
from tests.simgpu.silicon import find_model
from tests.simgpu.step_model import modelled_step

NODE, GPUS = "gpu-c", 16
MODEL = "NVIDIA H100 80GB HBM3"
PRODUCT = MODEL.replace(" ", "-")
TAINT = "nvidia.com/gpu=scene:NoSchedule"
"""The usual one of GPU nodes: agent and exporter tolerate it, other tests' pods do not."""

RUN_SECONDS = 1140
"""A leak takes 64 samples to tell, which is 16 minutes, after those of the start."""
NIGHTLY_SECONDS = 320
"""What asks for too much is told of runs of five minutes and more."""
NIGHTLY_MIB, NIGHTLY_MEMORY = 64, "1Gi"
"""What a run uses, and what it asks for."""
LEAK_MIB_PER_MINUTE = 20
RUNS = 3
"""What `cepheid rightsize` takes to give advice."""
TRAINING = ("--pattern=training", "--cpu-share=0.05")
"""The machine's CPU is for others."""
WORK_SECONDS = 40
"""Of a step, on one A100."""
LARGE_MIB = 40_000
"""On a GPU: no smaller model of the cluster has as much."""

HOG, WASTER, IDLE, LEAKER = "hog", "waster", "idle", "leaker"
SCALER, TALKER, HONEST, WAITER = "scaler", "talker", "honest", "waiter"
NIGHTLY = "nightly"
USERS = {
    HOG: "hugo",
    WASTER: "wanda",
    IDLE: "ida",
    LEAKER: "leo",
    SCALER: "sara",
    TALKER: "tom",
    HONEST: "hanna",
    WAITER: "wim",
    NIGHTLY: "nina",
}
HELD = {HOG: 6, WASTER: 1, IDLE: 2, LEAKER: 1, SCALER: 2, TALKER: 2, HONEST: 2}
"""GPUs of each: all that there are."""
BOUND = {SCALER: "compute", TALKER: "communication"}
"""What bounds their step."""
OF_WORKERS = (IDLE, *BOUND)
"""MPIJobs."""
IDLE_POLICY = ("ai.centaurus.io/idle-policy", "suspend")
IDLE_TIMES = {"ai.centaurus.io/idle-after": "2min", "ai.centaurus.io/suspend-after": "1min"}
WANTED = 3
"""By the waiter. All others hold no more than their share; the hog's would be 3 too."""


def jobs() -> Iterator[Manifest]:
    """The seven, and the CronJob whose runs ask for sixteen times what they use."""
    for name in (HOG, HONEST):
        yield _job(name, _steady("--step-seconds=5", "--duty=0.95"))
    yield _job(WASTER, _trains("--step-seconds=1", "--duty=0.12", "--memory-mib=4096"), "1Gi")
    yield _workers(IDLE, ["--pattern=idle", f"--memory-mib={LARGE_MIB}"])
    leak = _steady(
        "--step-seconds=5", "--duty=0.95", f"--leak-mib-per-minute={LEAK_MIB_PER_MINUTE}"
    )
    yield _job(LEAKER, leak, "512Mi")
    for name, bound in BOUND.items():
        yield _workers(name, _steps(name, bound))
    yield _nightly()


def waiter() -> Manifest:
    return _job(WAITER, ["--pattern=training", f"--memory-mib={LARGE_MIB}", "--duration=60"])


def _trains(*how: str) -> list[str]:
    return [*TRAINING, f"--duration={RUN_SECONDS}", *how]


def _steady(*how: str) -> list[str]:
    return _trains(f"--memory-mib={LARGE_MIB}", *how)


def _job(name: str, arguments: Sequence[str], memory: str = "256Mi") -> Manifest:
    gpus = WANTED if name == WAITER else HELD[name]
    spec = _here(pod_spec(arguments, gpus=gpus, product=PRODUCT), memory)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _named(name),
        "spec": {"backoffLimit": 0, "template": {"spec": spec}},
    }


def _steps(name: str, bound: str) -> list[str]:
    """As many as take that long: by their clocks one rank might do one more than another, and wait
    there for ever."""
    step = modelled_step(WORK_SECONDS, bound, find_model(MODEL), HELD[name])
    how = [f"--work-seconds={WORK_SECONDS}", f"--bound={bound}", f"--memory-mib={LARGE_MIB}"]
    return [*TRAINING, *how, f"--steps={round(RUN_SECONDS / step.total)}"]


def _workers(name: str, arguments: Sequence[str]) -> Manifest:
    made = mpi_job(name, arguments, workers=HELD[name])
    made["metadata"] = _named(name)
    for role in made["spec"]["mpiReplicaSpecs"].values():
        spec = _here(role["template"]["spec"])
        spec["nodeSelector"] = {"nvidia.com/gpu.product": PRODUCT}
    return made


def _nightly() -> Manifest:
    use = f"import time; kept = b'x' * {NIGHTLY_MIB * 2**20}; time.sleep({NIGHTLY_SECONDS})"
    program = pod_spec([use], gpus=0, command=["python3", "-c"], product=PRODUCT)
    run = {"backoffLimit": 0, "template": {"spec": _here(program, NIGHTLY_MEMORY)}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": _named(NIGHTLY),
        "spec": {
            "schedule": "* * * * *",
            "suspend": True,
            "jobTemplate": {"metadata": {"labels": {"user": USERS[NIGHTLY]}}, "spec": run},
        },
    }


def _named(name: str) -> dict[str, Any]:
    return {"name": name, "labels": {"user": USERS[name]}}


def _here(spec: dict[str, Any], memory: str = "256Mi") -> dict[str, Any]:
    """On the scene's own node; it asks for as much CPU as it uses, and a little more."""
    spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    resources = spec["containers"][0]["resources"]
    resources["requests"]["cpu"] = "100m"
    resources["limits"]["memory"] = memory
    return spec
