"""The fields that dcgm-exporter 4.x exports by default, as a table: name, type, help, value.

Names, types and help texts are those of its etc/default-counters.csv, in the order of their DCGM
field numbers. One type changed over time: NVLINK_BANDWIDTH_TOTAL is a counter in most published
copies of that file and here, a gauge in the newest tree. A value of None is blank: not supported
by this GPU, or not available under MIG.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .activity import Activity
from .inventory import Device
from .meter import DeviceMeasurement, GpuMeasurement

XID_FIELD = "DCGM_FI_DEV_XID_ERRORS"

# The texts that dcgm-exporter gives as err_msg for the codes that operators meet most.
XID_MESSAGES = {
    0: "No Error",
    13: "Graphics Engine Exception",
    31: "GPU memory page fault",
    43: "GPU stopped processing",
    48: "Double Bit ECC Error",
    62: "Internal micro-controller halt",
    63: "ECC page retirement or row remapping recording event",
    64: "ECC page retirement or row remapper recording failure",
    74: "NVLINK Error",
    79: "GPU has fallen off the bus",
    92: "High single-bit ECC error rate",
    94: "Contained ECC error",
    95: "Uncontained ECC error",
    119: "GSP RPC Timeout",
    120: "GSP Error",
}


@dataclass(frozen=True)
class Sight:
    """All that a field's value may depend on."""

    board: GpuMeasurement
    device: Device
    measured: DeviceMeasurement
    xid: int

    @property
    def free_mib(self) -> float:
        model = self.device.model
        return max(0.0, model.memory_mib - model.reserved_mib - self.measured.memory_used_mib)


Value = Callable[[Sight], float | None]


@dataclass(frozen=True)
class Field:
    name: str
    kind: str
    meaning: str  # the HELP text
    value: Value
    is_float: bool = False  # DCGM's own type; it decides how dcgm-exporter prints the number


def _gauge(name: str, meaning: str, value: Value) -> Field:
    return Field(name, "gauge", meaning, value)


def _float_gauge(name: str, meaning: str, value: Value) -> Field:
    return Field(name, "gauge", meaning, value, is_float=True)


def _counter(name: str, meaning: str, value: Value) -> Field:
    return Field(name, "counter", meaning, value)


def gpu_util(window: Activity) -> float:
    return round(100 * window.engine)


def _whole_gpu_only(value: Value) -> Value:
    """NVML's utilisation does not exist for a GPU in MIG mode."""
    return lambda sight: None if sight.device.profile else value(sight)


def _always_zero(_sight: Sight) -> float:
    return 0


def _sm_clock(sight: Sight) -> float:
    model = sight.board.gpu.model
    return model.max_sm_mhz if sight.board.in_use else model.idle_sm_mhz


def _memory_clock(sight: Sight) -> float:
    model = sight.board.gpu.model
    return model.max_memory_mhz if sight.board.in_use else model.idle_memory_mhz


def _gpu_temperature(sight: Sight) -> float:
    model = sight.board.gpu.model
    return model.idle_celsius + (model.busy_celsius - model.idle_celsius) * sight.board.load


def _memory_temperature(sight: Sight) -> float:
    return _gpu_temperature(sight) + 4 if sight.board.gpu.model.has_memory_sensor else 0


def _remapped_rows(sight: Sight) -> float | None:
    return 0 if sight.board.gpu.model.has_row_remapping else None


FIELDS: tuple[Field, ...] = (
    _gauge("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", _sm_clock),
    _gauge("DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", _memory_clock),
    _gauge("DCGM_FI_DEV_MEMORY_TEMP", "Memory temperature (in C).", _memory_temperature),
    _gauge("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", _gpu_temperature),
    _float_gauge("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", lambda s: s.board.power_watts),
    _counter(
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "Total energy consumption since boot (in mJ).",
        lambda s: s.board.energy_millijoules,
    ),
    _counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "Total number of PCIe retries.", _always_zero),
    _gauge(
        "DCGM_FI_DEV_GPU_UTIL",
        "GPU utilization (in %).",
        _whole_gpu_only(lambda s: gpu_util(s.measured.window)),
    ),
    _gauge(
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "Memory utilization (in %).",
        _whole_gpu_only(lambda s: 100 * s.measured.window.dram),
    ),
    _gauge("DCGM_FI_DEV_ENC_UTIL", "Encoder utilization (in %).", _whole_gpu_only(_always_zero)),
    _gauge("DCGM_FI_DEV_DEC_UTIL", "Decoder utilization (in %).", _whole_gpu_only(_always_zero)),
    _gauge(XID_FIELD, "Value of the last XID error encountered.", lambda s: s.xid),
    _gauge("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", lambda s: s.free_mib),
    _gauge(
        "DCGM_FI_DEV_FB_USED",
        "Framebuffer memory used (in MiB).",
        lambda s: s.measured.memory_used_mib,
    ),
    _gauge(
        "DCGM_FI_DEV_FB_RESERVED",
        "Framebuffer memory reserved (in MiB).",
        lambda s: s.device.model.reserved_mib,
    ),
    _counter(
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "Number of remapped rows for uncorrectable errors",
        _remapped_rows,
    ),
    _counter(
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        "Number of remapped rows for correctable errors",
        _remapped_rows,
    ),
    _gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", "Whether remapping of rows has failed", _remapped_rows),
    _counter(
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
        "Total number of NVLink bandwidth counters for all lanes.",
        lambda s: s.measured.done.nvlink / 1e6,
    ),
    _gauge("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "vGPU License status", _always_zero),
    _float_gauge(
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "Ratio of time the graphics engine is active.",
        lambda s: s.measured.interval.engine,
    ),
    _float_gauge(
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "Ratio of cycles the tensor (HMMA) pipe is active.",
        lambda s: s.measured.interval.tensor,
    ),
    _float_gauge(
        "DCGM_FI_PROF_DRAM_ACTIVE",
        "Ratio of cycles the device memory interface is active sending or receiving data.",
        lambda s: s.measured.interval.dram,
    ),
    _gauge(
        "DCGM_FI_PROF_PCIE_TX_BYTES",
        "The rate of data transmitted over the PCIe bus - including both protocol headers"
        " and data payloads - in bytes per second.",
        lambda s: s.measured.interval.pcie_tx,
    ),
    _gauge(
        "DCGM_FI_PROF_PCIE_RX_BYTES",
        "The rate of data received over the PCIe bus - including both protocol headers"
        " and data payloads - in bytes per second.",
        lambda s: s.measured.interval.pcie_rx,
    ),
)

FIELD_NAMES = frozenset(field.name for field in FIELDS)
