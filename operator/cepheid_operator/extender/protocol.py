"""How does kube-scheduler ask? As k8s.io/kube-scheduler/extender/v1 has it.

Field names are those of Go, which writes them as they are. `nodeCacheCapable: true` makes the
scheduler send names instead of whole nodes: a thousand of those would be 15 MB a question.
"""

from typing import Any

import msgspec
from msgspec import Struct

MOST_BYTES = 8 * 2**20
"""Of a question: a pod has at most 1.5 MB, the names of 15,000 nodes another one."""
MOST_NODES = 20_000


class Question(Struct, frozen=True, rename="pascal"):
    pod: dict[str, Any] | None = None
    node_names: list[str] | None = None


class FilterResult(Struct, frozen=True, rename="pascal"):
    node_names: list[str]
    failed_and_unresolvable_nodes: dict[str, str] = {}
    """Where it would not help to evict other pods, as far as anybody can tell."""
    error: str = ""


class HostPriority(Struct, frozen=True, rename="pascal"):
    host: str
    score: int


class QuestionError(ValueError):
    """What was asked cannot be understood; its words are for who set up the scheduler."""


_QUESTION = msgspec.json.Decoder(Question)
_ENCODER = msgspec.json.Encoder()


def read(body: bytes) -> tuple[dict[str, Any], list[str]]:
    """The pod, and the names of the nodes that it could get."""
    try:
        asked = _QUESTION.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise QuestionError(f"this is no question of a kube-scheduler: {problem}") from problem
    if asked.pod is None:
        raise QuestionError("there is no pod in the question")
    if asked.node_names is None:
        raise QuestionError("whole nodes were sent; the extender takes nodeCacheCapable: true")
    if len(asked.node_names) > MOST_NODES:
        raise QuestionError(f"{len(asked.node_names):,} nodes, and at most {MOST_NODES:,}")
    return asked.pod, asked.node_names


def write(answer: FilterResult | list[HostPriority]) -> bytes:
    return _ENCODER.encode(answer)
