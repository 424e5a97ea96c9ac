"""What was considered when a pod was placed: written by the extender, shown by `cepheid why-node`.

It stands as JSON in an annotation of an Event about the pod, in the pod's own namespace: so
Kubernetes decides who may see it, and forgets it after an hour. Whoever may create Events there can
write one that looks like it: what is read has to be possible, which does not make it true.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cepheid.errors import CepheidError
from cepheid.jobprofile import Amount, Moment, Name, Record, Words

KEY = "ai.centaurus.io/why-node"
REASON = "NodesConsidered"
COMPONENT, SOURCE = "ai.centaurus.io/operator", "cepheid-operator"
"""What its Event names as reportingComponent, and as component of its source."""
FORGOTTEN_SECONDS = 3600.0
"""After that, unless told otherwise, Kubernetes deletes an Event."""
MOST_SCORE = 10
MOST_NODES = 10
"""Of each list; how many there were in all is told."""
MOST_BYTES = 32_768

Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Score = Annotated[int, Meta(ge=0, le=MOST_SCORE)]
NodeName = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\Z", min_length=1, max_length=253)
]
"""As Kubernetes has them: they are shown to people."""


class Expected(Record, frozen=True, kw_only=True):
    """What the pod will need, by its job's earlier runs."""

    gpus: Count
    job: Annotated[str, Meta(max_length=520)] | None = None
    runs: Count = 0
    memory_gb: Amount | None = None
    seconds: Amount | None = None
    best_type: Name | None = None
    speeds: dict[str, float] = msgspec.field(default_factory=dict)


class Scored(Record, frozen=True, kw_only=True):
    node: NodeName
    score: Score
    parts: dict[str, float] = msgspec.field(default_factory=dict)


class LeftOut(Record, frozen=True, kw_only=True):
    node: NodeName
    why: Words


class Considered(Record, frozen=True, kw_only=True):
    at: Moment
    expected: Expected
    nodes: Count
    """That fitted by what the pod asks for."""
    left_out: Count = 0
    node: NodeName | None = None
    """That it got."""
    unknown: Words | None = None
    best: tuple[Scored, ...] = ()
    out: tuple[LeftOut, ...] = ()


class WhyNodeError(CepheidError):
    """What stands in the Event was not written by an extender that we know."""


def to_text(considered: Considered) -> str:
    return msgspec.json.encode(considered).decode()


def to_document(considered: Considered) -> dict[str, Any]:
    """As plain JSON types."""
    document: dict[str, Any] = msgspec.to_builtins(considered)
    return document


def from_text(text: str) -> Considered:
    if len(text) > MOST_BYTES:
        raise _wrong(f"it has {len(text):,} characters, and at most {MOST_BYTES:,}")
    try:
        found = msgspec.json.decode(text, type=Considered)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as problem:
        words = str(problem) if isinstance(problem, msgspec.MsgspecError) else "it is no JSON"
        raise _wrong(words) from problem
    takes = found.nodes - found.left_out
    if len(found.best) > takes or len(found.out) > found.left_out:
        raise _wrong("it names more nodes than it counts")
    return found


def _wrong(words: str) -> WhyNodeError:
    return WhyNodeError(
        f"the Event cannot be read: {words}",
        hint="was it written by a newer version, or by somebody else?",
    )
