"""A node's GPUs as dcgm-exporter prints them. Pure: any moment of the past as well as now."""

import math

from tests.simgpu.exposition import Exposition
from tests.simgpu.meter import DeviceMeasurement, GpuMeasurement
from tests.stage.world import Gpu, Node, World

WINDOW_SECONDS = 1.0
"""Over which NVML's utilisation and power look back."""


def page(world: World, node: Node, when: float) -> str:
    every = world.gpus_every_seconds
    measured_at = math.floor(when / every) * every
    gpus = [gpu for gpu in list(node.gpus) if not gpu.faults.lost]
    return Exposition(hostname=node.name, virtual_gpus=world.virtual_gpus).render(
        [_measure(gpu, world, measured_at) for gpu in gpus],
        {gpu.index: gpu.faults for gpu in gpus},
        {gpu.uuid: tuple(gpu.holders) for gpu in gpus},
    )


def _measure(gpu: Gpu, world: World, at: float) -> GpuMeasurement:
    window = gpu.work.times(gpu.busy.mean(at - WINDOW_SECONDS, at))
    memory_mib = gpu.memory_mib.at(at)
    pods = [owner.pod for owner in gpu.holders]
    measured = DeviceMeasurement(
        memory_used_mib=memory_mib,
        in_use=bool(pods),
        interval=gpu.work.times(gpu.busy.mean(at - world.gpus_every_seconds, at)),
        window=window,
        done=gpu.work.times(gpu.busy.integral(world.up_since, at)),
        owners_window={pod: window.times(1 / len(pods)) for pod in pods},
        owners_memory_mib={pod: memory_mib / len(pods) for pod in pods},
    )
    (device,) = gpu.hardware.devices
    return GpuMeasurement(gpu.hardware, ((device, measured),), at - world.up_since)
