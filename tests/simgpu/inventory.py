"""The hardware of a node: `inventory.json` stands for what would be screwed into the board.

    {"model": "NVIDIA A100-SXM4-80GB", "count": 4}
    {"model": "NVIDIA A100-SXM4-80GB", "count": 1, "mig": ["3g.40gb", "1g.10gb"]}
    {"model": "Tesla T4", "count": 2, "time_slicing": 4}

An optional "node" names the machine; without it NODE_NAME does. Serial numbers (UUIDs) derive
from it, so that they are the same after every restart and differ between nodes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import SimgpuError
from .silicon import (
    MIG_COMPUTE_SLICES,
    MIG_MEMORY_SLICES,
    MigProfile,
    Model,
    find_model,
    find_profile,
    mig_slice,
)

DEFAULT_ROOT = Path("/var/lib/simgpu")
DRIVER_VERSION = "550.90.07"
GPU_RESOURCE = "nvidia.com/gpu"
MIG_RESOURCE_PREFIX = "nvidia.com/mig-"

MAX_GPUS = 16  # the largest board that NVIDIA builds (DGX-2)
MAX_REPLICAS = 64

# Instance ids in the ranges usual on A100 and H100, by the size of the slice.
_FIRST_INSTANCE_ID = {7: 0, 4: 1, 3: 1, 2: 3, 1: 7}

# Any fixed namespace will do: it only has to stay the same for ever.
_UUID_NAMESPACE = uuid.UUID("5d0c4f8e-6a0b-4f0e-9f43-7a2f1c3e9b10")


@dataclass(frozen=True)
class Device:
    """What a container can be given: a whole GPU or a MIG slice. Its file is named by the UUID."""

    uuid: str
    model: Model
    profile: MigProfile | None = None
    instance_id: int | None = None

    @property
    def resource(self) -> str:
        return MIG_RESOURCE_PREFIX + self.profile.name if self.profile else GPU_RESOURCE

    @property
    def share_of_gpu(self) -> float:
        return self.profile.compute_slices / MIG_COMPUTE_SLICES if self.profile else 1.0


@dataclass(frozen=True)
class Gpu:
    index: int
    uuid: str
    model: Model
    devices: tuple[Device, ...]  # itself, or its MIG slices

    @property
    def pci_bus_id(self) -> str:
        return f"00000000:{self.index + 7:02X}:00.0"


@dataclass(frozen=True)
class Inventory:
    gpus: tuple[Gpu, ...]
    replicas: int  # time-slicing; 1 where each device has one owner

    def device_ids(self, device: Device) -> list[str]:
        """The names under which the kubelet counts the device, as NVIDIA's plugin forms them."""
        if self.replicas == 1:
            return [device.uuid]
        return [f"{device.uuid}::{replica}" for replica in range(self.replicas)]

    def node_labels(self) -> dict[str, str]:
        """The labels that GPU feature discovery would put on the node."""
        model = self.gpus[0].model
        shared = "-SHARED" if self.replicas > 1 else ""
        return {
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.product": model.name.replace(" ", "-") + shared,
            "nvidia.com/gpu.count": str(len(self.gpus)),
            "nvidia.com/gpu.replicas": str(self.replicas),
            "nvidia.com/gpu.memory": str(model.memory_mib),
        }


def load_inventory(root: Path, environ: Mapping[str, str]) -> Inventory:
    path = root / "inventory.json"
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError:
        raise SimgpuError(
            f"no GPU in this node: {path} does not exist",
            hint='write for instance {"model": "Tesla T4", "count": 4} to it',
        ) from None
    except (OSError, ValueError) as error:
        raise SimgpuError(f"cannot read {path}: {error}", hint="it must be JSON") from error
    try:
        return parse_inventory(document, environ.get("NODE_NAME", ""))
    except SimgpuError as error:
        raise SimgpuError(f"{path}: {error.args[0]}", error.hint) from error


def parse_inventory(document: Any, node_name: str = "") -> Inventory:
    if not isinstance(document, dict):
        raise SimgpuError(
            "not a JSON object", hint='for instance {"model": "Tesla T4", "count": 4}'
        )
    known = {"model", "count", "mig", "time_slicing", "node"}
    if unknown := sorted(set(document) - known):
        raise SimgpuError(f"unknown key {unknown[0]!r}", hint="known: " + ", ".join(sorted(known)))
    node = document.get("node", node_name)
    if not isinstance(node, str) or not node:
        raise SimgpuError("the node has no name", hint='set NODE_NAME, or "node" in the inventory')
    if not isinstance(document.get("model"), str):
        raise SimgpuError('"model" is missing', hint='for instance "model": "Tesla T4"')
    model = find_model(document["model"])
    count = _whole_number(document, "count", default=1, most=MAX_GPUS)
    replicas = _whole_number(document, "time_slicing", default=1, most=MAX_REPLICAS)
    profiles = _mig_profiles(document.get("mig", []), model)
    gpus = tuple(_build_gpu(node, index, model, profiles) for index in range(count))
    return Inventory(gpus, replicas)


def _whole_number(document: dict[str, Any], key: str, default: int, most: int) -> int:
    value = document.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise SimgpuError(f'"{key}" is {value!r}', hint=f"a whole number from 1 to {most}")
    return value


def _mig_profiles(names: Any, model: Model) -> list[MigProfile]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SimgpuError(f'"mig" is {names!r}', hint='a list, for instance ["3g.40gb", "1g.10gb"]')
    profiles = [find_profile(model, name) for name in names]
    compute = sum(profile.compute_slices for profile in profiles)
    memory = sum(profile.memory_slices for profile in profiles)
    if compute > MIG_COMPUTE_SLICES or memory > MIG_MEMORY_SLICES:
        raise SimgpuError(
            f'"mig" takes {compute} compute and {memory} memory slices of each GPU',
            hint=f"a GPU has {MIG_COMPUTE_SLICES} and {MIG_MEMORY_SLICES}",
        )
    return profiles


def _build_gpu(node: str, index: int, model: Model, profiles: list[MigProfile]) -> Gpu:
    # The model is part of the name: another model in the same place is another piece of hardware.
    serial = f"{node}/{model.name}/{index}"
    gpu_uuid = _serial_number("GPU", serial)
    if not profiles:
        return Gpu(index, gpu_uuid, model, (Device(gpu_uuid, model),))
    slices = []
    taken: set[int] = set()
    for profile in sorted(profiles, key=lambda profile: -profile.compute_slices):
        instance_id = _FIRST_INSTANCE_ID[profile.compute_slices]
        while instance_id in taken:
            instance_id += 1
        taken.add(instance_id)
        slice_uuid = _serial_number("MIG", f"{serial}/{profile.name}/{instance_id}")
        slices.append(Device(slice_uuid, mig_slice(model, profile), profile, instance_id))
    return Gpu(index, gpu_uuid, model, tuple(slices))


def _serial_number(kind: str, name: str) -> str:
    return f"{kind}-{uuid.uuid5(_UUID_NAMESPACE, name)}"
