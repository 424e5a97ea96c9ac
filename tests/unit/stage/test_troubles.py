"""Which lines of a log are trouble, and which are only of a busy machine?"""

from tests.stage.ours import Entry, is_trouble, without_waits

LATE = "looking after the Lease: reading Lease cepheid/cepheid-operator: no answer in time"
LATE_TOO = "reading Prometheus: no whole answer from http://127.0.0.1:9090 within 10 s; hint: wait"
REFUSED = "writing: writing JobProfile a: 422, no"


def entries(*messages: str) -> list[Entry]:
    levels = ["info" if ": over, after " in message else "warning" for message in messages]
    return [{"level": a, "message": b} for a, b in zip(levels, messages, strict=True)]


def troubles(*messages: str) -> list[str]:
    return [one["message"] for one in without_waits(entries(*messages)) if is_trouble(one)]


def test_a_server_that_was_late_is_no_trouble_once_it_is_over() -> None:
    assert troubles(LATE, "looking after the Lease: over, after 1 time") == []
    assert troubles(LATE_TOO, LATE, "looking after the Lease: over, after 2 times") == [LATE_TOO]


def test_of_two_alike_the_one_that_goes_on_counts() -> None:
    assert troubles(LATE, "looking after the Lease: over, after 1 time", LATE) == [LATE]


def test_another_trouble_counts_though_it_is_over() -> None:
    assert troubles(REFUSED, "writing: over, after 3 times") == [REFUSED]


def test_the_end_of_something_else_is_not_its_end() -> None:
    late = "writing Events: telling of Job a: no answer in time"
    assert troubles(late, "writing: over, after 1 time") == [late]


def test_what_was_over_before_is_not_the_end_of_what_comes_later() -> None:
    assert troubles("looking after the Lease: over, after 1 time", LATE) == [LATE]
