"""Jobs under the real training operator."""

from typing import Any

import pytest

from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import ClusterError, wait_for
from tests.e2e.workloads import mpi_job, pod_spec

TRAINING = ["--pattern=training", "--step-seconds=1", "--steps=3", "--memory-mib=1000"]


def conditions(namespace: Kubectl, kind: str, name: str) -> dict[str, str]:
    status: dict[str, Any] = namespace.get(kind, name).get("status", {})
    return {c["type"]: c["status"] for c in status.get("conditions", [])}


def wait_for_success(namespace: Kubectl, kind: str, name: str) -> None:
    wait_for(
        f"{kind} {name} succeeds",
        lambda: conditions(namespace, kind, name).get("Succeeded") == "True",
        timeout_seconds=300,  # several pods, one after the other, and GPUs that others still hold
    )


def test_an_mpijob_with_two_workers_succeeds(baseline_namespace: Kubectl) -> None:
    namespace = baseline_namespace
    namespace.apply(mpi_job("bert", TRAINING, workers=2))
    wait_for_success(namespace, "mpijobs.v1.kubeflow.org", "bert")
    said = namespace("logs", "bert-launcher")
    for rank in (0, 1):
        assert f"rank {rank} of 2: training on 1 x " in said
    workers = namespace.items("pods", "--selector=training.kubeflow.org/replica-type=worker")
    assert [w["metadata"]["ownerReferences"][0]["kind"] for w in workers] == ["MPIJob", "MPIJob"]


def test_an_mpijob_of_version_v2beta1_is_read_beside_v1_and_runs(
    baseline_namespace: Kubectl,
) -> None:
    namespace = baseline_namespace
    job = mpi_job("newer", TRAINING, workers=1, version="v2beta1")
    job["spec"]["mpiImplementation"] = "OpenMPI"
    namespace.apply(job)
    read = namespace.get("mpijobs.v2beta1.kubeflow.org", "newer")
    assert read["apiVersion"] == "kubeflow.org/v2beta1"
    assert read["spec"]["mpiImplementation"] == "OpenMPI"
    replicas = read["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
    assert replicas == job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
    wait_for_success(namespace, "mpijobs.v2beta1.kubeflow.org", "newer")


def test_a_v2beta1_mpijob_with_an_unknown_mpi_is_refused(baseline_namespace: Kubectl) -> None:
    job = mpi_job("wrong", TRAINING, workers=1, version="v2beta1")
    job["spec"]["mpiImplementation"] = "Carrier pigeon"
    with pytest.raises(ClusterError, match=r"mpiImplementation.*Unsupported value"):
        baseline_namespace.apply(job)


def test_a_pytorchjob_succeeds(namespace: Kubectl) -> None:
    master = pod_spec(TRAINING, name="pytorch")
    namespace.apply(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "llm"},
            "spec": {
                "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": master}}}
            },
        }
    )
    wait_for_success(namespace, "pytorchjobs.kubeflow.org", "llm")
