"""What a namespace wants."""

import pytest

from cepheid.errors import UsageError
from cepheid_operator.idle.terms import Do, Policy, policy_of

DEFAULTS = Policy(Do.DRY_RUN, 1800.0, 3600.0)


def namespace(policy: object = None, **times: object) -> dict[str, object]:
    annotations = {f"ai.centaurus.io/{key.replace('_', '-')}": text for key, text in times.items()}
    labels = {} if policy is None else {"ai.centaurus.io/idle-policy": policy}
    return {"metadata": {"name": "team", "labels": labels, "annotations": annotations}}


@pytest.mark.parametrize(
    ("word", "do"),
    [
        ("suspend", Do.SUSPEND),
        ("dry-run", Do.DRY_RUN),
        ("", Do.DRY_RUN),
        ("true", Do.DRY_RUN),
        ("Suspend", Do.DRY_RUN),
        ("none", Do.DRY_RUN),
    ],
)
def test_nothing_but_the_word_itself_suspends(word: str, do: Do) -> None:
    assert policy_of(namespace(word), DEFAULTS) == Policy(do, 1800.0, 3600.0)


def test_without_the_label_there_is_no_policy() -> None:
    assert policy_of(namespace(idle_after="1h"), DEFAULTS) is None
    assert policy_of({}, DEFAULTS) is None


def test_its_times_win_over_the_defaults() -> None:
    found = policy_of(namespace("suspend", idle_after="45min", suspend_after="1.5h"), DEFAULTS)
    assert found == Policy(Do.SUSPEND, 2700.0, 5400.0)


@pytest.mark.parametrize("text", ["", "soon", "59s", "25h", "-1h", "1h 30min", 30, "9" * 400])
def test_a_time_that_cannot_be_read_is_refused_with_a_hint(text: object) -> None:
    for key in ("idle_after", "suspend_after"):
        with pytest.raises(UsageError, match="team") as refused:
            policy_of(namespace("suspend", **{key: text}), DEFAULTS)
        assert "such as 30min" in str(refused.value)
        assert len(refused.value.message) < 200
