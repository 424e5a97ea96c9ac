"""One thing that doctor says: how bad, what, what to do about it, and what to type."""

from dataclasses import dataclass
from enum import StrEnum

from cepheid.doctor.facts import Unseen

INSTALL = "kubectl apply --server-side --force-conflicts -f manifests/cepheid.yaml"
"""Also over what somebody edited by hand: that is what it is a remedy for."""
AGAIN = "apply the manifest of this version again (or your kustomization of it)"
NAMESPACE = "cepheid"


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    """Works, but less well, or could not be looked at."""
    FAIL = "fail"
    """Something does not work, or is wrong."""


@dataclass(frozen=True, slots=True)
class Finding:
    area: str
    level: Level
    words: str
    remedy: str = ""
    command: str = ""


def ok(area: str, words: str) -> Finding:
    return Finding(area, Level.OK, words)


def warn(area: str, words: str, remedy: str, command: str = "") -> Finding:
    return Finding(area, Level.WARN, words, remedy, command)


def fail(area: str, words: str, remedy: str, command: str = "") -> Finding:
    return Finding(area, Level.FAIL, words, remedy, command)


def not_seen(area: str, what: str, unseen: Unseen, command: str = "") -> Finding:
    """Neither well nor broken: nobody could look."""
    remedy = unseen.hint or "look at it with more rights: the rights that it takes are named above"
    return warn(area, f"{what} could not be looked at: {unseen.why}", remedy, command)
