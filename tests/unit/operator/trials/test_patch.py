"""A patch that places the user's job, and changes nothing else of it."""

import copy
import json
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cepheid.placementtrial import Arrange, Placement
from cepheid_operator.trials.answering.patch import MOST_CHARACTERS, difference, patch
from cepheid_operator.trials.copying.template import JOBS, Template, read
from tests import REPOSITORY

LABEL = "nvidia.com/gpu.product"
COPIES = sorted((REPOSITORY / "tests/unit/operator/trials/copies").glob("*.yaml"))
A100, T4 = "NVIDIA-A100-SXM4-80GB", "Tesla-T4"
JSON = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=3), JSON)


def merged(target: Any, change: Any) -> Any:
    """RFC 7396, as the API server does it."""
    if not isinstance(change, dict):
        return change
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merged(target.get(key), value)
    return target


@given(OBJECTS, OBJECTS)
def test_a_difference_makes_the_one_of_the_other(before: Any, after: Any) -> None:
    assert merged(before, difference(before, after)) == after
    assert difference(before, copy.deepcopy(before)) == {}


def document_of(path: Any) -> tuple[dict[str, Any], Placement]:
    job, how, *_ = yaml.safe_load_all(path.read_text())
    return job, msgspec.convert(how["placement"], Placement)


def without_placement(job: dict[str, Any]) -> dict[str, Any]:
    """What a patch may not change."""
    rest: dict[str, Any] = copy.deepcopy(dict(read(job, type_label=LABEL).document))
    spec = rest["spec"]
    for size in ("parallelism", "completions", "slotsPerWorker", "nprocPerNode", "elasticPolicy"):
        spec.pop(size, None)
    spec.get("runPolicy", {}).get("schedulingPolicy", {}).pop("minAvailable", None)
    key = JOBS[job["apiVersion"], job["kind"]]
    roles = {"Worker": spec} if key is None else spec[key]
    if key is not None and "Master" in roles:
        roles.pop("Worker", None)
    for role in roles.values():
        role.pop("replicas", None)
        pod = role["template"]["spec"]
        for where in ("affinity", "nodeSelector", "topologySpreadConstraints"):
            pod.pop(where, None)
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            for where in ("command", "args", "env", "resources"):
                container.pop(where, None)
    return rest


@pytest.mark.parametrize("path", COPIES, ids=lambda path: path.stem)
def test_a_patched_job_is_placed_and_else_as_it_was(path: Any) -> None:
    job, placement = document_of(path)
    template = read(job, type_label=LABEL)
    text = patch(template, placement, LABEL)
    assert text is not None
    after = merged(template.document, json.loads(text))
    placed = read(after, type_label=LABEL)
    assert (placed.workers, placed.gpus_per_worker, placed.gpu_type) == (
        placement.workers,
        placement.gpus_per_worker,
        placement.gpu_type,
    )
    assert without_placement(after) == without_placement(job)
    assert patch(placed, msgspec.structs.replace(placement, arrange=None), LABEL) is None


def job_of(*, limits: dict[str, Any], **spec: Any) -> Template:
    container = {"name": "main", "image": "x", "resources": {"limits": limits}}
    pod = {"containers": [container], **spec.pop("pod", {})}
    document = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "fit", "labels": {"team": "x"}},
        "spec": {"parallelism": 2, "template": {"spec": pod}, **spec},
    }
    return read(document, type_label=LABEL)


def changes(template: Template, **placement: Any) -> Any:
    known = {"gpu_type": T4, "workers": 2, **placement}
    text = patch(template, Placement(**known), LABEL)
    return None if text is None else json.loads(text)["spec"]


ONE = {"nvidia.com/gpu": 1, "memory": "8Gi"}
ON_T4 = {"nodeSelector": {LABEL: T4}}


def test_a_type_is_a_node_selector_and_no_container_is_touched() -> None:
    assert changes(job_of(limits=ONE)) == {"template": {"spec": {"nodeSelector": {LABEL: T4}}}}


def test_gpus_are_changed_in_containers_that_stand_there_whole() -> None:
    found = changes(job_of(limits=ONE, pod=ON_T4), gpus_per_worker=4)
    limits = {"nvidia.com/gpu": "4", "memory": "8Gi"}
    container = {"name": "main", "image": "x", "resources": {"limits": limits}}
    assert found == {"template": {"spec": {"containers": [container]}}}


def test_what_is_as_it_should_be_needs_no_patch() -> None:
    assert changes(job_of(limits=ONE, pod=ON_T4)) is None


@pytest.mark.parametrize(("completions", "after"), [(2, {"completions": 8}), (64, {}), (None, {})])
def test_a_queue_of_work_keeps_its_length(completions: int | None, after: dict[str, Any]) -> None:
    more = {} if completions is None else {"completions": completions}
    template = job_of(limits=ONE, pod=ON_T4, **more)
    assert changes(template, workers=8) == {"parallelism": 8, **after}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def affinity(*terms: dict[str, list[str]]) -> dict[str, Any]:
    said = [
        {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": values} for key, values in term.items()
            ]
        }
        for term in terms
    ]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": said}}}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (affinity({"zone": ["a"]}), affinity({"zone": ["a"]})),
        (affinity({"zone": ["a"], LABEL: [A100]}), affinity({"zone": ["a"]})),
        (affinity({LABEL: [A100]}), {"affinity": {"nodeAffinity": {}}}),
        (affinity({LABEL: [A100]}, {"zone": ["a"]}), {"affinity": {"nodeAffinity": {}}}),
    ],
)
def test_what_the_job_said_of_the_type_is_taken_out_of_its_affinity(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    template = job_of(limits=ONE, pod=before)
    text = patch(template, Placement(gpu_type=T4, workers=2), LABEL)
    assert text is not None
    pod = merged(template.document, json.loads(text))["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {LABEL: T4}
    assert pod["affinity"] == after["affinity"]


def test_workers_are_kept_apart_by_the_label_that_their_controller_gives_them() -> None:
    spec = changes(job_of(limits=ONE, pod=ON_T4), arrange=Arrange.SPREAD)
    term = {
        "labelSelector": {"matchLabels": {"batch.kubernetes.io/job-name": "fit"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    affinity = {"podAntiAffinity": {REQUIRED: [term]}}
    assert spec == {"template": {"spec": {"affinity": affinity}}}


def test_what_is_too_long_for_a_status_is_left_out() -> None:
    pod = {"initContainers": [{"name": "x", "image": "y", "args": ["z" * MOST_CHARACTERS]}]}
    assert changes(job_of(limits=ONE, pod=pod)) == {"template": {"spec": ON_T4}}
    job = job_of(limits={**ONE, "x" * MOST_CHARACTERS: 1})
    assert changes(job, gpus_per_worker=2) is None
