"""The user's job as it stands, or why it cannot be tried."""

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.jobs.lineage import template_of
from cepheid.placementtrial import JobToTry, TrialError
from cepheid_operator.trials.copying.template import inline, read
from tests.unit.operator.trials.jobs import (
    GPU,
    KINDS,
    T4,
    TYPE,
    Document,
    as_read,
    mpi_job,
    plain_job,
    pod,
    pytorch_job,
    workers_spec,
)

ALL = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@ALL
def test_workers_and_their_gpus_are_counted(make: Callable[..., Document]) -> None:
    found = as_read(make(workers=3, gpus=2))
    assert (found.workers, found.gpus_per_worker, found.gpus) == (3, 2, 6)
    assert (found.gpu_resource, found.gpu_type, found.name) == (GPU, None, "bert")
    assert sum(role.replicas for role in found.worker_roles) == 3


def test_a_pytorch_job_without_a_master_has_its_workers_alone() -> None:
    job = pytorch_job(workers=4)
    del job["spec"]["pytorchReplicaSpecs"]["Master"]
    assert as_read(job).workers == 3


def test_a_master_without_gpus_is_no_worker() -> None:
    job = pytorch_job(workers=4)
    job["spec"]["pytorchReplicaSpecs"]["Master"]["template"] = pod()
    assert as_read(job).workers == 3


def test_a_slice_of_a_gpu_is_as_good_as_a_whole_one() -> None:
    job = plain_job()
    job["spec"]["template"] = pod(2, resource="nvidia.com/mig-1g.5gb")
    found = as_read(job)
    assert (found.gpu_resource, found.gpus_per_worker) == ("nvidia.com/mig-1g.5gb", 2)


@pytest.mark.parametrize(("given_as", "count"), [("2", 2), (2, 2), ("2000m", 2), ("0.002k", 2)])
def test_a_count_is_read_as_kubernetes_writes_it(given_as: object, count: int) -> None:
    job = plain_job()
    workers_spec(job)["containers"][0]["resources"] = {"requests": {GPU: given_as}}
    assert as_read(job).gpus_per_worker == count


def affinity(*terms: list[dict[str, Any]]) -> Document:
    selected = {"nodeSelectorTerms": [{"matchExpressions": one} for one in terms]}
    return {"affinity": {"nodeAffinity": {REQUIRED: selected}}}


def among(*values: str, key: str = TYPE) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [*values]}


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"nodeSelector": {TYPE: T4}}, T4),
        ({"nodeSelector": {"pool": T4}}, None),
        (affinity([among(T4)]), T4),
        (affinity([among("x", key="pool"), among(T4)], [among(T4)]), T4),
        (affinity([among(T4, "another")]), None),
        (affinity([among(T4)], [among("another")]), None),
        (affinity([among(T4)], [among("x", key="pool")]), None),
        (affinity([{"key": TYPE, "operator": "NotIn", "values": [T4]}]), None),
    ],
)
def test_the_type_is_known_where_the_job_itself_names_one(spec: Document, kind: str | None) -> None:
    job = plain_job()
    workers_spec(job).update(spec)
    assert as_read(job).gpu_type == kind


def with_worker(change: Callable[[Document], object], job: Document | None = None) -> Document:
    made = mpi_job() if job is None else job
    change(workers_spec(made))
    return made


def named(text: str) -> Callable[[Document], object]:
    return lambda spec: spec["containers"][0].update(args=["--master", text])


def unlike(job: Document, **changes: Any) -> Document:
    return {**job, **changes}


def without_gpus(role: str) -> Document:
    job = pytorch_job()
    job["spec"]["pytorchReplicaSpecs"][role]["template"] = pod()
    return job


def launcher_with_gpus() -> Document:
    job = mpi_job()
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"] = pod(1)
    return job


def uneven() -> Document:
    job = pytorch_job()
    job["spec"]["pytorchReplicaSpecs"]["Master"]["template"] = pod(2)
    return job


def two_masters() -> Document:
    job = pytorch_job()
    job["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = 2
    return job


def other_role() -> Document:
    job = pytorch_job()
    job["spec"]["pytorchReplicaSpecs"]["Chief"] = {"template": pod(1)}
    return job


TRIAL = [{"kind": "PlacementTrial", "name": "x"}]
REFUSED: dict[str, tuple[Document, str]] = {
    "another kind": (unlike(mpi_job(), kind="TFJob"), "TFJob of kubeflow.org/v2beta1 cannot be"),
    "another version": (unlike(mpi_job(), apiVersion="kubeflow.org/v2"), "cannot be tried"),
    "a PyTorchJob of a version that has none": (
        unlike(pytorch_job(), apiVersion="kubeflow.org/v2beta1"),
        "cannot be tried",
    ),
    "nothing": ({}, "- of - cannot be tried"),
    "no spec": (unlike(plain_job(), spec=None), "spec.template.spec.containers is not a list"),
    "no GPU": (mpi_job(gpus=0), "no worker of the job asks for a GPU"),
    "no worker": (mpi_job(workers=0), "the job has 0 workers with GPUs, not 1 to 1024"),
    "too many workers": (plain_job(workers=1025), "has 1025 workers"),
    "too many GPUs": (plain_job(gpus=65), "that is not one of 1 to 64"),
    "half a GPU": (
        with_worker(lambda spec: spec["containers"][0].update(resources={"limits": {GPU: "500m"}})),
        "that is not one of 1 to 64",
    ),
    "GPUs in two containers": (
        with_worker(lambda spec: spec["containers"].append({**spec["containers"][0], "name": "b"})),
        "holds GPUs in more than one container",
    ),
    "GPUs in an init container": (
        with_worker(lambda spec: spec.update(initContainers=spec["containers"])),
        "holds GPUs in more than one container",
    ),
    "GPUs of two makers": (
        with_worker(
            lambda spec: spec["containers"][0].update(
                resources={"limits": {GPU: 1, "amd.com/gpu": 1}}
            )
        ),
        "of more than one resource: amd.com/gpu, nvidia.com/gpu",
    ),
    "a launcher with GPUs": (launcher_with_gpus(), "here it is Launcher and Worker"),
    "a master alone with GPUs": (without_gpus("Worker"), "the Master holds GPUs and the Worker"),
    "a master with more GPUs": (uneven(), "hold different numbers of GPUs"),
    "two masters": (two_masters(), "a PyTorchJob has one Master"),
    "another role": (other_role(), "spec.pytorchReplicaSpecs.Chief is no role of a PyTorchJob"),
    "a trial": (
        unlike(plain_job(), metadata={"name": "x", "ownerReferences": TRIAL}),
        "this job is itself a trial",
    ),
    "a Job whose pods find each other": (
        with_worker(lambda spec: spec.update(subdomain="x"), plain_job()),
        "find each other by a Service",
    ),
    "a pod called by name": (
        with_worker(named("tcp://bert-worker-0.bert:23456")),
        "the job calls its own pods by name: bert-worker-0",
    ),
    "a pod of a Job called by name": (
        with_worker(named("bert-0.peers"), plain_job()),
        "calls its own pods by name: bert-0.",
    ),
}


@pytest.mark.parametrize(("job", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_tried_is_refused_with_words_and_a_hint(job: Document, words: str) -> None:
    with pytest.raises(TrialError) as refusal:
        as_read(job)
    assert words in refusal.value.message
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"containers": "main"}, "Worker.template.spec.containers is not a list"),
        ({"tolerations": ["all"]}, "spec.tolerations is not a list of mappings"),
        ({"topologySpreadConstraints": {}}, "spec.topologySpreadConstraints is not a list"),
        ({"nodeSelector": ["x"]}, "spec.nodeSelector is not a mapping"),
        ({"affinity": {"podAffinity": "near"}}, "spec.affinity.podAffinity is not a mapping"),
        (
            {
                "affinity": {
                    "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": 1}]}}
                }
            },
            "nodeSelectorTerms.matchExpressions is not a list",
        ),
        ({"containers": [{"resources": []}]}, "spec.containers.resources is not a mapping"),
        ({"containers": [{"command": "sleep"}]}, "spec.containers.command is not a list of texts"),
        ({"initContainers": [{"env": 1}]}, "spec.initContainers.env is not a list"),
    ],
)
def test_what_is_not_in_the_shape_of_a_job_is_refused_with_its_place(
    change: Document, words: str
) -> None:
    with pytest.raises(TrialError) as refusal:
        as_read(with_worker(lambda spec: spec.update(change)))
    assert words in refusal.value.message


@pytest.mark.parametrize("text", ["bert-large-0.5", "albert-worker-0", "bert-4", "s3://bert/x"])
def test_a_text_that_only_looks_like_a_pod_is_no_obstacle(text: str) -> None:
    for job in (mpi_job(), plain_job()):
        as_read(with_worker(named(text), job))


@ALL
def test_the_digest_is_of_what_it_runs_and_of_nothing_else(
    make: Callable[..., Document],
) -> None:
    job = make()
    before = as_read(job).digest
    assert before == template_of(job)  # that of its JobProfiles
    same = copy.deepcopy(job)
    same["metadata"] |= {"annotations": {"ai.centaurus.io/x": "1"}, "resourceVersion": "2"}
    same["spec"] |= {"suspend": True, "runPolicy": {"suspend": True}}
    same["status"] = {"active": 1}
    assert as_read(same).digest == before
    other = copy.deepcopy(job)
    workers_spec(other)["containers"][0]["image"] = "example.org/train:2"
    assert as_read(other).digest != before


INLINE = JobToTry(
    api_version="batch/v1", kind="Job", template={"spec": plain_job()["spec"], "metadata": {}}
)


def test_a_job_that_stands_in_the_trial_is_read_like_one_that_was_made() -> None:
    document = inline(INLINE, "team")
    assert document is not None
    assert as_read(dict(document)).name is None
    assert inline(JobToTry(api_version="batch/v1", kind="Job", name="x"), "team") is None


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ({"kind": "MPIJob"}, "has another kind than spec.job, which has Job"),
        ({"metadata": {"namespace": "others"}}, "another namespace than its PlacementTrial, team"),
    ],
)
def test_one_that_is_not_what_it_is_said_to_be_is_refused(template: Document, words: str) -> None:
    job = JobToTry(api_version="batch/v1", kind="Job", template={**template, "spec": {}})
    with pytest.raises(TrialError, match=words):
        inline(job, "team")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), ANYTHING), st.sampled_from([*KINDS.values()]), ANYTHING)
def test_whatever_is_in_its_place_it_is_a_job_or_refused(
    nonsense: Document, make: Callable[..., Document], spec: object
) -> None:
    for document in (nonsense, {**make(), "spec": spec}, {**make(), "metadata": spec}):
        with suppress(TrialError):
            read(document, type_label=TYPE)


def test_one_that_is_too_deep_is_refused() -> None:
    deep: Document = {}
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(TrialError, match="levels deep"):
        as_read(unlike(plain_job(), more=deep))
