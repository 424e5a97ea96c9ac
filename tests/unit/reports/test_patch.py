"""Advice as a patch: the right one for every kind, and accepted by kubectl itself."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from msgspec.structs import replace

from cepheid.cli.formats import in_yaml
from cepheid.cli.patches import command
from cepheid.jobprofile import Asked, JobProfile
from cepheid.reports.sizing.advised import Rules
from cepheid.reports.sizing.evidence import gathered
from cepheid.reports.sizing.patch import How, Patch, cron_job_of, patch_of, short
from cepheid.reports.sizing.rightsize import advise
from tests.cluster.binaries import binaries
from tests.unit.history.strategies import ATTACKS, PROFILES
from tests.unit.reports.runs import pod_job, process
from tests.unit.reports.sizes import ALIKE, batch, stopped, with_launcher

SMALLER = {"requests": {"memory": "7Gi"}, "limits": {"memory": "7Gi"}}


def patched(*profiles: JobProfile) -> Patch | None:
    (runs,) = gathered(profiles)
    return patch_of(advise(runs, Rules()))


def made(*profiles: JobProfile) -> Patch:
    found = patched(*profiles)
    assert found is not None
    return found


def of_kind(api_version: str, kind: str, role: str | None = None, **others: Any) -> Patch:
    """Of a job that asks for 16Gi and uses 6."""
    given = {"gib": 6.0, "api_version": api_version, "kind": kind, "role": role, **others}
    return made(*(batch(number, **given) for number in range(3)))


def nightly(number: int) -> JobProfile:
    plain = batch(number, gib=6.0)
    minute = int(plain.created.timestamp() // 60)
    return batch(number, gib=6.0, name=f"etl-{minute}", series="etl")


CONTAINERS = [{"name": "main", "resources": SMALLER}]
POD = {"template": {"spec": {"containers": CONTAINERS}}}


def test_a_cron_job_is_patched_where_its_runs_are_made() -> None:
    found = made(*(nightly(number) for number in range(3)))
    assert (found.kind, found.name, found.how) == ("CronJob", "etl", How.STRATEGIC)
    assert found.document == {"spec": {"jobTemplate": {"spec": POD}}}


def test_a_run_of_a_cron_job_is_told_by_the_minute_in_its_name() -> None:
    assert cron_job_of(nightly(0)) == ("batch/v1", "CronJob", "etl")
    for other in ("etl-28", "etl-1", "etl-99999999999", "etl-x", "etl"):
        assert cron_job_of(batch(name=other, series="etl")) is None
    assert cron_job_of(replace(nightly(0), created=batch(9).created)) is None


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_services_are_patched_by_the_name_of_the_container(kind: str) -> None:
    found = of_kind("apps/v1", kind)
    assert (found.how, found.document) == (How.STRATEGIC, {"spec": POD})


@pytest.mark.parametrize("api_version", ["kubeflow.org/v1", "kubeflow.org/v2beta1"])
def test_an_mpi_job_gets_operations_that_test_the_name_first(api_version: str) -> None:
    where = "/spec/mpiReplicaSpecs/Worker/template/spec/containers/0"
    requests = {"cpu": "4", "memory": "7Gi"}
    found = of_kind(api_version, "MPIJob", "Worker")
    assert found.how is How.JSON
    assert found.document == [
        {"op": "test", "path": f"{where}/name", "value": "main"},
        {"op": "add", "path": f"{where}/resources/requests", "value": requests},
        {"op": "add", "path": f"{where}/resources/limits", "value": requests},
    ]


def test_a_pytorch_job_has_its_own_place_and_roles_their_own_operations() -> None:
    found = of_kind("kubeflow.org/v1", "PyTorchJob", "Master")
    path = found.document[0]["path"]
    assert path == "/spec/pytorchReplicaSpecs/Master/template/spec/containers/0/name"
    both = made(*(with_launcher(pod_job(number)) for number in range(3)))
    assert [one["op"] for one in both.document] == ["test", "add", "add", "test", "add"]


def test_resources_that_were_not_there_are_made() -> None:
    found = of_kind("kubeflow.org/v1", "MPIJob", "Worker", requests={}, limits={})
    assert found.document[1]["path"].endswith("/containers/0/resources")
    assert found.document[1]["value"] == {"requests": {"memory": "7Gi", "cpu": "4"}}


def test_the_second_container_is_named_by_its_place() -> None:
    sidecar = Asked(container="proxy", role="Worker", requests={"memory": "1Gi"})
    given = [batch(n, gib=6.0, kind="MPIJob", api_version="kubeflow.org/v1") for n in range(3)]
    own = replace(given[0].asked[0], role="Worker")
    found = made(*(replace(one, asked=(sidecar, own)) for one in given))
    assert found.document[0]["path"].endswith("/containers/1/name")


@pytest.mark.parametrize(
    ("api_version", "kind", "role", "document"),
    [
        ("batch/v1", "Job", None, POD),
        ("v1", "Pod", None, {"containers": CONTAINERS}),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "node",
            {"replicatedJobs": [{"name": "node", "template": {"spec": POD}}]},
        ),
        ("batch.volcano.sh/v1alpha1", "Job", "train", {"tasks": [{"name": "train", **POD}]}),
        ("ray.io/v1", "RayJob", "head", {"rayClusterSpec": {"headGroupSpec": POD}}),
        ("ray.io/v1", "RayJob", "worker", {"rayClusterSpec": {"workerGroupSpecs": [POD]}}),
        (
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            "trainer",
            {"trainer": {"resourcesPerNode": SMALLER}},
        ),
    ],
)
def test_what_cannot_be_changed_gets_lines_of_its_manifest(
    api_version: str, kind: str, role: str | None, document: dict[str, Any]
) -> None:
    found = of_kind(api_version, kind, role)
    assert (found.how, found.is_command) == (How.MANIFEST, False)
    assert found.document == {"apiVersion": api_version, "kind": kind, "spec": document}


def test_a_gpu_that_is_not_used_goes_from_requests_and_limits() -> None:
    held = {**ALIKE, "nvidia.com/gpu": "1"}
    given: dict[str, Any] = {"gib": 14.0, "requests": held, "limits": held, "gpu": (1.0, 1.0)}
    gone = {"nvidia.com/gpu": None}
    found = made(*(batch(number, **given) for number in range(3)))
    (container,) = found.document["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"requests": gone, "limits": gone}
    mpi: dict[str, Any] = {"kind": "MPIJob", "api_version": "kubeflow.org/v1", "role": "Worker"}
    found = made(*(batch(number, **given, **mpi) for number in range(3)))
    assert [one["value"] for one in found.document[1:]] == [ALIKE, ALIKE]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, ("spec",)),
        ({"name": "cron"}, ("spec", "jobTemplate", "spec")),
    ],
)
def test_a_deadline_that_stopped_a_run_is_part_of_it(
    given: dict[str, str], path: tuple[str, ...]
) -> None:
    late = [stopped(number, duration_seconds=600.0) for number in range(3)]
    if given:
        late = [
            replace(one, job=replace(one.job, name=nightly(n).job.name))
            for n, one in enumerate(late)
        ]
    found: Any = made(*late).document
    for step in path:
        found = found[step]
    assert found["activeDeadlineSeconds"] == 1200


def test_an_mpi_jobs_deadline_stands_in_its_run_policy() -> None:
    given = {"kind": "MPIJob", "api_version": "kubeflow.org/v1", "duration_seconds": 600.0}
    (one,) = made(*(stopped(number, **given) for number in range(3))).document
    assert one == {"op": "add", "path": "/spec/runPolicy/activeDeadlineSeconds", "value": 1200}


def test_a_process_gets_what_its_container_should_ask_for() -> None:
    found = made(*(process(number) for number in range(3)))
    assert found.document == {"resources": {"requests": {"memory": "7Gi", "cpu": "6"}}}


def test_where_nothing_is_to_change_there_is_no_patch() -> None:
    assert patched(*(batch(number, gib=14.0) for number in range(3))) is None
    assert patched(*(batch(number, gib=6.0, kind="Odd") for number in range(3))) is None
    nobody: dict[str, Any] = {"kind": "MPIJob", "api_version": "kubeflow.org/v1"}
    assert patched(*(batch(number, gib=6.0, **nobody) for number in range(3))) is None


@pytest.mark.parametrize("name", [*ATTACKS, "a b", "$(id)", "`id`", "a;id", "-o", "a_b", "a'b"])
def test_names_that_kubernetes_does_not_take_make_no_patch(name: str) -> None:
    given = [batch(number, gib=6.0) for number in range(3)]
    own = given[0].asked[0]
    for changed in (
        {"job": replace(given[0].job, namespace=name)},
        {"job": replace(given[0].job, name=name)},
        {"job": replace(given[0].job, api_version=name)},
        {"asked": (replace(own, container=name),)},
        {"asked": (replace(own, limits={**ALIKE, f"{name}/x": "1"}),)},
    ):
        same = [replace(one, **changed) for one in given]
        assert patched(*same) is None


@given(PROFILES)
def test_whatever_the_record_a_command_is_one_command(profile: JobProfile) -> None:
    (runs,) = gathered([profile] * 3)
    found = patch_of(advise(runs, Rules()))
    if found is not None and found.is_command:
        assert len(shlex.split(command(found))) == 7


def test_fields_in_a_column_are_short() -> None:
    assert short("spec.runPolicy.activeDeadlineSeconds") == "activeDeadlineSeconds"
    assert short("limits.nvidia.com/gpu") == "limits.nvidia.com/gpu"


def manifest(found: Patch, pods: tuple[str, ...]) -> dict[str, Any]:
    """As somebody wrote it: more than a patch knows of, and requests left to the default."""
    own = {"name": "main", "image": "etl:3", "resources": {"limits": dict(ALIKE)}}
    spec: Any = {"containers": [own, {"name": "proxy", "image": "proxy:1"}]}
    for step in reversed(pods):
        spec = {step: spec}
    return {"apiVersion": found.api_version, "kind": found.kind, "metadata": {"name": "a"}, **spec}


@pytest.mark.parametrize(
    ("found", "pods"),
    [
        (of_kind("batch/v1", "Job"), ("spec", "template", "spec")),
        (of_kind("apps/v1", "Deployment"), ("spec", "template", "spec")),
        (
            made(*(nightly(number) for number in range(3))),
            ("spec", "jobTemplate", "spec", "template", "spec"),
        ),
        (
            of_kind("kubeflow.org/v2beta1", "MPIJob", "Worker"),
            ("spec", "mpiReplicaSpecs", "Worker", "template", "spec"),
        ),
    ],
    ids=lambda one: one.kind if isinstance(one, Patch) else "",
)
def test_kubectl_applies_it_to_a_manifest(
    found: Patch, pods: tuple[str, ...], tmp_path: Path
) -> None:
    file, change = tmp_path / "job.yaml", tmp_path / "patch.yaml"
    file.write_text(in_yaml(manifest(found, pods)))
    # Of a command its own words, of a manifest the lines that are printed.
    text = shlex.split(command(found))[-1].removeprefix("--patch=")
    change.write_text(text if found.is_command else in_yaml(found.document))
    how = "json" if found.how is How.JSON else "strategic"
    result = subprocess.run(
        [
            binaries() / "bin/kubectl",
            "patch",
            "--local",
            f"--type={how}",
            f"--patch-file={change}",
            f"--filename={file}",
            "--output=json",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    spec = json.loads(result.stdout)
    for step in pods:
        spec = spec[step]
    main, proxy = spec["containers"]
    assert main["image"] == "etl:3"
    assert main["resources"]["limits"] == {"cpu": "4", "memory": "7Gi"}
    assert main["resources"]["requests"]["memory"] == "7Gi"
    assert proxy == {"name": "proxy", "image": "proxy:1"}


def test_lines_of_a_manifest_are_yaml() -> None:
    found = of_kind("batch/v1", "Job")
    assert yaml.safe_load(in_yaml(found.document)) == found.document
