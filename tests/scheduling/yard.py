"""Nodes, jobs and earlier runs, as agents and the operator would have left them, and pods to place.

A node of kwok is ready and beats; what its GPUs do is what its annotations say, applied under the
agent's own field manager.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import yaml

from cepheid.annotations.codec import encode_node
from cepheid.annotations.facts import ForecastFacts, GpuFacts, NodeFacts, StaticFacts
from cepheid.annotations.job_codec import encode_job
from cepheid.annotations.job_facts import BestPlacement, JobFacts
from cepheid.annotations.writer import MANAGER
from cepheid.jobprofile import (
    Asked,
    CycleSeen,
    GpuHeld,
    HeldBackBy,
    JobIdentity,
    JobProfile,
    Outcome,
    Spread,
    Usage,
    Worker,
    to_document,
)
from cepheid.jobs.names import profile_name
from cepheid_operator.trials.marking import MANAGER as TRIALS
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for

A100, T4 = "NVIDIA A100-SXM4-80GB", "Tesla T4"
SIZES_GB = {A100: 80.0, T4: 15.0}
GB = 2**30
SCHEDULER, DEFAULT = "cepheid", "default-scheduler"
Document = dict[str, Any]
_NUMBERS = count(1)


@dataclass(frozen=True)
class Yard:
    """A namespace of its own, and nodes that carry its name: those of others are out of reach."""

    kubectl: Kubectl
    name: str

    @property
    def _there(self) -> Kubectl:
        return self.kubectl.within(self.name)

    # Nodes.

    def node(
        self,
        name: str,
        model: str = T4,
        gpus: int = 4,
        *,
        handed_out: int | None = None,
        cpu: str = "64",
        facts: NodeFacts | None = None,
    ) -> str:
        """`handed_out` where GPUs are shared in turns: more than there are."""
        whole = f"{self.name}-{name}"
        capacity = {"cpu": cpu, "memory": "512Gi", "pods": "110"}
        capacity["nvidia.com/gpu"] = str(handed_out or gpus)
        label = model.replace(" ", "-") + ("-SHARED" if handed_out else "")
        self.kubectl.apply(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": whole,
                    "labels": {"yard": self.name, "nvidia.com/gpu.product": label},
                    "annotations": {"kwok.x-k8s.io/node": "fake"},
                },
            },
        )
        self.kubectl(
            *("patch", "node", whole, "--subresource=status", "--type=merge"),
            f"--patch={json.dumps({'status': {'capacity': capacity, 'allocatable': capacity}})}",
        )
        wait_for(f"node {whole}", lambda: _is_ready(self.kubectl.get("node", whole)), 120, 0.2)
        self.annotate(name, described(model, gpus) if facts is None else facts)
        return whole

    def annotate(self, node: str, facts: NodeFacts, manager: str = MANAGER) -> None:
        self.write(node, encode_node(facts), manager)

    def write(self, node: str, keys: Mapping[str, str], manager: str = MANAGER) -> None:
        """Exactly these, whatever they say."""
        metadata = {"name": f"{self.name}-{node}", "annotations": dict(keys)}
        _apply(self.kubectl, {"apiVersion": "v1", "kind": "Node", "metadata": metadata}, manager)

    # Jobs, and what is known of them.

    def job(self, name: str, best: BestPlacement | None = None, manager: str = TRIALS) -> Document:
        """Suspended: nobody but us makes pods of it."""
        made: Document = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {
                "suspend": True,
                "template": {"spec": self.spec(0, DEFAULT) | {"restartPolicy": "Never"}},
            },
        }
        self._there.apply(made)
        if best is not None:
            keys = encode_job(JobFacts(best_placement=best))
            about = {"apiVersion": "batch/v1", "kind": "Job"}
            metadata = {"name": name, "annotations": keys}
            _apply(self._there, {**about, "metadata": metadata}, manager)
        found: Document = self._there.get("job", name)
        return found

    def ran(self, series: str, model: str = T4, *, runs: int = 1, **known: Any) -> None:
        """Earlier runs of the jobs of that name."""
        documents = []
        for number in range(runs):
            profile = profile_of(self.name, f"{series}-{number}", series, model, Earlier(**known))
            document = {
                "apiVersion": "ai.centaurus.io/v1alpha1",
                "kind": "JobProfile",
                "metadata": {"name": profile_name(profile.job.name, profile.job.uid)},
                **to_document(profile),
            }
            documents.append(json.loads(json.dumps(document, default=str)))
        self._there.apply(*documents)

    def old_profile(self, series: str) -> None:
        """Of a version that kept little more than when it ran."""
        ended = datetime.now(UTC) - timedelta(hours=1)
        times = {key: ended.strftime("%Y-%m-%dT%H:%M:%SZ") for key in ("created", "ended")}
        identity = {"apiVersion": "batch/v1", "kind": "Job", "namespace": self.name}
        self._there.apply(
            {
                "apiVersion": "ai.centaurus.io/v1alpha1",
                "kind": "JobProfile",
                "metadata": {"name": f"{series}-old"},
                "job": {**identity, "name": f"{series}-old", "uid": f"uid-of-{series}-old"},
                "series": series,
                "outcome": "success",
                **times,
            }
        )

    # Pods.

    def pod(
        self,
        job: Document | None = None,
        *,
        gpus: int = 1,
        scheduler: str = SCHEDULER,
        annotations: Mapping[str, str] | None = None,
        node: str | None = None,
    ) -> str:
        """On a node that is told, or wherever the scheduler puts it."""
        name = f"pod-{next(_NUMBERS)}"
        metadata: Document = {"name": name, "annotations": dict(annotations or {})}
        if job is not None:
            owner = {key: job["metadata"][key] for key in ("name", "uid")}
            about = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
            metadata["ownerReferences"] = [about | owner]
        spec = self.spec(gpus, scheduler)
        if node is not None:
            spec["nodeName"] = f"{self.name}-{node}"
        self._there.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        return name

    def placed(self, pod: str, seconds: float = 60) -> str:
        """The node that it got, without the yard's name."""
        found = wait_for(
            f"a node for {pod}",
            lambda: self._there.get("pod", pod)["spec"].get("nodeName"),
            seconds,
            0.2,
        )
        return str(found).removeprefix(f"{self.name}-")

    def place(self, job: Document | None = None, **asked: Any) -> str:
        return self.placed(self.pod(job, **asked))

    def delete(self, pod: str) -> None:
        self._there("delete", "pod", pod, "--grace-period=0", "--force")

    def said(self, pod: str, reason: str) -> list[Document]:
        """Events about it."""
        selector = f"--field-selector=involvedObject.name={pod},reason={reason}"
        return self._there.items("events", selector)

    def spec(self, gpus: int = 1, scheduler: str = SCHEDULER) -> Document:
        asked: Document = {"cpu": "1"}
        if gpus:
            asked["nvidia.com/gpu"] = str(gpus)
        return {
            "schedulerName": scheduler,
            "nodeSelector": {"yard": self.name},
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example.com/team/train:v1",
                    "resources": {"requests": asked, "limits": asked},
                }
            ],
        }


def described(
    model: str,
    gpus: int,
    *,
    hours: float = 1.0,
    held: int = 0,
    used_gb: float = 0.0,
    foretold_gb: float | None = None,
) -> NodeFacts:
    """Of all GPUs `used_gb` are in use; `held` of them are held by a pod each."""
    size = SIZES_GB[model]
    forecast = (
        None
        if foretold_gb is None
        else ForecastFacts(600, util_mean_percent=50, mem_peak_gb=foretold_gb)
    )
    each = tuple(
        GpuFacts(
            index,
            mem_used_gb=used_gb,
            mem_free_gb=size - used_gb,
            pods=int(index < held),
            forecast=forecast if index < held else None,
        )
        for index in range(gpus)
    )
    until = datetime.now(UTC) + timedelta(hours=hours)
    return NodeFacts(static=StaticFacts(gpus, model, size), gpus=each, valid_until=until)


def changed(facts: NodeFacts, index: int, **others: Any) -> NodeFacts:
    """One GPU of it is otherwise."""
    gpus = tuple(replace(gpu, **others) if gpu.index == index else gpu for gpu in facts.gpus)
    return replace(facts, gpus=gpus)


@dataclass(frozen=True)
class Earlier:
    """A run that succeeded an hour ago."""

    memory_gb: float = 4.0
    seconds: float = 600.0
    busy_percent: float = 80.0
    gpus: int = 1
    waits_for: str | None = None
    waits_percent: float = 60.0
    pulse_seconds: float | None = None


def profile_of(namespace: str, name: str, series: str, model: str, run: Earlier) -> JobProfile:
    ended = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    started = ended - timedelta(seconds=run.seconds)
    asked = {"nvidia.com/gpu": str(run.gpus)}
    cycle = None
    if run.pulse_seconds is not None:
        cycle = CycleSeen(period_seconds=run.pulse_seconds, strength=0.9, confirmed=True)
    return JobProfile(
        job=JobIdentity(
            api_version="batch/v1", kind="Job", namespace=namespace, name=name, uid=f"uid-of-{name}"
        ),
        series=series,
        created=started,
        started=started,
        ended=ended,
        duration_seconds=run.seconds,
        outcome=Outcome.SUCCESS,
        gpus=tuple(GpuHeld(node="gone", index=at, model=model) for at in range(run.gpus)),
        gpu_count=run.gpus,
        asked=(Asked(container="main", requests=asked, limits=asked),),
        samples=40,
        usage=Usage(gpu_util_percent=Spread(mean=run.busy_percent, max=100.0)),
        worker_count=1,
        workers=(Worker(name=f"{name}-x", gpu_memory_bytes=run.memory_gb * run.gpus * GB),),
        cycle=cycle,
        held_back_by=None
        if run.waits_for is None
        else HeldBackBy(kind=run.waits_for, share_percent=run.waits_percent),
    )


def best_on(model: str, trial: str = "tried") -> BestPlacement:
    return BestPlacement(model.replace(" ", "-"), workers=1, gpus_per_worker=1, trial=trial)


def _is_ready(node: Document) -> bool:
    conditions: Sequence[Document] = node["status"].get("conditions", ())
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and "nvidia.com/gpu" in node["status"].get("allocatable", {})


def _apply(kubectl: Kubectl, manifest: Document, manager: str) -> None:
    kubectl(
        *("apply", "--server-side", "--force-conflicts", f"--field-manager={manager}"),
        "--filename=-",
        stdin=yaml.safe_dump(manifest),
    )
