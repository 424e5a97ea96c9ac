"""What is read: every metric as one line of a table. Names of metrics stand here and nowhere else.

A metric feeds one of our signals, whose name carries its unit; `scale` turns the metric's unit (for
a counter: its growth per second) into the signal's. `highest` is generous, and what tells a blank:
dcgm-exporter before 3.x prints DCGM's "not available" as 9.22e18, 2147483632 or 1.4e14 (2**47).
"""

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Who measured. The value is what messages and settings call it."""

    DCGM = "dcgm"
    AMD = "amd"
    CADVISOR = "cadvisor"


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True)
class Metric:
    source: Source
    name: str
    """Of AMD's without the prefix that an installation may put before it."""
    kind: Kind
    unit: str
    highest: float
    """Above it, and below 0, a value was not measured."""
    signal: str
    """What it is called from here on. Where several metrics feed one signal, the first that was
    measured does, except in `SUMMED`."""
    scale: float
    meaning: str


DCGM, AMD, CADVISOR = Source.DCGM, Source.AMD, Source.CADVISOR
GAUGE, COUNTER = Kind.GAUGE, Kind.COUNTER
RATIO = 1.01  # an average of cycles may round to a little more than 1
MIB = 1e8  # 100 TB
BYTES = 1e15
LARGE = 9e18  # the largest round number below the 64-bit blank

METRICS: tuple[Metric, ...] = tuple(
    Metric(*line)
    for line in (
        # dcgm-exporter: a whole GPU, or a MIG instance of one
        (DCGM, "DCGM_FI_DEV_GPU_UTIL", GAUGE, "%", 100.0, "gpu_util_percent", 1.0,
         "some kernel ran, within a second or less before the reading; MIG has none"),
        (DCGM, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", GAUGE, "ratio", RATIO, "engine_active_ratio", 1.0,
         "mean share of time that the graphics or compute engine was active"),
        (DCGM, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", GAUGE, "ratio", RATIO, "tensor_active_ratio", 1.0,
         "mean share of cycles that a tensor pipe was active"),
        (DCGM, "DCGM_FI_PROF_DRAM_ACTIVE", GAUGE, "ratio", RATIO, "dram_active_ratio", 1.0,
         "mean share of cycles that device memory was read or written"),
        (DCGM, "DCGM_FI_PROF_SM_ACTIVE", GAUGE, "ratio", RATIO, "sm_active_ratio", 1.0,
         "mean share of time that a multiprocessor had a warp; off by default"),
        (DCGM, "DCGM_FI_PROF_SM_OCCUPANCY", GAUGE, "ratio", RATIO, "sm_occupancy_ratio", 1.0,
         "mean share of warps that were resident; off by default"),
        (DCGM, "DCGM_FI_DEV_MEM_COPY_UTIL", GAUGE, "%", 100.0, "mem_copy_util_percent", 1.0,
         "device memory was read or written, within a second or less before the reading"),
        (DCGM, "DCGM_FI_DEV_FB_USED", GAUGE, "MiB", MIB, "gpu_memory_used_mib", 1.0,
         "device memory in use"),
        (DCGM, "DCGM_FI_DEV_FB_FREE", GAUGE, "MiB", MIB, "gpu_memory_free_mib", 1.0,
         "device memory that is free"),
        (DCGM, "DCGM_FI_DEV_FB_RESERVED", GAUGE, "MiB", MIB, "gpu_memory_reserved_mib", 1.0,
         "device memory that the driver keeps for itself; not in every install"),
        (DCGM, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", COUNTER, "mJ", LARGE, "power_watts", 1e-3,
         "energy since the driver was loaded: its growth is the true mean power"),
        (DCGM, "DCGM_FI_DEV_POWER_USAGE", GAUGE, "W", 1e5, "power_gauge_watts", 1.0,
         "power at the moment of the reading"),
        (DCGM, "DCGM_FI_DEV_POWER_MGMT_LIMIT", GAUGE, "W", 1e5, "power_limit_watts", 1.0,
         "power that the GPU is held to; off by default"),
        (DCGM, "DCGM_FI_PROF_PCIE_TX_BYTES", GAUGE, "B/s", 1e13, "interconnect_bytes_per_second",
         1.0, "mean rate sent over PCIe"),
        (DCGM, "DCGM_FI_PROF_PCIE_RX_BYTES", GAUGE, "B/s", 1e13, "interconnect_bytes_per_second",
         1.0, "mean rate received over PCIe"),
        (DCGM, "DCGM_FI_PROF_NVLINK_TX_BYTES", GAUGE, "B/s", 1e13, "interconnect_bytes_per_second",
         1.0, "mean rate sent over NVLink; off by default"),
        (DCGM, "DCGM_FI_PROF_NVLINK_RX_BYTES", GAUGE, "B/s", 1e13, "interconnect_bytes_per_second",
         1.0, "mean rate received over NVLink; off by default"),
        (DCGM, "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", COUNTER, "MB", 1e15,
         "interconnect_bytes_per_second", 1e6,
         "sent and received over all NVLinks; a gauge in MB/s in the newest exporters"),
        (DCGM, "DCGM_FI_DEV_GPU_TEMP", GAUGE, "Cel", 1e3, "gpu_temperature_celsius", 1.0,
         "temperature of the GPU"),
        (DCGM, "DCGM_FI_DEV_SM_CLOCK", GAUGE, "MHz", 1e5, "sm_clock_mhz", 1.0,
         "clock of the multiprocessors"),
        (DCGM, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", GAUGE, "bits", 1e9, "clock_event_bits", 1.0,
         "why the clock is not higher; off by default"),
        (DCGM, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", GAUGE, "bits", 1e9, "clock_event_bits", 1.0,
         "the same in exporters before 4.0; off by default"),
        (DCGM, "DCGM_FI_DEV_XID_ERRORS", GAUGE, "code", 1e4, "xid", 1.0,
         "the last error that the driver logged; 0 for none"),
        # AMD's device-metrics-exporter
        (AMD, "gpu_gfx_activity", GAUGE, "%", 100.0, "gpu_util_percent", 1.0,
         "the graphics or compute engine was active"),
        (AMD, "gpu_umc_activity", GAUGE, "%", 100.0, "dram_active_ratio", 1e-2,
         "the memory controller was active"),
        (AMD, "gpu_used_vram", GAUGE, "MiB", MIB, "gpu_memory_used_mib", 1.0,
         "device memory in use"),
        (AMD, "gpu_free_vram", GAUGE, "MiB", MIB, "gpu_memory_free_mib", 1.0,
         "device memory that is free"),
        (AMD, "gpu_total_vram", GAUGE, "MiB", MIB, "gpu_memory_total_mib", 1.0,
         "device memory there is"),
        (AMD, "gpu_energy_consumed", COUNTER, "uJ", LARGE, "power_watts", 1e-6,
         "energy since the driver was loaded"),
        (AMD, "gpu_power_usage", GAUGE, "W", 1e5, "power_gauge_watts", 1.0,
         "power at the moment of the reading"),
        (AMD, "gpu_package_power", GAUGE, "W", 1e5, "power_gauge_watts", 1.0,
         "the same on models that report the package only"),
        (AMD, "gpu_junction_temperature", GAUGE, "Cel", 1e3, "gpu_temperature_celsius", 1.0,
         "temperature at the hottest point of the die"),
        # cAdvisor: containers, and the machine where `id` is "/"
        (CADVISOR, "container_cpu_usage_seconds_total", COUNTER, "s", 1e15, "cpu_cores", 1.0,
         "CPU time used"),
        (CADVISOR, "container_cpu_cfs_periods_total", COUNTER, "1", 1e15,
         "cpu_periods_per_second", 1.0, "scheduler periods under a CPU limit"),
        (CADVISOR, "container_cpu_cfs_throttled_periods_total", COUNTER, "1", 1e15,
         "cpu_throttled_periods_per_second", 1.0, "those in which the limit stopped it"),
        (CADVISOR, "container_memory_working_set_bytes", GAUGE, "B", BYTES,
         "memory_working_set_bytes", 1.0, "memory less inactive page cache: what evictions watch"),
        (CADVISOR, "container_fs_reads_bytes_total", COUNTER, "B", LARGE,
         "disk_read_bytes_per_second", 1.0, "read from disks, by device"),
        (CADVISOR, "container_fs_writes_bytes_total", COUNTER, "B", LARGE,
         "disk_write_bytes_per_second", 1.0, "written to disks, by device"),
        (CADVISOR, "container_network_receive_bytes_total", COUNTER, "B", LARGE,
         "network_receive_bytes_per_second", 1.0, "received, by interface; of whole pods"),
        (CADVISOR, "container_network_transmit_bytes_total", COUNTER, "B", LARGE,
         "network_transmit_bytes_per_second", 1.0, "sent, by interface; of whole pods"),
        (CADVISOR, "container_processes", GAUGE, "1", 1e9, "processes", 1.0,
         "processes that run"),
        (CADVISOR, "machine_cpu_cores", GAUGE, "1", 1e6, "machine_cpu_cores", 1.0,
         "logical CPUs of the machine"),
        (CADVISOR, "machine_memory_bytes", GAUGE, "B", BYTES, "machine_memory_bytes", 1.0,
         "memory of the machine"),
    )
)  # fmt: skip

SUMMED = frozenset({"interconnect_bytes_per_second"})
"""Signals to which every metric adds its part: links, and directions on them."""

BY_NAME = {metric.name: metric for metric in METRICS}


def of(source: Source) -> tuple[Metric, ...]:
    return tuple(metric for metric in METRICS if metric.source is source)
