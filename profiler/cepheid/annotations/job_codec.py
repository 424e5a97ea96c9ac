"""The contract of a job's annotations: which keys there are, and what their values look like.

Each key below the domain `ai.centaurus.io`:

    <pod-name>        {"node":"gpu-a","cpu":38,"mem_mb":6200,"gpu":88,"gpu_mem_mb":71000,
                       "net_mbps":120.5,"disk_mbps":3.2}
    job-usage         {"workers":2,"cpu":36,"mem_mb":12100,"gpu":85,"gpu_mem_mb":142000,...}
    job-type          training, inference, interactive, idle, empty, unknown
    cycle             {"period_s":42.1,"strength":0.93,"metric":"power","confirmed":true}
    advice            a sentence
    best-placement    {"type":"Tesla-T4","workers":4,"gpus":1,"arrange":"packed","gain":2.3,
                       "goal":"cost","trial":"bert-base"}
    idle              {"since":"2026-03-01T10:20:00Z","gpus":8,"act":"suspend",
                       "at":"2026-03-01T11:50:00Z","done":true}

The figures are what they are on a Pod, the highest ever seen. A pod's name that is too long for a
key, or is one of the words above or of those that people write (`keep-for`, `hog-exempt`), is cut
and hashed. Written by the operator only; the best placement by its trials, and that it is idle by
its idle policy, each under a name of their own.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations import grammar
from cepheid.annotations.codec import (
    CYCLE,
    HOG_EXEMPT,
    PREFIX,
    Annotations,
    Decoded,
    decoded,
    name_part,
)
from cepheid.annotations.job_facts import (
    BestPlacement,
    IdleFacts,
    JobFacts,
    JobUsageFacts,
    WorkerFacts,
)
from cepheid.annotations.shape import LINE_CHARACTERS, Field, Shape, fits

KEEP_FOR = f"{PREFIX}keep-for"
"""Written by people, as an annotation of a job: `8h`, so long its GPUs may be idle."""
OF_PEOPLE = frozenset(key.removeprefix(PREFIX) for key in (KEEP_FOR, HOG_EXEMPT))
WORDS = frozenset({"job-usage", "job-type", "cycle", "advice", "best-placement", "idle"})
"""With those of people: keys that no worker can have."""

_FIGURES = (
    Field("cpu", grammar.percent, rank=5, attribute="cpu_util_percent", room=3),
    Field("mem_mb", grammar.megabytes, rank=1, attribute="cpu_mem_mb", room=6),
    Field("gpu", grammar.percent, rank=3, attribute="gpu_util_percent", room=3),
    Field("gpu_mem_mb", grammar.megabytes, rank=2, room=6),
    Field("net_mbps", grammar.mbps, rank=6, attribute="network_mbps", room=5),
    Field("disk_mbps", grammar.mbps, rank=7, attribute="disk_io_mbps", room=5),
    Field("shared", grammar.mark, rank=4),
)
_SAYS = frozenset(field.name for field in _FIGURES) - {"shared"}
_WORKER = Shape(WorkerFacts, (Field("node", grammar.name, rank=4), *_FIGURES), one_of=_SAYS)
_USAGE = Shape(JobUsageFacts, (Field("workers", grammar.count, rank=4), *_FIGURES), one_of=_SAYS)
_BEST = Shape(
    BestPlacement,
    (
        Field("type", grammar.label, attribute="gpu_type"),
        Field("workers", grammar.several),
        Field("gpus", grammar.several, attribute="gpus_per_worker"),
        Field("arrange", grammar.word, rank=1),
        Field("gain", grammar.factor, rank=2),
        Field("goal", grammar.word, rank=3),
        Field("trial", grammar.label, rank=4),
    ),
)
_IDLE = Shape(
    IdleFacts,
    (
        Field("since", grammar.time),
        Field("gpus", grammar.several),
        Field("act", grammar.word),
        Field("at", grammar.time, rank=1),
        Field("done", grammar.mark, rank=2),
    ),
)
_SENTENCE = re.compile(r"[ -~]+", re.ASCII)


def worker_key(pod_name: str) -> str:
    """What a worker is called in the facts of its job."""
    if pod_name in WORDS | OF_PEOPLE:
        digest = hashlib.sha256(pod_name.encode()).hexdigest()[:8]
        return f"{pod_name}-{digest}"
    return name_part(pod_name)


def encode_job(facts: JobFacts) -> dict[str, str]:
    written = Annotations()
    for name, worker in facts.workers.items():
        if worker_key(name) != name:
            raise ValueError(f"{name[:80]!r} is no key of a worker")
        written.put(name, _WORKER, worker)
    written.put("job-usage", _USAGE, facts.usage)
    written.scalar("job-type", facts.job_type)
    written.put("cycle", CYCLE, facts.cycle)
    if facts.advice is not None:
        written.scalar("advice", _sentence("advice", facts.advice))
    written.put("best-placement", _BEST, facts.best_placement)
    written.put("idle", _IDLE, facts.idle)
    return written.keys


def decode_job(annotations: Mapping[str, str]) -> Decoded[JobFacts]:
    return decoded(annotations, _job_of)


def _sentence(key: str, text: str) -> str | None:
    """As much of it as fits, whole words only."""
    cleaned = " ".join(re.sub(r"[^ -~]+", " ", text, flags=re.ASCII).split())
    if fits(PREFIX + key, cleaned):
        return cleaned or None
    room = LINE_CHARACTERS - len(PREFIX + key) - len(": ...")
    start = cleaned[: room + 1].rpartition(" ")[0]
    return f"{start}..." if start else None


def _read_sentence(text: str) -> str:
    if not _SENTENCE.fullmatch(text):
        raise ValueError("not a sentence")
    return text


_PLAIN: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "job-usage": ("usage", _USAGE.parse),
    "job-type": ("job_type", JobKind),
    "cycle": ("cycle", CYCLE.parse),
    "advice": ("advice", _read_sentence),
    "best-placement": ("best_placement", _BEST.parse),
    "idle": ("idle", _IDLE.parse),
}


def _job_of(ours: Iterator[tuple[str, str]], ignored: list[str]) -> JobFacts:
    job: dict[str, Any] = {}
    workers: dict[str, WorkerFacts] = {}
    for name, text in ours:
        try:
            if name in _PLAIN:
                attribute, parse = _PLAIN[name]
                job[attribute] = parse(text)
            elif name in OF_PEOPLE:
                continue
            elif worker_key(name) != name:
                raise ValueError("not in the contract")
            else:
                workers[name] = _WORKER.parse(text)
        except (ValueError, RecursionError):  # JSON may be nested deeper than Python goes
            ignored.append(name)
    return JobFacts(workers=workers, **job)
