"""Selectors, as Kubernetes reads them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid_operator.trials.copying.selecting import meets, selects, takes, tolerates

LABELS = {"app": "bert", "generation": "7"}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        ({"matchLabels": {"app": "bert"}}, True),
        ({"matchLabels": {"app": "gpt"}}, False),
        ({"matchLabels": {"app": "bert", "more": ""}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["bert", "x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["bert"]}]}, False),
        ({"matchExpressions": [{"key": "no", "operator": "NotIn", "values": ["bert"]}]}, True),
        ({"matchExpressions": [{"key": "no", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "generation", "operator": "Gt", "values": ["6"]}]}, True),
        ({"matchExpressions": [{"key": "generation", "operator": "Gt", "values": ["7"]}]}, False),
        ({"matchExpressions": [{"key": "generation", "operator": "Lt", "values": ["8"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Lt", "values": ["8"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["b"]}]}, False),
        ({"matchExpressions": [{"operator": "DoesNotExist"}]}, False),
    ],
)
def test_a_selector_of_pods(selector: dict[str, Any], *, selected: bool) -> None:
    assert selects(selector, LABELS) is selected


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    return {"affinity": {"nodeAffinity": wanted}}


IS_T4 = {"key": "type", "operator": "In", "values": ["T4"]}
IN_B = {"key": "zone", "operator": "In", "values": ["b"]}


@pytest.mark.parametrize(
    ("spec", "taken"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        ({"nodeSelector": {"type": "T4"}}, True),  # a trial replaces what is said of the type
        (required({"matchExpressions": [IS_T4]}), True),
        (required({"matchExpressions": [IS_T4, IN_B]}), False),
        (required({"matchExpressions": [IN_B]}, {"matchExpressions": [IS_T4]}), True),
        (required({}), False),
        (
            required(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
            ),
            False,
        ),
        (
            required(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
            ),
            True,
        ),
    ],
)
def test_a_node_is_taken_or_not(spec: dict[str, Any], *, taken: bool) -> None:
    assert takes(spec, "n1", {"zone": "a", "type": "A100"}, ignoring="type") is taken


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "yes", "effect": "NoExecute"}, False),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({}, False),
    ],
)
def test_a_taint_is_tolerated_or_not(toleration: dict[str, Any], *, tolerated: bool) -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    assert tolerates({"tolerations": [toleration]}, taint) is tolerated


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("key", "operator", "values"), ANYTHING)))
def test_what_anybody_may_have_written_is_read_all_the_same(expression: dict[str, Any]) -> None:
    assert meets(expression, LABELS) in (True, False)
    selector = {"matchExpressions": expression, "matchLabels": expression}
    assert selects(selector, LABELS) in (True, False)
    assert takes({"nodeSelector": expression}, "n", LABELS, ignoring="x") in (True, False)
    assert tolerates({"tolerations": [expression]}, expression) in (True, False)
