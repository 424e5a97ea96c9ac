"""The patch of a PlacementTrial's answer, applied by kubectl to real objects and to manifests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cepheid.placementtrial import Placement
from cepheid_operator.trials.answering.patch import patch
from cepheid_operator.trials.copying.template import read
from tests import REPOSITORY
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import ClusterError
from tests.stage.surroundings import Stage

NAMESPACE = "trial-patch"
LABEL = "nvidia.com/gpu.product"
T4 = "Tesla-T4"
PYTORCH = REPOSITORY / "tests/unit/operator/trials/copies/pytorch-with-a-master.yaml"


@pytest.fixture(scope="module")
def admin(running: Stage) -> Iterator[Kubectl]:
    running.api.start()
    within = running.api.admin.within(NAMESPACE)
    within.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield within
    within("delete", "jobs", "--all", "--cascade=background")


def made(admin: Kubectl, name: str, *, suspend: bool = True) -> Any:
    """A Job, as it stands in the cluster."""
    limits = {"nvidia.com/gpu": 1, "memory": "1Gi"}
    container = {"name": "main", "image": "x", "resources": {"limits": limits}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    spec = {"suspend": suspend, "parallelism": 2, "template": {"spec": pod}}
    admin.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})
    return admin.get("job", name)


def patched(admin: Kubectl, job: Any, **placement: Any) -> Any:
    name = job["metadata"]["name"]
    text = patch(read(job, type_label=LABEL), Placement(gpu_type=T4, **placement), LABEL)
    assert text is not None
    admin("patch", "job", name, "--type=merge", f"--patch={text}")
    return admin.get("job", name)["spec"]


def test_a_suspended_job_takes_another_number_of_pods_and_another_type(admin: Kubectl) -> None:
    job = made(admin, "suspended")
    after = patched(admin, job, workers=4)
    pod = job["spec"]["template"]["spec"] | {"nodeSelector": {LABEL: T4}}
    expected = {**job["spec"], "parallelism": 4, "template": {**after["template"], "spec": pod}}
    assert after == expected


def test_a_job_takes_no_other_number_of_gpus(admin: Kubectl) -> None:
    job = made(admin, "fixed")
    with pytest.raises(ClusterError, match="field is immutable"):
        patched(admin, job, workers=2, gpus_per_worker=4)


def test_the_manifest_of_a_job_is_placed_without_a_cluster(admin: Kubectl, tmp_path: Path) -> None:
    document = next(yaml.safe_load_all(PYTORCH.read_text()))
    manifest = tmp_path / "job.yaml"
    manifest.write_text(yaml.safe_dump(document))
    text = patch(read(document, type_label=LABEL), Placement(gpu_type=T4, workers=2), LABEL)
    placed = json.loads(
        admin.within("team")(
            *("patch", "--local", f"--filename={manifest}", "--type=merge"),
            *(f"--patch={text}", "--output=json"),
        )
    )
    found = read(placed, type_label=LABEL)
    assert (found.workers, found.gpus_per_worker, found.gpu_type) == (2, 1, T4)
    assert placed["metadata"] == document["metadata"] | {
        "namespace": placed["metadata"]["namespace"]
    }
