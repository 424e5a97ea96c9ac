"""How is it said who holds what, why that is one too many, and what to do?"""

import math
from dataclasses import dataclass

from cepheid.jobprofile import JobProfile
from cepheid.reports import words
from cepheid.reports.contention.findings import Kind
from cepheid.reports.contention.holding import Resource
from cepheid.reports.contention.moving import NO_GPUS, gpu_memory_each_bytes

GIB = 2.0**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    kind: Kind
    resource: Resource
    system: str
    node: str
    held: float
    share: float | None
    job: JobProfile
    """The one that holds the most."""
    jobs: int
    util_percent: float | None
    move_to: tuple[str, ...]
    gpu_memory_gb: float | None


def amount(resource: Resource, value: float) -> str:
    match resource:
        case Resource.GPU:
            text = words.figure(value)
            return f"{text} GPU" if text == "1" else f"{text} GPUs"
        case Resource.CPU:
            return words.cores_said(value)
        case Resource.GPU_MEMORY:
            return f"{words.in_bytes(value)} of GPU memory"
        case Resource.MEMORY:
            return words.in_bytes(value)
        case _:
            return f"{words.in_rate(value)} of {resource.value}"


def holds(resource: Resource, value: float, system: str, node: str | None) -> str:
    """In a column: `8 x A100-80`, `24 cores (T4)`, `9.1 MiB/s of disk (gpu-a)`."""
    if resource is Resource.GPU:
        return f"{words.figure(value)} x {system}"
    where = node or system
    return f"{amount(resource, value)} ({where})" if where else amount(resource, value)


def why(case: Case) -> str:
    name, held = case.job.job.name, amount(case.resource, case.held)
    one = case.jobs == 1
    who = name if one else f"{words.counted(case.jobs, 'job')} such as {name}"
    match case.kind:
        case Kind.IDLE:
            return f"{who} {_s('hold', one)} {held} and {_used(case.util_percent)}"
        case Kind.SMALL:
            return f"{who} {_used_little(case)}: {_listed(case.move_to)} would do"
        case Kind.NO_GPU:
            return f"{who} {_s('need', one)} no GPU and {_s('take', one)} {held} of {_nodes(case)}"
        case Kind.BEYOND:
            share = words.figure(case.share or 0.0)
            if case.resource is not Resource.GPU:
                share = amount(case.resource, case.share or 0.0)
            return f"{held} held, where a fair share was {share}; the most by {name}"
        case Kind.HEAVY:
            return f"{held} held, the most by {name}"


def advice(case: Case) -> str:
    there = _listed(case.move_to)
    match case.kind:
        case Kind.IDLE:
            also = f", or move it to {there}, which holds all that it keeps" if there else ""
            return f"end or suspend it while nobody uses it{also}"
        case Kind.SMALL:
            return f"move it to {there}"
        case Kind.NO_GPU:
            return f"move it to nodes without GPUs: {there or 'none is known that has room for it'}"
        case Kind.BEYOND:
            return _share_advice(case, there)
        case Kind.HEAVY:
            return "nothing: nobody waited for it"


def _share_advice(case: Case, there: str) -> str:
    if there and case.resource is Resource.GPU:
        return f"move some of it to {there}, which nobody waits for"
    if there:
        return f"move it to nodes without GPUs: {there}"
    share = case.share or 0.0
    most = amount(case.resource, math.ceil(share) if case.resource is Resource.GPU else share)
    return f"hold {most} while others wait, and queue the rest"


def _used(percent: float | None) -> str:
    if percent is None or percent <= 0:
        return "never used them"
    return f"used {words.in_percent(percent)} of them"


def _used_little(case: Case) -> str:
    usage, parts = case.job.usage, []
    memory = gpu_memory_each_bytes(case.job)
    if memory is not None:
        most = None if case.gpu_memory_gb is None else case.gpu_memory_gb * GIB
        parts.append(f"{words.bytes_of(memory, most)} of each GPU")
    tensor = None if usage is None else usage.tensor_percent
    if tensor is not None and tensor.mean is not None:
        parts.append(f"{words.in_percent(tensor.mean)} of the tensor pipes")
    elif usage is not None and usage.gpu_util_percent is not None:
        parts.append(f"{words.in_percent(usage.gpu_util_percent.mean)} of the time")
    return f"used {' and '.join(parts)}"


def _nodes(case: Case) -> str:
    return f"{case.system} nodes" if case.system != NO_GPUS else "nodes without GPUs"


def _s(verb: str, one: bool) -> str:
    return f"{verb}s" if one else verb


def _listed(names: tuple[str, ...]) -> str:
    return words.listed([*names])
