"""Which of several instances acts? Pure: what a Lease says and a steady clock in, what to do out.

Nobody's clock is compared with anybody else's. A Lease that changes is held; one that was looked at
for its whole duration and did not change is free. Whoever holds it and could not renew it stops
well before that, by its own clock: so there are never two who act.

That there is no Lease proves nothing: it may have been made, held and deleted between two looks,
and its holder may still act. So one is made that nobody holds, and taken when it stood long enough.

      0 s          4 s          8 s    10 s           15 s
      renewed      renews       renews  stops acting   another one may take it
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Terms:
    """In seconds, from the last time that it was renewed."""

    renew_seconds: float = 4.0
    give_up_seconds: float = 10.0
    """The holder stops acting: what it sent by then has `free_seconds` less this to arrive."""
    free_seconds: float = 15.0
    look_seconds: float = 2.0
    """From one look of who waits to the next."""

    def __post_init__(self) -> None:
        if not 0 < self.renew_seconds < self.give_up_seconds < self.free_seconds:
            raise ValueError("a lease is renewed, then given up, then free, in this order")


@dataclass(frozen=True, slots=True)
class Record:
    """What stands in the Lease; a missing one has no holder and no version."""

    holder: str = ""
    version: str = ""
    """Any write changes it."""
    transitions: int = 0


NOBODY = "-"
"""Holds a Lease that was made because there was none."""


class Step(StrEnum):
    ANNOUNCE = "announce"
    """There is none: write one that nobody holds."""
    CREATE = "create"
    """Ours was deleted: write it again."""
    TAKE = "take"
    """It is free."""
    RENEW = "renew"
    WAIT = "wait"
    LOST = "lost"
    """We held it, and may not any more."""


@dataclass(frozen=True, slots=True)
class View:
    """One instance's: what it saw last, since when that stands, and until when it may act."""

    me: str
    record: Record | None = None
    since_seconds: float = 0.0
    renewed_seconds: float | None = None
    """When our last renewal that succeeded was sent; None while it is not ours."""

    def seen(self, record: Record, now_seconds: float) -> "View":
        """What the API server answered to a question that was sent at `now_seconds`."""
        if self.record == record:
            return self
        return View(self.me, record, now_seconds, self.renewed_seconds)

    def written(self, record: Record, sent_seconds: float) -> "View":
        """It is ours as of when the request was sent: what others saw can only be later."""
        return View(self.me, record, sent_seconds, sent_seconds)

    def acts(self, now_seconds: float, terms: Terms) -> bool:
        return self.renewed_seconds is not None and now_seconds < self.deadline(terms)

    def deadline(self, terms: Terms) -> float:
        return (self.renewed_seconds or 0.0) + terms.give_up_seconds

    def next_step(self, now_seconds: float, terms: Terms) -> Step:
        """After a fresh look."""
        if self.record is None:
            return Step.WAIT
        if self.renewed_seconds is not None:
            ours = self.record.holder in (self.me, "")
            if not ours or now_seconds >= self.deadline(terms):
                return Step.LOST
            return Step.RENEW if self.record.version else Step.CREATE
        if not self.record.version:
            return Step.ANNOUNCE
        if self.record.holder in (self.me, ""):
            return Step.TAKE  # whoever had it let go of it, or our write was never answered
        stood = now_seconds - self.since_seconds >= terms.free_seconds
        return Step.TAKE if stood else Step.WAIT
