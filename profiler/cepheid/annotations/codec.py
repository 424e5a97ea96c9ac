"""The contract with everybody who reads: which keys there are, and what their values look like.

On a Node, each key below the domain `ai.centaurus.io`:

    gpu-static          {"count":8,"model":"NVIDIA A100-SXM4-80GB","mem_gb":80}
    gpu-<i>             {"mem_used_gb":71.2,"mem_free_gb":8.8,"pods":1,"cyclic_pattern":true,
                         "max_mem_util":66,"max_gpu_util":100}
    gpu-<i>-job-type    training, inference, interactive, idle, empty, unknown
    gpu-<i>-cycle       {"period_s":42.1,"strength":0.93,"metric":"power","confirmed":true}
    gpu-<i>-forecast    {"horizon_s":600,"util_mean":88,"util_p95":99,"mem_peak_gb":71.4,"mape":6.1}
    gpu-<i>-health      {"lost":true,"xid":79,"throttled":"thermal","since":"2026-03-01T10:20:00Z"}
    cpu-forecast, mem-forecast, free-gpu-score, valid-until

A MIG slice stands as gpu-<i>-mig-<id>. On a Pod (what stands on a job is in `job_codec`):

    cpu_util, cpu_mem_mb, network_mbps, disk_io_mbps, job-type, cycle, forecast
    <node>-gpu-<i>_util, <node>-gpu-<i>_mem_mb      88, or {"value":88,"shared":true}

What is not known is left out, never 0. Key, value and the two characters that `kubectl describe`
puts between them have 140 characters: it cuts what is longer, and a grep shows the key alone. So
that it fits, GB lose their decimal first, then the least important fields are left out.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations import grammar
from cepheid.annotations.facts import (
    CycleFacts,
    ForecastFacts,
    GpuFacts,
    HealthFacts,
    NodeFacts,
    PodFacts,
    PodGpuFacts,
    StaticFacts,
)
from cepheid.annotations.grammar import Kind, Scalar
from cepheid.annotations.shape import Field, Shape, compact, fits, parsed

DOMAIN = "ai.centaurus.io"
PREFIX = f"{DOMAIN}/"
HOG_EXEMPT = f"{PREFIX}hog-exempt"
"""Written by people, as a label or an annotation of a job: "true" where it is to be no hog."""
NAME_CHARACTERS = 63  # of a key after the slash; Kubernetes takes no more
MOST_INDEX = 999
_HASH_CHARACTERS = 8

T = TypeVar("T")

_STATIC = Shape(
    StaticFacts,
    (
        Field("count", grammar.count),
        Field("model", grammar.name, rank=1),
        Field("mem_gb", grammar.gigabytes, rank=2),
    ),
)
_GPU: Shape[dict[str, Any]] = Shape(
    dict,  # the rest of a GPU's facts stands at other keys
    (
        Field("mem_used_gb", grammar.gigabytes, rank=2),
        Field("mem_free_gb", grammar.gigabytes, rank=3),
        Field("pods", grammar.count, rank=1),
        Field("cyclic_pattern", grammar.flag, rank=6),
        Field("max_mem_util", grammar.percent, rank=5, attribute="max_mem_util_percent"),
        Field("max_gpu_util", grammar.percent, rank=4, attribute="max_gpu_util_percent"),
    ),
)
CYCLE = Shape(
    CycleFacts,
    (
        Field("period_s", grammar.seconds, attribute="period_seconds"),
        Field("strength", grammar.ratio),
        Field("metric", grammar.word, rank=3),
        Field("confirmed", grammar.flag, rank=1),
        Field("shared", grammar.mark, rank=1),
    ),
)
_FORECAST = Shape(
    ForecastFacts,
    (
        Field("horizon_s", grammar.seconds, attribute="horizon_seconds"),
        Field("util_mean", grammar.percent, rank=3, attribute="util_mean_percent"),
        Field("util_p95", grammar.percent, rank=4, attribute="util_p95_percent"),
        Field("mem_peak_gb", grammar.gigabytes, rank=2),
        Field("mape", grammar.error_percent, rank=5, attribute="mape_percent"),
        Field("shared", grammar.mark, rank=1),
    ),
    one_of=frozenset({"util_mean", "util_p95", "mem_peak_gb"}),
)
_HEALTH = Shape(
    HealthFacts,
    (
        Field("lost", grammar.mark, rank=1),
        Field("xid", grammar.count, rank=2),
        Field("throttled", grammar.word, rank=3),
        Field("since", grammar.time, rank=4),
    ),
    one_of=frozenset({"lost", "xid", "throttled"}),
)


def encode_node(facts: NodeFacts) -> dict[str, str]:
    written = Annotations()
    written.put("gpu-static", _STATIC, facts.static)
    for gpu in facts.gpus:
        part = _gpu_part(gpu.index, gpu.mig)
        written.put(part, _GPU, gpu)
        written.put(f"{part}-cycle", CYCLE, gpu.cycle)
        written.put(f"{part}-forecast", _FORECAST, gpu.forecast)
        written.put(f"{part}-health", _HEALTH, gpu.health)
        written.scalar(f"{part}-job-type", gpu.job_type)
    written.put("cpu-forecast", _FORECAST, facts.cpu_forecast)
    written.put("mem-forecast", _FORECAST, facts.mem_forecast)
    written.number("free-gpu-score", grammar.percent, facts.free_gpu_score)
    if facts.valid_until is not None:
        written.scalar("valid-until", grammar.write_time(facts.valid_until))
    return written.keys


def encode_pod(facts: PodFacts) -> dict[str, str]:
    written = Annotations()
    for name, kind in _POD_NUMBERS.items():
        written.number(_POD_KEYS[name], kind, getattr(facts, name))
    for gpu in facts.gpus if facts.node is not None else ():
        for suffix, (attribute, kind) in _POD_GPU_NUMBERS.items():
            key = name_part(facts.node or "", f"-{_gpu_part(gpu.index, gpu.mig)}_{suffix}")
            written.number(key, kind, getattr(gpu, attribute), shared=gpu.shared)
    written.scalar("job-type", facts.job_type)
    written.put("cycle", CYCLE, facts.cycle)
    written.put("forecast", _FORECAST, facts.forecast)
    return written.keys


def name_part(name: str, suffix: str = "") -> str:
    """The name, or its beginning and a hash of the whole where Kubernetes would not take it."""
    part = name + suffix
    if len(part) <= NAME_CHARACTERS and _NAME_PART.fullmatch(part):
        return part
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARACTERS]
    room = NAME_CHARACTERS - len(suffix) - len(digest) - 1
    start = re.sub(r"[^A-Za-z0-9._-]", "-", name)[:room].strip("-_.")
    return f"{start}-{digest}{suffix}" if start else f"{digest}{suffix}"


def is_ours(key: str) -> bool:
    return key.startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class Decoded(Generic[T]):
    facts: T
    ignored: tuple[str, ...] = ()
    """Keys of the domain that the contract does not have, or not with such a value."""


def decode_node(annotations: Mapping[str, str]) -> Decoded[NodeFacts]:
    return decoded(annotations, _node_of)


def decode_pod(annotations: Mapping[str, str]) -> Decoded[PodFacts]:
    return decoded(annotations, _pod_of)


def is_heartbeat(key: str) -> bool:
    """Whether the key says only until when the others count."""
    return key == f"{PREFIX}valid-until"


def heartbeat(annotations: Mapping[str, str]) -> datetime | None:
    try:
        return grammar.read_time(annotations.get(f"{PREFIX}valid-until"))
    except ValueError:
        return None


# How a fact of a Pod is called, its kind, and its key.
_POD_NUMBERS = {
    "cpu_util_percent": grammar.percent,
    "cpu_mem_mb": grammar.megabytes,
    "network_mbps": grammar.mbps,
    "disk_io_mbps": grammar.mbps,
}
_POD_KEYS = {name: name.removesuffix("_percent") for name in _POD_NUMBERS}
_POD_FACTS = {key: name for name, key in _POD_KEYS.items()}
_POD_GPU_NUMBERS = {
    "util": ("util_percent", grammar.percent),
    "mem_mb": ("mem_mb", grammar.megabytes),
}
_NAME_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_INDEX = r"(0|[1-9]\d{0,2})"
_NODE_GPU_KEY = re.compile(
    rf"gpu-{_INDEX}(?:-mig-{_INDEX})?(?:-(job-type|cycle|forecast|health))?", re.ASCII
)
_POD_GPU_KEY = re.compile(
    rf"([A-Za-z0-9][A-Za-z0-9._-]*)-gpu-{_INDEX}(?:-mig-{_INDEX})?_(util|mem_mb)", re.ASCII
)


class Annotations:
    """What is written, key by key; what says nothing is left out."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}

    def put(self, name: str, shape: Shape[Any], facts: object) -> None:
        if facts is not None:
            self.scalar(name, shape.text(PREFIX + name, facts))

    def scalar(self, name: str, text: str | None) -> None:
        if text is not None:
            self.keys[PREFIX + name] = str(text)

    def number(self, name: str, kind: Kind, value: float | None, *, shared: bool = False) -> None:
        written = None if value is None else kind.write(value)
        if shared:
            known: dict[str, Scalar] = {} if written is None else {"value": written}
            self.scalar(name, compact({**known, "shared": True}))
        elif written is not None:
            self.scalar(name, compact(written))


def _gpu_part(index: int, mig: int | None) -> str:
    for number in (index, mig or 0):
        if not 0 <= number <= MOST_INDEX:
            raise ValueError(f"the index of a GPU is {number}, and at most {MOST_INDEX}")
    return f"gpu-{index}" if mig is None else f"gpu-{index}-mig-{mig}"


def decoded(
    annotations: Mapping[Any, Any], build: Callable[[Iterator[tuple[str, str]], list[str]], T]
) -> Decoded[T]:
    ignored: list[str] = []
    facts = build(_ours(annotations, ignored), ignored)
    return Decoded(facts, tuple(PREFIX + name for name in ignored))


def _ours(annotations: Mapping[Any, Any], ignored: list[str]) -> Iterator[tuple[str, str]]:
    """Our keys without the domain. The lengths come first: nothing long is ever parsed."""
    for key, text in annotations.items():
        if not isinstance(key, str) or not is_ours(key):
            continue
        name = key.removeprefix(PREFIX)
        if len(name) > NAME_CHARACTERS or not isinstance(text, str) or not fits(key, text):
            ignored.append(name[:NAME_CHARACTERS])
        else:
            yield name, text


def _node_of(ours: Iterator[tuple[str, str]], ignored: list[str]) -> NodeFacts:
    node: dict[str, Any] = {}
    gpus: dict[tuple[int, int | None], GpuFacts] = {}
    plain: dict[str, tuple[str, Callable[[str], object]]] = {
        "gpu-static": ("static", _STATIC.parse),
        "cpu-forecast": ("cpu_forecast", _FORECAST.parse),
        "mem-forecast": ("mem_forecast", _FORECAST.parse),
        "free-gpu-score": ("free_gpu_score", lambda text: grammar.percent.read(parsed(text))),
        "valid-until": ("valid_until", grammar.read_time),
    }
    for name, text in ours:
        try:
            if name in plain:
                attribute, parse = plain[name]
                node[attribute] = parse(text)
                continue
            found = _NODE_GPU_KEY.fullmatch(name)
            if found is None:
                raise ValueError("not in the contract")
            place = _gpu_at(found[1], found[2])
            known = gpus.get(place, GpuFacts(*place))
            gpus[place] = replace(known, **_gpu_facts(found[3], text))
        except ValueError:
            ignored.append(name)
    return NodeFacts(gpus=tuple(sorted(gpus.values(), key=_order)), **node)


def _gpu_at(index: str, mig: str | None) -> tuple[int, int | None]:
    return int(index), None if mig is None else int(mig)


def _order(gpu: GpuFacts | PodGpuFacts) -> tuple[int, int]:
    """A whole GPU before its slices."""
    return gpu.index, -1 if gpu.mig is None else gpu.mig


def _gpu_facts(what: str | None, text: str) -> dict[str, Any]:
    match what:
        case None:
            return _GPU.parse(text)
        case "job-type":
            return {"job_type": JobKind(text)}
        case "cycle":
            return {"cycle": CYCLE.parse(text)}
        case "forecast":
            return {"forecast": _FORECAST.parse(text)}
        case _:
            return {"health": _HEALTH.parse(text)}


def _pod_of(ours: Iterator[tuple[str, str]], ignored: list[str]) -> PodFacts:
    pod: dict[str, Any] = {}
    gpus: dict[tuple[int, int | None], PodGpuFacts] = {}
    plain: dict[str, tuple[str, Callable[[str], object]]] = {
        "job-type": ("job_type", JobKind),
        "cycle": ("cycle", CYCLE.parse),
        "forecast": ("forecast", _FORECAST.parse),
    }
    for name, text in ours:
        try:
            if name in plain:
                attribute, parse = plain[name]
                pod[attribute] = parse(text)
            elif name in _POD_FACTS:
                attribute = _POD_FACTS[name]
                pod[attribute] = _POD_NUMBERS[attribute].read(parsed(text))
            else:
                found = _POD_GPU_KEY.fullmatch(name)
                if found is None or pod.get("node", found[1]) != found[1]:
                    raise ValueError("not in the contract, or of another node")
                place = _gpu_at(found[2], found[3])
                known = gpus.get(place, PodGpuFacts(*place))
                gpus[place] = replace(known, **_pod_gpu_facts(known, found[4], text))
                pod["node"] = found[1]
        except ValueError:
            ignored.append(name)
    return PodFacts(gpus=tuple(sorted(gpus.values(), key=_order)), **pod)


def _pod_gpu_facts(known: PodGpuFacts, suffix: str, text: str) -> dict[str, Any]:
    attribute, kind = _POD_GPU_NUMBERS[suffix]
    found = parsed(text)
    if not isinstance(found, dict):
        return {attribute: kind.read(found)}
    value = kind.read(found["value"]) if "value" in found else None
    return {attribute: value, "shared": known.shared or grammar.mark.read(found.get("shared"))}
