"""Measurements to text, label by label as dcgm-exporter 4.x writes it.

Labels stand in its order: the device's own, Hostname, the static ones, then err_*, pod and vgpu
labels sorted by name. Which pod a series names is its rule too:

- one owner: the device's series carries the pod's labels;
- several owners (time-slicing), default: the last pod that the kubelet lists gets the series;
- several owners, KUBERNETES_VIRTUAL_GPUS: the device's value is copied to every pod, with `vgpu`
  naming the replica. GPU_UTIL and FB_USED alone are each pod's own, and beside them the device's
  series stays without a pod: whoever sums over pods and devices counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .activity import IDLE
from .faults import HEALTHY, OMIT, GpuFaults
from .fields import FIELDS, XID_FIELD, XID_MESSAGES, Field, Sight, gpu_util
from .inventory import DRIVER_VERSION
from .meter import GpuMeasurement

Labels = dict[str, str]


@dataclass(frozen=True)
class Owner:
    """A container that holds a device, as the kubelet's pod-resources API names it."""

    namespace: str
    pod: str
    container: str
    replica: str = ""  # which share of a time-sliced device

    def labels(self, with_replica: bool) -> Labels:
        labels = {"namespace": self.namespace, "pod": self.pod, "container": self.container}
        return labels | {"vgpu": self.replica} if with_replica and self.replica else labels


@dataclass(frozen=True)
class Exposition:
    """How this exporter is set up; it stays the same from collection to collection."""

    hostname: str
    virtual_gpus: bool = False

    def render(
        self,
        boards: Sequence[GpuMeasurement],
        faults: Mapping[int, GpuFaults],
        owners: Mapping[str, Sequence[Owner]],
    ) -> str:
        """The page: `owners` are by device UUID, `faults` by GPU index."""
        sights = [
            (Sight(board, device, measured, found.xid), found.blank)
            for board in boards
            for found in (faults.get(board.gpu.index, HEALTHY),)
            for device, measured in board.devices
        ]
        lines: list[str] = []
        for field in FIELDS:
            samples = [
                line
                for sight, blank in sights
                for line in self._lines(
                    field, sight, blank.get(field.name), owners.get(sight.device.uuid, ())
                )
            ]
            if samples:
                lines.append(f"# HELP {field.name} {field.meaning}")
                lines.append(f"# TYPE {field.name} {field.kind}")
                lines.extend(samples)
        return "\n".join(lines) + "\n" if lines else ""

    def _lines(
        self, field: Field, sight: Sight, blank: str | None, owners: Sequence[Owner]
    ) -> Iterator[str]:
        value = field.value(sight)
        if value is None or blank == OMIT:
            return
        device_labels = self._device_labels(sight)
        error_labels = _error_labels(sight.xid) if field.name == XID_FIELD else {}
        for share, pod_labels in self._shares(field, sight, value, owners):
            attributes = sorted((error_labels | pod_labels).items())
            labels = ",".join(f'{key}="{text}"' for key, text in (*device_labels, *attributes))
            yield f"{field.name}{{{labels}}} {blank or _print(field, share)}"

    def _shares(
        self, field: Field, sight: Sight, value: float, owners: Sequence[Owner]
    ) -> Iterable[tuple[float, Labels]]:
        """The values that one device's value becomes, each with the labels of its pod."""
        if not owners:
            return [(value, {})]
        if not self.virtual_gpus:
            return [(value, owners[-1].labels(with_replica=False))]
        pods = [(owner, owner.labels(with_replica=True)) for owner in owners]
        measured = sight.measured
        if field.name == "DCGM_FI_DEV_GPU_UTIL":
            own = measured.owners_window
            return [(value, {})] + [
                (gpu_util(own.get(owner.pod[:63], IDLE)), labels) for owner, labels in pods
            ]
        if field.name == "DCGM_FI_DEV_FB_USED":
            memory = measured.owners_memory_mib
            return [(value, {})] + [
                (memory.get(owner.pod[:63], 0.0), labels) for owner, labels in pods
            ]
        return [(value, labels) for _, labels in pods]

    def _device_labels(self, sight: Sight) -> list[tuple[str, str]]:
        gpu, device = sight.board.gpu, sight.device
        labels = [
            ("gpu", str(gpu.index)),
            ("UUID", gpu.uuid),
            ("pci_bus_id", gpu.pci_bus_id),
            ("device", f"nvidia{gpu.index}"),
            ("modelName", gpu.model.name),
        ]
        if device.profile:
            labels.append(("GPU_I_PROFILE", device.profile.name))
            labels.append(("GPU_I_ID", str(device.instance_id)))
        labels.append(("Hostname", self.hostname))
        labels.append(("DCGM_FI_DRIVER_VERSION", DRIVER_VERSION))
        return labels


def _error_labels(xid: int) -> Labels:
    return {"err_code": str(xid), "err_msg": XID_MESSAGES.get(xid, "Unknown Error")}


def _print(field: Field, value: float) -> str:
    return f"{value:f}" if field.is_float else str(int(value))
