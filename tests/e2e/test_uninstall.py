"""The product is taken away again: the last test of all, since the others need it."""

import pytest

from cepheid.annotations.codec import PREFIX, is_ours
from tests import REPOSITORY
from tests.cluster.kubectl import Kubectl
from tests.e2e.watched import annotations
from tests.e2e.workloads import pod_spec

INSTALL = REPOSITORY / "manifests/cepheid.yaml"
UNINSTALL = REPOSITORY / "manifests/uninstall.yaml"
JOB = "mine"


@pytest.mark.patient
def test_after_the_uninstall_nothing_is_left(kubectl: Kubectl, namespace: Kubectl) -> None:
    template = {"spec": pod_spec(["infinity"], gpus=0, command=["sleep"])}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": JOB}}
    namespace.apply(job | {"spec": {"suspend": True, "template": template}})
    namespace("annotate", f"job/{JOB}", f"{PREFIX}advice=ask for less", "example.org/theirs=stays")
    kubectl("delete", f"--filename={INSTALL}", "--timeout=120s")
    kubectl("apply", f"--filename={UNINSTALL}")
    try:
        there = kubectl.within("cepheid-uninstall")
        there("wait", "job/cepheid-uninstall", "--for=condition=complete", "--timeout=170s")
    finally:
        kubectl("delete", f"--filename={UNINSTALL}", "--wait=false")
    for kind in ("nodes", "pods", "jobs", "mpijobs.v1.kubeflow.org"):
        for thing in kubectl.items(kind, "--all-namespaces"):
            assert not [key for key in annotations(thing) if is_ours(key)], thing["metadata"]
    assert annotations(namespace.get("job", JOB))["example.org/theirs"] == "stays"
