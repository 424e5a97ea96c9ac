"""A copy of a job: whole documents, and that nothing differs but what should."""

import copy
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cepheid.placementtrial import Arrange, Placement, TrialError
from cepheid_operator.trials.copying.builders import (
    JOB_LABEL,
    NAME_CHARACTERS,
    ROLE_LABEL,
    TRIAL_LABEL,
    Owner,
    label_value,
    trial_job,
    trial_name,
    trial_pods,
)
from cepheid_operator.trials.copying.template import read
from tests.unit.operator.trials.jobs import A100, GPU, KINDS, T4, TYPE, Document, as_read

COPIES = sorted((Path(__file__).parent / "copies").glob("*.yaml"))
"""A job; where it is tried; the copy of it."""
OWNER = Owner(namespace="team", name="bert", uid="0a1b")


def built(job: Document, placement: Placement, *, one_node: bool = True) -> Document:
    return trial_job(
        as_read(job),
        placement,
        name="bert-trial",
        owner=OWNER,
        type_label=TYPE,
        one_node=one_node,
        deadline_seconds=330,
        pending_seconds=300,
    )


@pytest.mark.parametrize("path", COPIES, ids=lambda path: path.stem)
def test_a_copy_is_the_whole_job_changed_in_its_placement(path: Path) -> None:
    job, where, expected = yaml.safe_load_all(path.read_text())
    before = copy.deepcopy(job)
    placement = msgspec.convert(where["placement"], Placement)
    assert built(job, placement, one_node=where["one_node"]) == expected
    assert job == before


@pytest.mark.parametrize("path", COPIES, ids=lambda path: path.stem)
def test_the_pods_of_a_dry_run_are_those_that_will_be_made(path: Path) -> None:
    *_, trial = yaml.safe_load_all(path.read_text())
    roles = [*trial["spec"].get("mpiReplicaSpecs", trial["spec"].get("pytorchReplicaSpecs", {}))]
    pods = trial_pods(trial)
    names = [one["metadata"].pop("name") for one in pods]
    assert names == [f"bert-trial-{role.lower()}-0" for role in roles or ["Worker"]]
    for made in pods:
        assert made["spec"].pop("restartPolicy") == "Never"
        assert made["metadata"].pop("namespace") == "team"
    templates = [one["template"] for one in _holders(trial)]
    for template in templates:
        template["spec"].pop("restartPolicy", None)
    assert pods == [{"apiVersion": "v1", "kind": "Pod", **template} for template in templates]


def _holders(job: Document) -> list[Document]:
    spec = job["spec"]
    for key in ("mpiReplicaSpecs", "pytorchReplicaSpecs"):
        if key in spec:
            return [*spec[key].values()]
    return [spec]


PLACEMENTS = st.builds(
    Placement,
    gpu_type=st.sampled_from([A100, T4, "H100"]),
    gpus_per_worker=st.integers(1, 16),
    workers=st.integers(1, 64),
    arrange=st.none() | st.sampled_from([*Arrange]),
)
NAMES = st.sampled_from(["a", "app", TYPE, GPU, "zone", "mpirun", "-np", "4", "python"])
ANYTHING = st.recursive(
    st.booleans() | st.integers(-5, 2**40) | NAMES | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TERM = st.fixed_dictionaries(
    {
        "topologyKey": st.sampled_from(["kubernetes.io/hostname", "zone"]),
        "labelSelector": st.sampled_from(
            [{}, {"matchLabels": {"app": "bert"}}, {"matchLabels": {"app": "other"}}]
        ),
    }
)
EXPRESSION = st.fixed_dictionaries(
    {
        "key": st.sampled_from([TYPE, "zone"]),
        "operator": st.just("In"),
        "values": st.lists(NAMES, max_size=2),
    }
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SPREADING = st.fixed_dictionaries(
    {},
    optional={
        REQUIRED: st.lists(TERM, max_size=2),
        PREFERRED: st.lists(
            st.fixed_dictionaries({"weight": st.just(1), "podAffinityTerm": TERM}), max_size=2
        ),
    },
)
POD_SPECS = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": st.dictionaries(NAMES, NAMES, max_size=3),
        "nodeName": NAMES,
        "serviceAccountName": NAMES,
        "priorityClassName": NAMES,
        "terminationGracePeriodSeconds": st.integers(0, 600),
        "volumes": st.lists(st.fixed_dictionaries({"name": NAMES}), max_size=2),
        "securityContext": st.dictionaries(NAMES, ANYTHING, max_size=2),
        "hostNetwork": st.booleans(),
        "topologySpreadConstraints": st.lists(TERM, max_size=2),
        "affinity": st.fixed_dictionaries(
            {},
            optional={
                "nodeAffinity": st.fixed_dictionaries(
                    {
                        REQUIRED: st.fixed_dictionaries(
                            {
                                "nodeSelectorTerms": st.lists(
                                    st.fixed_dictionaries(
                                        {"matchExpressions": st.lists(EXPRESSION, max_size=2)}
                                    ),
                                    max_size=2,
                                )
                            }
                        )
                    }
                ),
                "podAffinity": SPREADING,
                "podAntiAffinity": SPREADING,
            },
        ),
    },
)
CONTAINERS = st.fixed_dictionaries(
    {},
    optional={
        "command": st.lists(NAMES, max_size=5),
        "args": st.lists(NAMES, max_size=5),
        "env": st.lists(st.fixed_dictionaries({"name": NAMES, "value": NAMES}), max_size=2),
        "ports": st.lists(st.fixed_dictionaries({"containerPort": st.integers(1, 9)}), max_size=1),
        "securityContext": st.dictionaries(NAMES, ANYTHING, max_size=2),
    },
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(NAMES, NAMES, max_size=2) | st.just({"app": "bert"}),
        "annotations": st.dictionaries(NAMES, NAMES, max_size=2),
    },
)
RUN = st.fixed_dictionaries(
    {},
    optional={
        "suspend": st.booleans(),
        "runPolicy": st.fixed_dictionaries(
            {},
            optional={
                "cleanPodPolicy": NAMES,
                "queue": NAMES,
                "schedulingPolicy": st.fixed_dictionaries({"minAvailable": st.integers(1, 9)}),
            },
        ),
        "more": ANYTHING,
    },
)


@st.composite
def jobs(draw: st.DrawFn) -> Document:
    make = draw(st.sampled_from([*KINDS.values()]))
    job: Document = make(workers=draw(st.integers(2, 9)), gpus=draw(st.integers(1, 8)))
    job["spec"] |= draw(RUN)
    for holder in _holders(job):
        template = holder["template"]
        template["metadata"] = draw(METADATA)
        template["spec"]["containers"][0] |= draw(CONTAINERS)
        template["spec"] |= draw(POD_SPECS)
    return job


def leaves(thing: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value of a document, with where it stands."""
    inner: Iterator[tuple[object, object]]
    if isinstance(thing, dict) and thing:
        inner = iter(thing.items())
    elif isinstance(thing, list) and thing:
        inner = iter(enumerate(thing))
    else:
        yield path, thing
        return
    for key, value in inner:
        yield from leaves(value, f"{path}/{str(key).replace('/', '~')}")


ROLE = r"/spec(/(mpi|pytorch)ReplicaSpecs/\w+)?"
POD = rf"{ROLE}/template"
CHANGES = re.compile(
    "|".join(
        [
            r"/metadata(/.*)?",
            rf"{POD}/metadata(/labels(/.*)?)?",
            rf"{POD}/spec/(affinity|nodeSelector|topologySpreadConstraints|tolerations)(/.*)?",
            rf"{POD}/spec/containers/0/resources/(limits|requests)/nvidia.com~gpu",
            rf"{POD}/spec/containers/0/(command|args)/\d+",
            rf"{POD}/spec/(nodeName|priorityClassName|terminationGracePeriodSeconds)",
            rf"{POD}/spec/(activeDeadlineSeconds|restartPolicy)",
            rf"{ROLE}/(replicas|restartPolicy)",
            r"/spec/(parallelism|backoffLimit|activeDeadlineSeconds|suspend|slotsPerWorker)",
            r"/spec/runPolicy(/(cleanPodPolicy|suspend|backoffLimit|activeDeadlineSeconds))?",
            r"/spec/runPolicy/schedulingPolicy/(minAvailable|priorityClass)",
            r"/spec/pytorchReplicaSpecs/Worker(/.*)?",  # goes, where one worker is enough
        ]
    )
)


@given(jobs(), PLACEMENTS)
def test_nothing_differs_but_what_makes_it_a_trial(job: Document, placement: Placement) -> None:
    made = built(job, placement)
    before, after = dict(leaves(job)), dict(leaves(made))
    nothing = object()
    different = {
        path
        for path in before.keys() | after.keys()
        if before.get(path, nothing) != after.get(path, nothing)
    }
    assert [path for path in sorted(different) if not CHANGES.fullmatch(path)] == []


@given(jobs(), PLACEMENTS)
def test_a_copy_that_is_read_again_has_the_placement(job: Document, placement: Placement) -> None:
    made = built(job, placement)
    del made["metadata"]["ownerReferences"]
    found = as_read(made)
    assert (found.workers, found.gpus_per_worker) == (placement.workers, placement.gpus_per_worker)
    assert found.gpu_type == placement.gpu_type
    for role, old in zip(found.worker_roles, as_read(job).worker_roles, strict=False):
        (container,) = role.pod["spec"]["containers"]
        assert container["image"] == old.pod["spec"]["containers"][0]["image"]


@given(jobs(), PLACEMENTS)
def test_every_pod_of_a_copy_is_held(job: Document, placement: Placement) -> None:
    for made in trial_pods(built(job, placement)):
        labels, spec = made["metadata"]["labels"], made["spec"]
        assert labels.keys() == {TRIAL_LABEL, JOB_LABEL, ROLE_LABEL}  # no Service selects it
        assert spec["activeDeadlineSeconds"] == 330
        assert 0 <= spec["terminationGracePeriodSeconds"] <= 5
        assert spec["priorityClassName"] == "cepheid-trials"
        assert spec["restartPolicy"] == "Never"
        assert "nodeName" not in spec
        assert [one["tolerationSeconds"] for one in spec["tolerations"][:2]] == [10, 10]


@st.composite
def damaged(draw: st.DrawFn) -> Document:
    """A job with something else in one of its places."""
    job = draw(jobs())
    thing: Any = job
    while True:
        keys = [*thing] if isinstance(thing, dict) else [*range(len(thing))]
        key = draw(st.sampled_from(keys))
        inner = thing[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 5)) == 0:
            thing[key] = draw(ANYTHING | st.none())
            return job
        thing = inner


@given(damaged(), PLACEMENTS)
def test_whatever_was_written_it_is_copied_or_refused(job: Document, placement: Placement) -> None:
    with suppress(TrialError):
        read(job, type_label=TYPE)
        trial_pods(built(job, placement))


TRIAL_NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?", fullmatch=True)


@given(TRIAL_NAMES, PLACEMENTS, st.integers(1, 2))
def test_a_name_is_one_that_every_operator_takes(
    trial: str, placement: Placement, attempt: int
) -> None:
    name = trial_name(trial, placement, attempt)
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name)  # of a Service: DNS-1035
    assert len(name) <= NAME_CHARACTERS
    assert name == trial_name(trial, placement, attempt)


def test_every_trial_has_a_name_of_its_own() -> None:
    placements = [
        Placement(gpu_type=kind, gpus_per_worker=each, workers=many, arrange=arrange)
        for kind in (A100, T4)
        for each in (1, 2)
        for many in (1, 2)
        for arrange in (None, *Arrange)
    ]
    names = [
        trial_name(trial, placement, attempt)
        for trial in ("bert", "bert-2", "b" * 63)
        for placement in placements
        for attempt in (1, 2)
    ]
    assert len(set(names)) == len(names)
    assert trial_name("bert", Placement(gpu_type=T4, workers=4), 1) == "bert-4x1-ac809608"


@given(TRIAL_NAMES)
def test_the_label_is_the_name(trial: str) -> None:
    assert label_value(trial) == trial
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?", label_value(trial + "-" + trial))


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_a_copy_is_in_the_namespace_of_its_owner_whatever_the_job_says(
    make: Callable[..., Document],
) -> None:
    job = make()
    job["metadata"]["namespace"] = "kube-system"
    made = built(job, Placement(gpu_type=T4))
    assert made["metadata"]["namespace"] == "team"
    assert {one["metadata"]["namespace"] for one in trial_pods(made)} == {"team"}
