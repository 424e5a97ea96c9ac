"""Nothing is looked at more often than it could be written, and nothing urgent waits."""

from cepheid.agent.pace import Pace


def test_what_is_new_changed_or_long_ago_is_due() -> None:
    pace = Pace()
    assert pace.due("gpu", "idle", 0.0)
    assert pace.due("gpu", "idle", 1.0), "asking alone is no look"
    pace.wait("gpu", "idle", 46.0)
    assert not pace.due("gpu", "idle", 45.9)
    assert pace.due("gpu", "idle", 46.0)
    assert pace.due("gpu", "taken", 2.0)
    assert pace.changed("gpu", "taken")
    assert not pace.changed("gpu", "idle")
    assert pace.due("other", "idle", 2.0)


def test_what_is_gone_is_forgotten() -> None:
    pace = Pace()
    pace.wait("gone", None, 100.0)
    pace.wait("there", None, 100.0)
    pace.keep_only({"there"})
    assert pace.due("gone", None, 1.0)
    assert not pace.due("there", None, 1.0)
