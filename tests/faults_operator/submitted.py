"""Jobs, as a user, a controller, a kubelet and an agent would write them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml

from cepheid.annotations.codec import is_ours
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for
from tests.stage.api_server import ApiServer
from tests.stage.levels import Timeline
from tests.stage.surroundings import Stage
from tests.stage.world import GIB, Pod

IMAGE = "registry.example.com/team/work:v1.2.3"
AGENT = "cepheid-agent"


def moment(seconds: float = 0.0) -> str:
    """So long from now."""
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def used(cpu_percent: int, memory_mb: int) -> dict[str, str]:
    return {"cpu_util": str(cpu_percent), "cpu_mem_mb": str(memory_mb)}


@dataclass
class Submitted:
    """A Job and its pods."""

    api: ApiServer
    namespace: str
    name: str
    uid: str = ""
    pods: list[str] = field(default_factory=list)
    began: dict[str, str] = field(default_factory=dict)

    @property
    def admin(self) -> Kubectl:
        return self.api.admin.within(self.namespace)

    def add_pod(
        self,
        name: str,
        *,
        node: str = "gpu-a",
        gpus: int = 0,
        seconds_ago: float = 30,
        usage: Mapping[str, str] | None = None,
    ) -> str:
        """It runs; `usage` are the annotations of its agent, without the domain."""
        limits = {"memory": "2Gi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
        container = {"name": "main", "image": IMAGE, "resources": {"limits": limits}}
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": self.name,
            "uid": self.uid,
            "controller": True,
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {"containers": [container], "nodeName": node, "restartPolicy": "Never"},
        }
        self.admin.apply(pod)
        self.tell_pod(name, "Running", seconds_ago)
        self.pods.append(name)
        if usage:
            self.annotate(name, usage)
        return name

    def tell_pod(self, name: str, phase: str, seconds_ago: float = 30, exit_code: int = 0) -> None:
        """It began when it was first told of."""
        started = self.began.setdefault(name, moment(-seconds_ago))
        state: dict[str, Any] = {"running": {"startedAt": started}}
        if phase != "Running":
            ended = {"startedAt": started, "finishedAt": moment(), "exitCode": exit_code}
            state = {"terminated": {**ended, "reason": "OOMKilled" if exit_code else "Completed"}}
        container = {
            "name": "main",
            "image": IMAGE,
            "imageID": "",
            "ready": phase == "Running",
            "restartCount": 0,
            "state": state,
        }
        status = {"phase": phase, "startTime": started, "containerStatuses": [container]}
        self._tell("pod", name, status)

    def annotate(self, pod: str, usage: Mapping[str, str]) -> None:
        annotations = {f"ai.centaurus.io/{key}": text for key, text in usage.items()}
        metadata = {"name": pod, "namespace": self.namespace, "annotations": annotations}
        self.admin(
            *("apply", "--server-side", f"--field-manager={AGENT}", "--filename=-"),
            stdin=yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}),
        )

    def succeed(self) -> None:
        for pod in self.pods:
            self.tell_pod(pod, "Succeeded")
        self._end(
            {"type": "SuccessCriteriaMet", "reason": "CompletionsReached"},
            {"type": "Complete", "reason": "CompletionsReached"},
            succeeded=1,
        )

    def fail(self, reason: str = "BackoffLimitExceeded") -> None:
        self._end({"type": "FailureTarget", "reason": reason}, {"type": "Failed", "reason": reason})

    def _end(self, *conditions: Mapping[str, str], **counts: int) -> None:
        at = moment()
        told = [
            {"status": "True", "lastTransitionTime": at, "lastProbeTime": at, **condition}
            for condition in conditions
        ]
        status: dict[str, Any] = {"startTime": moment(-30), "conditions": told, **counts}
        if counts:
            status["completionTime"] = at
        self._tell("job", self.name, status)

    def delete(self) -> None:
        """With its pods, as far as a cluster without a garbage collector can."""
        names = [f"pod/{name}" for name in self.pods]
        force = ("--grace-period=0", "--force", "--wait=false", "--cascade=background")
        self.admin("delete", f"job/{self.name}", *names, *force)

    def annotations(self) -> dict[str, str]:
        """Those of ours on the job, without the domain."""
        found = self.api.annotations("job", self.name, self.namespace)
        return {key.partition("/")[2]: text for key, text in found.items() if is_ours(key)}

    def profiles(self) -> list[dict[str, Any]]:
        found = self.admin.items("jobprofiles")
        return [one for one in found if one["job"]["uid"] == self.uid]

    def profile(self) -> dict[str, Any] | None:
        """The one that says how it ended; there must not be two."""
        found = self.profiles()
        assert len(found) <= 1
        return next((one for one in found if one["outcome"] != "running"), None)

    def finished(self, timeout_seconds: float = 120) -> dict[str, Any]:
        return wait_for(f"the profile of {self.name}", self.profile, timeout_seconds)

    def _tell(self, kind: str, name: str, status: Mapping[str, Any]) -> None:
        """As its controller or kubelet."""
        patch = json.dumps({"status": status})
        self.admin("patch", kind, name, "--subresource=status", "--type=merge", f"--patch={patch}")


def submit(api: ApiServer, namespace: str, name: str, **metadata: Any) -> Submitted:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, **metadata},
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": IMAGE}],
                }
            }
        },
    }
    admin = api.admin.within(namespace)
    admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, job)
    return Submitted(api, namespace, name, admin.get("job", name)["metadata"]["uid"])


def submit_many(api: ApiServer, namespace: str, count: int) -> list[Submitted]:
    return [submit(api, namespace, f"job-{number}") for number in range(count)]


@contextmanager
def computing(stage: Stage, job: Submitted, pod_name: str) -> Iterator[None]:
    """As Prometheus sees it: a core and a half, 3 GiB, and nine tenths of a GPU."""
    node = stage.world.nodes[0]
    cores, memory = Timeline(1.5), Timeline(3 * GIB)
    pod = Pod(job.namespace, pod_name, cores=cores, memory_bytes=memory)
    node.pods.append(pod)
    node.gpus[1].hold(pod, busy=0.9, memory_mib=8192)
    try:
        yield
    finally:
        node.gpus[1].release()
        node.pods.remove(pod)
