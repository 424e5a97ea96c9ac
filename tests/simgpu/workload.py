"""A job for the simulated GPU that the device plugin gave to this container.

    python3 -m simgpu.workload --pattern training --step-seconds 2 --duty 0.8 --duration 600
    python3 -m simgpu.workload --pattern training --work-seconds 8 --bound communication

`--step-seconds` is obeyed on any GPU; `--work-seconds` is what the step would take on one A100,
and the model says what that is on this GPU type and number of GPUs.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from types import FrameType

from . import patterns
from .device_file import Client
from .errors import SimgpuError
from .patterns import InferenceOptions, Phase, TrainingOptions
from .ranks import Ranks, find_ranks, mpi_meeting
from .runner import RealClock, Runner
from .silicon import Model, find_model
from .step_model import BOUNDS, modelled_step, told_step

PATTERNS = ("training", "inference", "interactive", "idle", "leak", "waiting")
TERMINATED = 128 + signal.SIGTERM


class TerminatedError(Exception):
    """SIGTERM: unwinds out of whatever sleeps."""


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="simgpu.workload",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pattern", choices=PATTERNS, default="training")
    parser.add_argument("--memory-mib", type=_amount, default=4096.0, help="on each GPU")
    parser.add_argument("--duration", type=_amount, default=0.0, help="seconds; 0 is for ever")
    parser.add_argument("--steps", type=int, default=0, help="training steps; 0 is for ever")
    parser.add_argument("--seed", type=int, default=0)
    train = parser.add_argument_group("training, leak")
    how_long = train.add_mutually_exclusive_group()
    how_long.add_argument("--step-seconds", type=_positive, default=2.0)
    how_long.add_argument("--work-seconds", type=_positive, help="of a step, on one A100")
    train.add_argument("--duty", type=_share, default=0.85, help="share of the step on the GPU")
    train.add_argument("--bound", choices=sorted(BOUNDS), default="compute")
    train.add_argument("--jitter", type=_share, default=0.02)
    train.add_argument("--cpu-share", type=_share, default=0.5, help="of the input phase")
    train.add_argument("--steps-per-epoch", type=int, default=0)
    train.add_argument("--epoch-pause-seconds", type=_amount, default=4.0)
    train.add_argument("--leak-mib-per-minute", type=_amount, default=0.0, help="on the host")
    train.add_argument("--gpu-leak-mib-per-minute", type=_amount, default=0.0)
    serve = parser.add_argument_group("inference")
    serve.add_argument("--day-seconds", type=_positive, default=600.0)
    serve.add_argument("--peak-load", type=_share, default=0.8)
    serve.add_argument("--request-seconds", type=_positive, default=0.2)
    notebook = parser.add_argument_group("interactive")
    notebook.add_argument("--burst-seconds", type=_positive, default=5.0)
    return parser.parse_args(argv)


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is not an amount")
    return value


def _positive(text: str) -> float:
    value = _amount(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 is too little")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to 1")
    return value


def phases(options: argparse.Namespace, model: Model, gpus: int, random: Random) -> Iterator[Phase]:
    match options.pattern:
        case "training" | "leak":
            return patterns.training(_training_options(options, model, gpus), model, random)
        case "inference":
            # At a load of 1 the queue would never end, at 0 no request would ever come.
            peak = min(0.99, max(0.01, options.peak_load))
            served = (options.memory_mib, options.day_seconds, peak, options.request_seconds)
            return patterns.inference(InferenceOptions(*served), random)
        case "interactive":
            return patterns.interactive(options.memory_mib, options.burst_seconds, random)
        case "idle":
            return patterns.idle(options.memory_mib)
        case _:
            return patterns.waiting(options.memory_mib)


def _training_options(options: argparse.Namespace, model: Model, gpus: int) -> TrainingOptions:
    if options.work_seconds is None:
        step = told_step(options.step_seconds, options.duty, options.bound)
    else:
        step = modelled_step(options.work_seconds, options.bound, model, gpus)
    leak, gpu_leak = options.leak_mib_per_minute, options.gpu_leak_mib_per_minute
    if options.pattern == "leak" and not leak and not gpu_leak:
        leak = 60.0
    return TrainingOptions(
        step=step,
        memory_mib=options.memory_mib,
        jitter=options.jitter,
        cpu_share=options.cpu_share,
        steps_per_epoch=options.steps_per_epoch,
        epoch_pause_seconds=options.epoch_pause_seconds,
        leak_mib_per_minute=leak,
        gpu_leak_mib_per_minute=gpu_leak,
    )


def open_devices(
    environ: Mapping[str, str], ranks: Ranks, owner: str, now: float
) -> tuple[Model, list[Client]]:
    visible = [uuid for uuid in environ.get("NVIDIA_VISIBLE_DEVICES", "").split(",") if uuid]
    if not visible or visible in (["void"], ["none"]):
        raise SimgpuError(
            "no GPU in this container: NVIDIA_VISIBLE_DEVICES names none",
            hint="ask for one: resources: {limits: {nvidia.com/gpu: 1}}",
        )
    folder = Path(environ.get("SIMGPU_DEVICES", "/dev/simgpu"))
    model = find_model(environ.get("SIMGPU_MODEL", ""))
    return model, [Client(folder / uuid, owner, now) for uuid in ranks.devices(visible)]


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    clock = RealClock()
    ranks = find_ranks(environ)
    model, clients = open_devices(environ, ranks, socket.gethostname(), clock.now())
    gpus = ranks.size * len(clients)
    print(
        f"rank {ranks.rank} of {ranks.size}: {options.pattern} on {len(clients)} x {model.name},"
        f" {gpus} GPUs in all",
        flush=True,
    )
    runner = Runner(
        clients,
        model,
        clock,
        say=lambda line: print(line, flush=True),
        all_ranks_done=mpi_meeting(environ),
    )
    try:
        # Each rank has its own jitter: else no rank would ever wait for another.
        random = Random(options.seed + ranks.rank)  # noqa: S311 - a simulation, not a secret
        todo = phases(options, model, gpus, random)
        runner.run(todo, options.duration, options.steps)
    finally:
        for client in clients:
            client.close(clock.now())


def main() -> int:
    def terminate(_signal: int, _frame: FrameType | None) -> None:
        raise TerminatedError

    signal.signal(signal.SIGTERM, terminate)
    try:
        run(parse(), os.environ)
    except TerminatedError:
        print("terminated", file=sys.stderr)
        return TERMINATED
    except SimgpuError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
