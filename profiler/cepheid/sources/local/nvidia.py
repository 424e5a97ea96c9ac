"""NVIDIA's GPUs, by NVML: the library that comes with their driver, in NVIDIA's own binding.

What one GPU does not support is not asked of it again; a GPU that is lost loses its figures, and
the others keep theirs.
"""

import contextlib
import ctypes
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cepheid.errors import SourceError
from cepheid.sources.local.facts import GpuFacts, printable
from cepheid.sources.local.files import Roots
from cepheid.sources.local.gpus import MIB, GpuReading
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.seldom import Seldom

LIBRARY = "libnvidia-ml.so.1"
_MILLI = 1e-3
_FIRST_NAMESPACE = "pid:[4026531836]"
"""Of the machine itself, PROC_PID_INIT_INO of linux/proc_ns.h: NVML numbers processes alike."""


def nvidia_gpus(tree: Tree, roots: Roots, first_index: int) -> "Nvidia | None":
    """None where there is no such driver; SourceError where there is and it does not answer."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    try:
        import pynvml  # noqa: PLC0415 (3 MiB, for those who have the driver)
    except ImportError as error:
        raise SourceError(
            "NVIDIA's driver is there, its binding for Python is not",
            hint="pip install 'cepheid[laptop]', or nvidia-ml-py",
        ) from error
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise SourceError(
            f"NVML does not start: {_words(error)}",
            hint="if nvidia-smi fails as well, the driver needs a restart or an update",
        ) from error
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        devices = [_Device(pynvml, handle) for handle in handles]
        gpus = tuple(device.facts(first_index + i) for i, device in enumerate(devices))
    except pynvml.NVMLError as error:
        pynvml.nvmlShutdown()
        raise SourceError(f"NVML does not tell which GPUs there are: {_words(error)}") from error
    if not devices:
        pynvml.nvmlShutdown()
        return None
    return Nvidia(pynvml, tree, gpus, tuple(devices), whole_machine=_whole_machine(roots))


@dataclass(slots=True, eq=False)
class _Device:
    nvml: Any
    handle: Any
    unsupported: set[str] = field(default_factory=set)
    _old_memory: bool = False
    """A driver that only knows the older call, in which `used` holds what it reserves itself."""

    def facts(self, index: int) -> GpuFacts:
        nvml = self.nvml
        memory = self.ask("memory", self._memory)
        return GpuFacts(
            index=index,
            vendor="nvidia",
            model=printable(self.ask("name", lambda: nvml.nvmlDeviceGetName(self.handle))),
            uuid=printable(self.ask("uuid", lambda: nvml.nvmlDeviceGetUUID(self.handle))),
            memory_total_mib=None if memory is None else memory.total / MIB,
            power_limit_watts=_scaled(
                self.ask("limit", lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(self.handle)), _MILLI
            ),
        )

    def read(self, tree_mib: float) -> GpuReading:
        nvml, handle = self.nvml, self.handle
        rates = self.ask("utilisation", lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        memory = self.ask("memory", self._memory)
        power = self.ask("power", lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        energy = self.ask("energy", lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle))
        return GpuReading(
            gpu_util_percent=math.nan if rates is None else float(rates.gpu),
            mem_copy_util_percent=math.nan if rates is None else float(rates.memory),
            gpu_memory_used_mib=math.nan if memory is None else memory.used / MIB,
            gpu_tree_memory_mib=tree_mib,
            gpu_power_watts=math.nan if power is None else power * _MILLI,
            gpu_energy_joules=math.nan if energy is None else energy * _MILLI,
        )

    def tree_mib(self, pids: frozenset[int], *, whole_machine: bool) -> float:
        """NaN where it is not told, or where the numbers of processes are those of outside."""
        nvml = self.nvml
        # Of MPS clients and of some that draw as well both lists tell: a process counts once.
        held: dict[int, float | None] = {}
        for what, ask in (
            ("compute processes", nvml.nvmlDeviceGetComputeRunningProcesses),
            ("graphics processes", nvml.nvmlDeviceGetGraphicsRunningProcesses),
        ):
            for process in self.ask(what, partial(ask, self.handle)) or ():
                held[process.pid] = process.usedGpuMemory
        if "compute processes" in self.unsupported:
            return math.nan
        ours = [amount for pid, amount in held.items() if pid in pids]
        if None in ours or (not ours and held and not whole_machine):
            return math.nan
        return sum(amount for amount in ours if amount is not None) / MIB

    def ask(self, what: str, question: Callable[[], Any]) -> Any:
        """None where it has no answer to that; NVMLError where it has none to anything."""
        if what in self.unsupported:
            return None
        nvml = self.nvml
        try:
            return question()
        except (
            nvml.NVMLError_GpuIsLost,
            nvml.NVMLError_ResetRequired,
            nvml.NVMLError_Uninitialized,
        ):
            raise
        except (
            nvml.NVMLError_NotSupported,
            nvml.NVMLError_FunctionNotFound,
            nvml.NVMLError_NoPermission,
            nvml.NVMLLibraryMismatchError,
        ):
            self.unsupported.add(what)
        except nvml.NVMLError:
            pass  # a moment's trouble: it is asked again
        return None

    def _memory(self) -> Any:
        nvml = self.nvml
        if not self._old_memory:
            try:
                return nvml.nvmlDeviceGetMemoryInfo(self.handle, version=nvml.nvmlMemory_v2)
            except (
                nvml.NVMLError_FunctionNotFound,
                nvml.NVMLError_ArgumentVersionMismatch,
                nvml.NVMLError_NotSupported,
            ):
                self._old_memory = True
        return nvml.nvmlDeviceGetMemoryInfo(self.handle)


@dataclass(slots=True, eq=False)
class Nvidia:
    nvml: Any
    tree: Tree
    gpus: tuple[GpuFacts, ...]
    devices: tuple[_Device, ...]
    whole_machine: bool = True
    """We number processes as the driver does; in a container of its own it may do otherwise."""
    troubles: dict[str, str] = field(default_factory=dict)
    seldom: Seldom = field(default_factory=lambda: Seldom(least_seconds=0.0))
    """Who holds memory is the costly question."""
    _lost: set[int] = field(default_factory=set)

    def read(self) -> Sequence[GpuReading]:
        look = self.seldom.due()
        pids = frozenset(self.tree.pids)
        readings = [
            self._one(gpu, device, pids if look else None)
            for gpu, device in zip(self.gpus, self.devices, strict=True)
        ]
        if look:
            self.seldom.done()
        return readings

    def close(self) -> None:
        with contextlib.suppress(self.nvml.NVMLError):  # it may have been closed already
            self.nvml.nvmlShutdown()

    def _one(self, gpu: GpuFacts, device: _Device, pids: frozenset[int] | None) -> GpuReading:
        if gpu.index in self._lost:
            return GpuReading()
        try:
            tree = math.nan
            if pids is not None:
                tree = device.tree_mib(pids, whole_machine=self.whole_machine)
            return device.read(tree)
        except self.nvml.NVMLError as error:
            self._lost.add(gpu.index)
            self.troubles[f"gpu {gpu.index}"] = _words(error)
            return GpuReading()


def _whole_machine(roots: Roots) -> bool:
    try:
        return os.readlink(f"{roots.proc}/self/ns/pid") == _FIRST_NAMESPACE  # noqa: PTH115
    except OSError:
        return False


def _words(error: Exception) -> str:
    return str(error).rstrip(".").lower()


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale
