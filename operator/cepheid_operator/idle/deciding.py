"""What is to be done next about one job? Pure: what is known goes in, one step comes out.

    not named --idle long enough--> named --the time has come--> suspended --by people--> not named
                                      |  (in a dry run: told)
                                      +--used again, kept, no policy any more--> not named

The state stands on the job, in `ai.centaurus.io/idle`: an instance that ends in between leaves
nothing that the next one would not decide again.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from cepheid.annotations.job_facts import IdleFacts
from cepheid_operator.idle.keeping import Kept
from cepheid_operator.idle.terms import Do, Policy
from cepheid_operator.idle.use import Use


class Told(StrEnum):
    """What people are told of: each an Event, and a line in the history."""

    IDLE = "GpusIdle"
    USED = "GpusUsedAgain"
    UNSEEN = "GpusNotSeen"
    KEPT = "IdleKept"
    NOT_KEPT = "KeepForUnreadable"
    WOULD_SUSPEND = "IdleWouldSuspend"
    SUSPENDED = "IdleSuspended"
    RESUMED = "IdleResumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A job as it stands at the API server at this moment."""

    gpus: int
    can_be_suspended: bool
    is_suspended: bool
    by_us: bool
    """That it is suspended is our doing."""
    kept: Kept | None = None
    standing: IdleFacts | None = None
    """What we said of it before."""


@dataclass(frozen=True, slots=True)
class Step:
    standing: IdleFacts | None
    """What should stand on it."""
    tell: tuple[Told, ...] = ()
    """Before anything else is done."""
    suspend: bool = False
    """What stands there is then decided anew."""


def decide(policy: Policy | None, seen: Seen, use: Use | None, now: datetime) -> Step:
    standing = seen.standing
    if policy is None:
        return Step(None)
    if seen.is_suspended:
        return _of_suspended(seen)
    if standing is not None and standing.done and standing.act == Do.SUSPEND:
        return Step(None, (Told.RESUMED,))
    if use is None:
        return Step(standing)  # nobody knows: nothing is said, and nothing is taken back
    return _of_running(policy, seen, use, now)


def _of_suspended(seen: Seen) -> Step:
    standing = seen.standing
    if standing is None or not seen.by_us or standing.act != Do.SUSPEND:
        return Step(None)
    if standing.done:
        return Step(standing)
    return Step(replace(standing, done=True), (Told.SUSPENDED,))


def _of_running(policy: Policy, seen: Seen, use: Use, now: datetime) -> Step:
    standing = seen.standing
    since = datetime.fromtimestamp(int(use.idle_seconds), UTC)
    if standing is not None and since > standing.since:
        return Step(None, (Told.UNSEEN if use.used_seconds is None else Told.USED,))
    if standing is None and now - since < timedelta(seconds=policy.idle_seconds):
        return Step(None)
    do = policy.do if seen.can_be_suspended else Do.NONE
    if standing is None or standing.act != do:
        return Step(_named(policy, seen, do, since, now), (Told.IDLE, *_not_kept(seen)))
    return _of_named(standing, seen, now)


def _named(policy: Policy, seen: Seen, do: Do, since: datetime, now: datetime) -> IdleFacts:
    """Also where it was named before, and something else is to happen now: the time begins anew."""
    begun = seen.standing.since if seen.standing is not None else since
    at = None
    if do is not Do.NONE:
        # Whole seconds, as they are written.
        at = now.replace(microsecond=0) + timedelta(seconds=policy.suspend_seconds)
    return IdleFacts(since=begun, gpus=seen.gpus, act=str(do), at=at)


def _of_named(standing: IdleFacts, seen: Seen, now: datetime) -> Step:
    if standing.at is None or standing.done:
        return Step(standing)
    until = None if seen.kept is None else seen.kept.until
    if until is not None and until > standing.at:
        return Step(replace(standing, at=until), (Told.KEPT,))
    if now < standing.at:
        return Step(standing, _not_kept(seen))
    if standing.act == Do.SUSPEND:
        return Step(standing, _not_kept(seen), suspend=True)
    return Step(replace(standing, done=True), (*_not_kept(seen), Told.WOULD_SUSPEND))


def _not_kept(seen: Seen) -> tuple[Told, ...]:
    """Whoever asked for time in words that say nothing hears of it in any case: also where nobody
    looked from the warning until its time had come."""
    is_unreadable = seen.kept is not None and seen.kept.until is None
    return (Told.NOT_KEPT,) if is_unreadable else ()
