"""From what a job used to where its next run goes; with and without the extender.

In this order: what takes long to be foretold begins first.
"""

import json
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for
from tests.e2e.workloads import pod_spec
from tests.listening.conftest import LARGE, TURNS

CEPHEID = Path(sysconfig.get_path("scripts")) / "cepheid"
SCHEDULER = "cepheid"
EXTENDERS = 2
FORETOLD_SECONDS = 1200
"""An agent foretells after eight minutes, on a machine with nothing else to do."""
PROFILE_SECONDS = 300
RUN_SECONDS = "75"
LARGE_MIB, SMALL_MIB, FULL_MIB = "40000", "6000", "12000"
Manifest = dict[str, Any]


def job(name: str, memory_mib: str, node: str | None = None) -> Manifest:
    """The same program whatever it is called; the first time on a node that is told."""
    arguments = ["--memory-mib", memory_mib, "--duration", RUN_SECONDS, "--step-seconds", "5"]
    spec = pod_spec(arguments) | {"schedulerName": SCHEDULER}
    if node is not None:
        spec["nodeSelector"]["kubernetes.io/hostname"] = node
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": {"spec": spec}},
    }


def holder(name: str, node: str, gpus: int, memory_mib: str = "1000") -> Manifest:
    """Holds GPUs from the first test to the last."""
    spec = pod_spec(["--memory-mib", memory_mib, "--step-seconds", "10"], gpus=gpus)
    spec["nodeSelector"]["kubernetes.io/hostname"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def cores(name: str, node: str) -> Manifest:
    """Asks for cores, and for nothing else."""
    spec = pod_spec(["infinity"], gpus=0, command=["sleep"])
    spec["containers"][0]["resources"]["requests"]["cpu"] = "500m"
    spec["nodeSelector"]["kubernetes.io/hostname"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def pod_of(team: Kubectl, name: str) -> Manifest:
    """The one pod of a job."""

    def found() -> Any:
        return team.items("pods", f"--selector=batch.kubernetes.io/job-name={name}")

    (pod,) = wait_for(f"the pod of {name}", found, 60)
    return dict(pod)


def node_of(team: Kubectl, name: str, seconds: float = 120) -> str:
    def found() -> Any:
        return pod_of(team, name)["spec"].get("nodeName")

    return str(wait_for(f"a node for {name}", found, seconds))


def why_not(team: Kubectl, name: str) -> str:
    """What the scheduler says of a pod that waits."""

    def said() -> Any:
        pod = pod_of(team, name)["metadata"]["name"]
        selector = f"--field-selector=involvedObject.name={pod},reason=FailedScheduling"
        return team.items("events", selector)

    return str(wait_for("the scheduler's word", said, 120)[-1]["message"])


def measured(team: Kubectl, series: str) -> Any:
    """The profile of a run that is over, once it has its figures."""

    def found() -> Any:
        return [
            one
            for one in team.items("jobprofiles")
            if one["series"] == series and "ended" in one and "usage" in one
        ]

    return wait_for(f"a profile of {series}", found, PROFILE_SECONDS)[0]


@pytest.fixture(scope="module", autouse=True)
def begun(team: Kubectl) -> None:
    """Earlier runs of two jobs, and one that fills the memory of the T4."""
    team.apply(
        holder("full", TURNS, 1, FULL_MIB),
        job("bert-1", LARGE_MIB, LARGE),
        job("serve-1", SMALL_MIB, LARGE),
    )


def test_a_pod_whose_job_needs_the_large_gpu_goes_there(kubectl: Kubectl, team: Kubectl) -> None:
    profile = measured(team, "bert")
    (worker,) = profile["workers"]
    assert worker["gpuMemoryBytes"] >= 39_000 * 2**20
    # By its cores the other node is emptier: without the extender it would be preferred.
    team.apply(cores("cores", LARGE))
    wait_for("what the extender knows", lambda: _knows(kubectl, TURNS), 300)
    wait_for("both extenders to have heard", lambda: _heard(kubectl), 120)
    team.apply(job("bert-2", LARGE_MIB))
    assert node_of(team, "bert-2") == LARGE


def _knows(kubectl: Kubectl, node: str) -> bool:
    annotations = kubectl.get("node", node)["metadata"].get("annotations", {})
    return "mem_used_gb" in annotations.get("ai.centaurus.io/gpu-0", "")


def _heard(kubectl: Kubectl) -> bool:
    """They know of as many runs as there are profiles."""
    there = kubectl.within("cepheid")
    pods = there.items("pods", "--selector=app.kubernetes.io/name=cepheid-extender")
    profiles = len(kubectl.items("jobprofiles", "--all-namespaces"))
    paths = [
        f"/api/v1/namespaces/cepheid/pods/{pod['metadata']['name']}:9404/proxy/metrics"
        for pod in pods
    ]
    kept = f'cepheid_extender_kept{{kind="runs"}} {profiles}.0'
    return len(paths) == EXTENDERS and all(kept in there("get", "--raw", path) for path in paths)


def test_why_node_tells_what_was_considered(kubectl: Kubectl, team: Kubectl) -> None:
    pod = pod_of(team, "bert-2")["metadata"]["name"]

    def told() -> Any:
        done = subprocess.run(
            [CEPHEID, "why-node", pod, "--namespace", "team"],
            env={**os.environ, "KUBECONFIG": str(kubectl.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return done.stdout if done.returncode == 0 else None

    shown = wait_for("what was considered", told, 120)
    assert shown.splitlines()[0].startswith(f"{pod} runs on {LARGE}")
    assert f"{TURNS}: no room on its GPUs" in shown
    assert "team/bert, 1 earlier run" in shown


def test_a_pod_is_not_put_where_the_memory_is_foretold_to_be_full(
    kubectl: Kubectl, team: Kubectl
) -> None:
    measured(team, "serve")

    def foretold() -> bool:
        annotations = kubectl.get("node", TURNS)["metadata"]["annotations"]
        text = annotations.get("ai.centaurus.io/gpu-0-forecast", "{}")
        return float(json.loads(text).get("mem_peak_gb", 0)) > 11

    wait_for("a forecast of the T4's memory", foretold, FORETOLD_SECONDS, 5)
    wait_for("the end of bert-2", lambda: _is_over(team, "bert-2"), 300)
    team.apply(holder("others", LARGE, 4))
    wait_for("all A100s held", lambda: _runs(team, "others"), 120)
    team.apply(job("serve-2", SMALL_MIB))
    assert "no room on its GPUs: its job is known to need 5.9 GB" in why_not(team, "serve-2")
    # With the T4's memory free again it is as good as any other.
    team("delete", "pod", "full", "--wait=true")
    assert node_of(team, "serve-2", 600) == TURNS


def _is_over(team: Kubectl, name: str) -> bool:
    return bool(team.get("job", name).get("status", {}).get("completionTime"))


def _runs(team: Kubectl, pod: str) -> bool:
    return bool(team.get("pod", pod)["status"].get("phase") == "Running")


@pytest.fixture
def without_extender(kubectl: Kubectl) -> Iterator[None]:
    there = kubectl.within("cepheid")
    there("scale", "deployment/cepheid-extender", "--replicas=0")
    selector = "--selector=app.kubernetes.io/name=cepheid-extender"
    wait_for("its pods to go", lambda: not there.items("pods", selector), 120)
    yield
    there("scale", "deployment/cepheid-extender", "--replicas=2")


@pytest.mark.usefixtures("without_extender")
def test_with_the_extender_stopped_everything_still_schedules(team: Kubectl) -> None:
    plain = pod_spec(["--duration", "5"], gpus=0) | {"schedulerName": SCHEDULER}
    team.apply(
        job("late-1", SMALL_MIB),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain"}, "spec": plain},
    )
    assert node_of(team, "late-1") == TURNS  # the A100s are held
    wait_for("a node for plain", lambda: team.get("pod", "plain")["spec"].get("nodeName"), 120)
