"""What does a namespace want done about idle jobs? Pure.

    labels        ai.centaurus.io/idle-policy: suspend      or dry-run, and nothing is suspended
    annotations   ai.centaurus.io/idle-after: 30min         unused for so long is idle
                  ai.centaurus.io/suspend-after: 1h         from when it was told until it happens

The label chooses the namespace and can be listed by; who may set one on a namespace is an
administrator. A value that we do not know is a dry run: who mistypes it suspends nobody.
"""

from dataclasses import dataclass
from enum import StrEnum

from cepheid.annotations.codec import PREFIX
from cepheid.errors import UsageError
from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.units import length_seconds

POLICY = f"{PREFIX}idle-policy"
IDLE_AFTER = f"{PREFIX}idle-after"
SUSPEND_AFTER = f"{PREFIX}suspend-after"
LEAST_SECONDS = 60.0
MOST_SECONDS = 86_400.0
"""Each. Of two days of samples a query is still small; who waits longer may keep them."""


class Do(StrEnum):
    SUSPEND = "suspend"
    DRY_RUN = "dry-run"
    NONE = "none"
    """It cannot be suspended: people are told, and that is all."""


@dataclass(frozen=True, slots=True)
class Policy:
    do: Do
    idle_seconds: float
    suspend_seconds: float


def policy_of(namespace: Raw, defaults: Policy) -> Policy | None:
    """None where it wants none. Raises UsageError where its times cannot be read."""
    word = fields.value(namespace, "metadata", "labels", POLICY)
    if not isinstance(word, str):
        return None
    return Policy(
        Do.SUSPEND if word == Do.SUSPEND else Do.DRY_RUN,
        _seconds(namespace, IDLE_AFTER, defaults.idle_seconds),
        _seconds(namespace, SUSPEND_AFTER, defaults.suspend_seconds),
    )


def _seconds(namespace: Raw, key: str, default: float) -> float:
    text = fields.value(namespace, "metadata", "annotations", key)
    if text is None:
        return default
    found = length_seconds(text) if isinstance(text, str) else None
    if found is None or not LEAST_SECONDS <= found <= MOST_SECONDS:
        shown = fields.one_line(str(text), 40)
        raise UsageError(
            f"namespace {fields.name(namespace, 'metadata', 'name')}: {key} is {shown!r}",
            hint="from 1min to 24h, such as 30min or 2h; until then no job there is called idle",
        )
    return found
