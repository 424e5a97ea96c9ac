"""How large are the GPUs that a job held, and would smaller ones do?

A smaller one does where the job's memory fits, with its buffer, and where what it kept busy of
its own GPU is no more than the other has: of arithmetic, by the tensor pipe where that was measured
and by the share of the time in which kernels ran where it was not; of memory bandwidth always by
the latter, since how much of it was used is not kept. That is careful: kernels seldom use all that
a GPU has while they run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cepheid.gpu_models import Peaks
from cepheid.gpu_models import peaks_of as found_peaks
from cepheid.jobprofile import JobProfile
from cepheid.jobs.advice import IDLE_PERCENT
from cepheid.jobs.gpu_names import GIGABYTES
from cepheid.reports.sizing import asked as was
from cepheid.reports.sizing.asked import GB, Given, believed

TYPES = ("T4", "L4", "A10", "A30", "L40S", "A100 40GB", "A100 80GB", "H100 80GB", "H200")
"""Common ones that may be asked for instead; the slowest that does is named."""
# By the words of a model's name: how it can be divided (NVIDIA's MIG user guide, profiles that do
# not only add media engines). The first line that fits counts.
SLICES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("H200", ("1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb")),
    ("H100 NVL", ("1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb")),
    ("H100", ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb")),
    ("A100 40", ("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb")),
    ("A100", ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb")),
    ("A30", ("1g.6gb", "2g.12gb")),
)
# Models are few, and jobs many.
peaks_of = lru_cache(maxsize=512)(found_peaks)


@dataclass(frozen=True, slots=True)
class GpuSeen:
    """What one run did with its GPUs."""

    held: int
    used: int
    """Those of workers that never used theirs left out."""
    pods: int
    model: str | None
    """None where they are of several, or slices already."""
    memory_bytes: float | None
    """The most of one GPU: what a pod has on several is shared out evenly."""
    load_percent: float | None
    tensor_percent: float | None


def capacity_bytes(profile: JobProfile, givens: Sequence[Given] | None = None) -> float | None:
    """Of all GPUs, or slices, that it held; None where one is not known."""
    givens = was.givens(profile) if givens is None else givens
    slices = sum([given.slice_bytes * given.pods for given in givens if given.gpus])
    if slices:
        return believed(slices)
    sizes = [_model_bytes(gpu.model) if gpu.mig is None else None for gpu in profile.gpus]
    known = [size for size in sizes if size is not None]
    return believed(sum(known)) if known and len(known) == len(sizes) else None


@lru_cache(maxsize=512)
def _model_bytes(model: str | None) -> float | None:
    """As its name says; else as its data sheet does."""
    named = GIGABYTES.search(model or "")
    if named is not None:
        return believed(float(named[1]) * GB)
    peaks = peaks_of(model)
    return None if peaks is None else peaks.memory_gb * GB


def gpus_of(profile: JobProfile, givens: Sequence[Given] | None = None) -> GpuSeen | None:
    """None for a job without GPUs, or of which nobody measured them."""
    usage = profile.usage
    util = None if usage is None else usage.gpu_util_percent
    steady = was.steadiness(util)
    held = used = pods = 0
    memories: list[float] = []
    for given in was.givens(profile) if givens is None else givens:
        if not given.gpus:
            continue
        loads = was.all_used(given.workers, "gpu_util_percent")
        idle = sum(steady * one.amount <= IDLE_PERCENT for one in loads)
        held, pods = held + given.gpus * given.pods, pods + given.pods
        used += given.gpus * max(0, given.pods - idle)
        if (most := was.most_used(given.workers, "gpu_memory_bytes")) is not None:
            memories.append(most.amount / given.gpus)
    load = None if util is None else believed(util.max)
    if not held or (load is None and not memories):
        return None
    whole = None if usage is None or usage.gpu_memory_bytes is None else usage.gpu_memory_bytes.max
    if not memories and (amount := believed(whole)) is not None:
        memories = [amount / held]
    tensor = None if usage is None else usage.tensor_percent
    models = {gpu.model for gpu in profile.gpus if gpu.mig is None}
    return GpuSeen(
        held=held,
        used=0 if load is not None and steady * load <= IDLE_PERCENT else used,
        pods=pods,
        model=models.pop() if len(models) == 1 else None,
        memory_bytes=max(memories, default=None),
        load_percent=None if load is None else min(100.0, steady * load),
        tensor_percent=None if tensor is None else believed(tensor.p95),
    )


def smaller_types(model: str) -> list[str]:
    """The slowest first."""
    own = peaks_of(model)
    found = [(peaks, name) for name in TYPES if (peaks := peaks_of(name)) is not None]
    if own is None or own.tensor_teraflops is None:
        return []
    speed = own.tensor_teraflops
    lesser = [
        (peaks.tensor_teraflops, name)
        for peaks, name in found
        if peaks.tensor_teraflops is not None
        and (peaks.tensor_teraflops, peaks.memory_gb) < (speed, own.memory_gb)
    ]
    return [name for _, name in sorted(lesser)]


def slices_of(model: str) -> list[str]:
    """As models, `NVIDIA A100-SXM4-80GB MIG 1g.10gb`: the smallest first."""
    words = model.upper().replace("-", " ").split()
    for name, profiles in SLICES:
        if all(any(word.startswith(part) for word in words) for part in name.split()):
            return [f"{model} MIG {profile}" for profile in profiles]
    return []


def does(candidate: str, seen: GpuSeen, memory_buffer_percent: float) -> bool:
    """Whether what a run did on its own GPU has room on the other."""
    own, other = peaks_of(seen.model), peaks_of(candidate)
    if own is None or other is None or seen.memory_bytes is None or seen.load_percent is None:
        return False
    wanted = seen.memory_bytes * (1 + memory_buffer_percent / 100)
    return wanted <= other.memory_gb * GB and _is_fast_enough(own, other, seen)


def _is_fast_enough(own: Peaks, other: Peaks, seen: GpuSeen) -> bool:
    if own.tensor_teraflops is None or other.tensor_teraflops is None:
        return False
    busy = (seen.load_percent or 0.0) / 100
    tensor = busy if seen.tensor_percent is None else min(busy, seen.tensor_percent / 100)
    return (
        tensor * own.tensor_teraflops <= other.tensor_teraflops
        and busy * own.dram_gb_per_second <= other.dram_gb_per_second
    )
