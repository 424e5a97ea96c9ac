"""Who acts: by table, and by simulating instances that crash, freeze and lose their network."""

from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cepheid_operator.lease import NOBODY, Record, Step, Terms, View

TERMS = Terms()
MINE, THEIRS = Record("me", "7"), Record("other", "7")
FREE, MADE, MISSING = Record("", "8"), Record(NOBODY, "9"), Record()


@pytest.mark.parametrize(
    ("record", "since", "renewed", "now", "step"),
    [
        (None, 0, None, 100, Step.WAIT),  # nothing was seen yet
        (THEIRS, 0, None, 14.9, Step.WAIT),
        (THEIRS, 0, None, 15, Step.TAKE),
        (FREE, 0, None, 0, Step.TAKE),  # let go of on purpose: at once
        (MINE, 0, None, 0, Step.TAKE),  # we wrote it and never heard the answer
        (MISSING, 0, None, 100, Step.ANNOUNCE),  # it may have been held between two looks
        (MADE, 0, None, 14.9, Step.WAIT),  # and its holder may still act
        (MADE, 0, None, 15, Step.TAKE),
        (MADE, 5, 0, 5, Step.LOST),
        (MINE, 0, 0, 9.9, Step.RENEW),
        (MINE, 0, 0, 10, Step.LOST),  # too late, although nobody else took it
        (THEIRS, 5, 0, 5, Step.LOST),
        (MISSING, 5, 0, 5, Step.CREATE),  # somebody deleted it under us
        (FREE, 5, 0, 5, Step.RENEW),
    ],
)
def test_what_is_done_after_a_look(
    record: Record | None, since: float, renewed: float | None, now: float, step: Step
) -> None:
    assert View("me", record, since, renewed).next_step(now, TERMS) == step


def test_a_lease_that_changes_is_never_free_however_wrong_its_times_are() -> None:
    view = View("me")
    for second in range(0, 300, 14):
        view = view.seen(Record("other", str(second)), second)
        assert view.next_step(second, TERMS) == Step.WAIT


def test_a_renewal_counts_from_when_it_was_sent_not_from_when_it_was_answered() -> None:
    view = View("me").written(MINE, sent_seconds=100)
    assert view.acts(109.9, TERMS)
    assert not view.acts(110, TERMS)


@pytest.mark.parametrize("terms", [(4, 4, 15), (4, 15, 15), (0, 10, 15), (16, 10, 15)])
def test_terms_that_would_let_two_act_are_refused(terms: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="in this order"):
        Terms(*terms)


@dataclass
class Server:
    """A Lease with optimistic locking, as the API server has it."""

    record: Record = field(default_factory=Record)
    writes: int = 0

    def write(self, holder: str, expected: Record) -> Record | None:
        if expected != self.record:
            return None
        self.writes += 1
        self.record = Record(holder, str(self.writes))
        return self.record


@dataclass
class Instance:
    view: View
    next_seconds: float = 0.0
    dead: bool = False


def look(instance: Instance, server: Server, now: float) -> None:
    instance.view = instance.view.seen(server.record, now)
    step = instance.view.next_step(now, TERMS)
    if step is Step.ANNOUNCE and (made := server.write(NOBODY, Record())) is not None:
        instance.view = instance.view.seen(made, now)
    if step in (Step.CREATE, Step.TAKE, Step.RENEW):
        assert instance.view.record is not None
        made = server.write(instance.view.me, instance.view.record)
        if made is not None:
            instance.view = instance.view.written(made, now)
    if step is Step.LOST:
        instance.dead = True  # the process ends; the next one has another name
    acts = instance.view.renewed_seconds is not None
    instance.next_seconds = now + (TERMS.renew_seconds if acts else TERMS.look_seconds)


MISHAPS = st.sampled_from(["none", "kill", "freeze", "delete", "cut"])


@example([("none", 0, 1), ("none", 0, 16), ("delete", 0, 1)])  # made and deleted between two looks
@settings(max_examples=400)
@given(st.lists(st.tuples(MISHAPS, st.integers(0, 2), st.integers(1, 40)), max_size=12))
def test_there_are_never_two_who_act_and_soon_one_whatever_happens(
    mishaps: list[tuple[str, int, int]],
) -> None:
    server, now, born = Server(), 0.0, 3
    instances = [Instance(View(f"i{n}"), next_seconds=n) for n in range(3)]
    away: dict[int, float] = {}

    def run_until(end: float) -> None:
        nonlocal now, born
        while now < end:
            now = round(now + 0.5, 1)
            for place, one in enumerate(instances):
                if one.dead:
                    instances[place] = Instance(View(f"i{born}"), next_seconds=now + 1)
                    born += 1
                elif now >= one.next_seconds and away.get(place, 0) <= now:
                    look(one, server, now)
            acting = [one for one in instances if one.view.acts(now, TERMS)]
            assert len(acting) <= 1

    for what, place, seconds in mishaps:
        if what == "kill":
            instances[place].dead = True
        elif what in ("freeze", "cut"):
            away[place] = now + seconds
        elif what == "delete":
            server.record = Record()
        run_until(now + seconds)
    run_until(now + 60)
    assert any(one.view.acts(now, TERMS) for one in instances)
