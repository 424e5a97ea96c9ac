"""What a GPU of a model draws and can do: dcgm-exporter says neither.

Board power, memory, bandwidth and the dense (not sparse) FP16 peak of the tensor pipes as in
NVIDIA's and AMD's data sheets; at rest as commonly measured, rounded. The first line whose words
all stand in the model's name counts. Names come as nvidia-smi prints them, `NVIDIA A10`, or as
GPU feature discovery writes them into the node's label, `NVIDIA-A10`.
"""

import re
from functools import lru_cache
from typing import NamedTuple


class Power(NamedTuple):
    idle_watts: float
    limit_watts: float


class Peaks(NamedTuple):
    tensor_teraflops: float | None
    """Dense FP16; None where there are no tensor pipes."""
    dram_gb_per_second: float
    memory_gb: float


# Words of the name; watts at rest and at most; teraflops; GB/s; GB.
_MODELS: tuple[tuple[str, float, float, float | None, float, float], ...] = (
    ("B200", 140, 1000, 2250, 8000, 180),
    ("H200", 75, 700, 989, 4800, 141),
    ("H100 PCIe", 50, 350, 756, 2000, 80),
    ("H100 NVL", 60, 400, 835, 3900, 94),
    ("H100", 70, 700, 989, 3350, 80),
    ("A100 PCIE 40", 35, 250, 312, 1555, 40),
    ("A100 PCIe", 45, 300, 312, 1935, 80),
    ("A100 40", 55, 400, 312, 1555, 40),
    ("A100", 55, 400, 312, 2039, 80),
    ("A800", 55, 400, 312, 2039, 80),
    ("L40S", 35, 350, 362, 864, 48),
    ("L40", 35, 300, 181, 864, 48),
    ("L4", 16, 72, 121, 300, 24),
    ("A40", 30, 300, 150, 696, 48),
    ("A30", 28, 165, 165, 933, 24),
    ("A10G", 17, 300, 70, 600, 24),
    ("A10", 17, 150, 125, 600, 24),
    ("A2", 8, 60, 18, 200, 16),
    ("T4", 10, 70, 65, 320, 16),
    ("V100 SXM2 32", 40, 300, 125, 900, 32),
    ("V100 SXM2", 40, 300, 125, 900, 16),
    ("V100 32", 25, 250, 112, 900, 32),
    ("V100", 25, 250, 112, 900, 16),
    ("P100", 28, 250, None, 732, 16),
    ("K80", 26, 149, None, 240, 12),  # one of the two on a board, as nvidia-smi lists them
    ("MI300X", 140, 750, 1307, 5300, 192),
    ("MI250", 90, 560, 362, 3277, 128),
    ("MI210", 40, 300, 181, 1638, 64),
)
_MIG = re.compile(r"\b([1-7])G\.(\d{1,3})GB\b", re.ASCII)
_MIG_SLICES = 7


def power_of(model: str | None) -> Power | None:
    """None where the model is not known: then watts tell the shape of the load, not its level."""
    found = _line_of(model)
    return None if found is None else Power(found[1], found[2])


def peaks_of(model: str | None) -> Peaks | None:
    """Of a MIG instance, `... MIG 3g.40gb`, its share; None where the model is not known."""
    found = _line_of(model)
    if model is None or found is None:
        return None
    _, _, _, teraflops, bandwidth, memory = found
    part = _MIG.search(model.upper())
    if part is None:
        return Peaks(teraflops, bandwidth, memory)
    slices, gigabytes = int(part[1]), float(part[2])
    return Peaks(
        None if teraflops is None else teraflops * slices / _MIG_SLICES,
        bandwidth * min(1.0, gigabytes / memory),
        gigabytes,
    )


@lru_cache(maxsize=256)  # a cluster has a few models, and asks about them all the time
def _line_of(model: str | None) -> tuple[str, float, float, float | None, float, float] | None:
    if model is None:
        return None
    words = model.upper().replace("-", " ").split()
    for line in _MODELS:
        wanted = line[0].upper().split()
        if all(any(word.startswith(part) for word in words) for part in wanted):
            return line
    return None
