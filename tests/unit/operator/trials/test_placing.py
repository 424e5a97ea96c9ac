"""Affinity of a trial's pods: the user's own terms, and those of the placement."""

from typing import Any

import pytest

from cepheid_operator.trials.copying.placing import REQUIRED, Own, on_type, selecting_its_own
from tests.unit.operator.trials.jobs import A100, T4, TYPE, Document

OURS = {"key": TYPE, "operator": "In", "values": [A100]}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
NAMED = [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
OWN = Own(
    before=(("launcher", {"app": "bert", "role": "l"}), ("worker", {"app": "bert", "role": "w"})),
    job={"trial": "t"},
    role_label="role",
)


def required(*terms: Document) -> Document:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [*terms]}}}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, required({"matchExpressions": [OURS]})),
        ({"nodeSelector": {TYPE: T4}}, required({"matchExpressions": [OURS]})),
        (
            {"nodeSelector": {TYPE: T4, "pool": "x"}},
            {"nodeSelector": {"pool": "x"}, **required({"matchExpressions": [OURS]})},
        ),
        (
            required({"matchExpressions": [ZONE]}, {"matchFields": NAMED}),
            required(
                {"matchExpressions": [ZONE, OURS]},
                {"matchFields": NAMED, "matchExpressions": [OURS]},
            ),
        ),
        # Two that differed in the type alone are one now.
        (
            required(
                {"matchExpressions": [{**OURS, "values": [T4]}, ZONE]},
                {"matchExpressions": [{**OURS, "operator": "NotIn"}, ZONE]},
            ),
            required({"matchExpressions": [ZONE, OURS]}),
        ),
        # An empty term holds nowhere: it must not become one that holds on the whole type.
        (
            required({}, {"matchExpressions": [ZONE]}),
            required({"matchExpressions": [ZONE, OURS]}),
        ),
    ],
)
def test_the_type_is_added_to_every_term_and_replaces_what_was_said_of_it(
    before: Document, after: Document
) -> None:
    on_type(before, TYPE, A100)
    assert before == after


def among(*roles: str) -> Document:
    return {
        "matchLabels": {"trial": "t"},
        "matchExpressions": [{"key": "role", "operator": "In", "values": [*roles]}],
    }


@pytest.mark.parametrize(
    ("term", "selector"),
    [
        ({"labelSelector": {"matchLabels": {"app": "bert"}}}, {"matchLabels": {"trial": "t"}}),
        ({"labelSelector": {"matchLabels": {"role": "w"}}}, among("worker")),
        ({"labelSelector": {"matchLabels": {"app": "cache"}}}, None),
        ({"labelSelector": {}}, None),  # any pod: the trial's own too
        ({}, None),
        ({"labelSelector": {"matchLabels": {"app": "bert"}}, "namespaces": ["other"]}, None),
        ({"labelSelector": "x"}, None),
    ],
)
def test_what_selected_the_jobs_own_pods_selects_the_trials(
    term: dict[str, Any], selector: Document | None
) -> None:
    spec: Document = {
        "affinity": {"podAffinity": {REQUIRED: [dict(term)]}},
        "topologySpreadConstraints": [dict(term)],
    }
    selecting_its_own(spec, OWN)
    expected = term if selector is None else {**term, "labelSelector": selector}
    assert spec["affinity"]["podAffinity"][REQUIRED] == [expected]
    assert spec["topologySpreadConstraints"] == [expected]
