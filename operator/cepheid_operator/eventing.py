"""Events: a word where people look for it, `kubectl describe`."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cepheid.annotations.api import ApiServer, RefusedError
from cepheid.annotations.writer import Kind
from cepheid_operator.profiles import MANAGER

EVENT = Kind.of("", "v1", "Event", "events")
WORDS_CHARACTERS = 1000
"""Kubernetes takes 1,024."""
NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    reason: str
    words: str
    action: str
    warning: bool = False
    key: str = ""
    """Tells it from others of the same reason about the same object."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """For programs."""


def event_of(about: About, word: Word, now: datetime) -> dict[str, Any]:
    """Its name follows from what it says: the same is told once, however often it is tried."""
    at = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    digest = hashlib.sha256(f"{word.reason} {about.uid} {word.key}".rstrip().encode()).hexdigest()
    name = about.name[:NAME_CHARACTERS].rstrip(".-")
    metadata: dict[str, Any] = {"name": f"{name}.{digest[:16]}", "namespace": about.namespace}
    if word.annotations:
        metadata["annotations"] = dict(word.annotations)
    return {
        "metadata": metadata,
        "involvedObject": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
        "type": "Warning" if word.warning else "Normal",
        "reason": word.reason,
        "message": word.words[:WORDS_CHARACTERS],
        "action": word.action,
        "count": 1,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "source": {"component": MANAGER},
        "reportingComponent": "ai.centaurus.io/operator",
        "reportingInstance": MANAGER,
    }


def tell(server: ApiServer, about: About, word: Word, now: datetime) -> bool:
    """False where it was told before. Raises ApiError."""
    event = EVENT.resource(event_of(about, word, now))
    try:
        server.ask(
            f"telling of {about.kind} {about.name}",
            lambda client: client.create(event, field_manager=MANAGER),
        )
    except RefusedError:
        return False
    return True
