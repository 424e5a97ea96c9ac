"""Jobs that end in every way there is, and what they were told to do.

All are begun with the first test; what stands of them is looked at last.
"""

import statistics
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cepheid.jobprofile import JobProfile, from_document
from tests.cluster.kubectl import Kubectl, Manifest
from tests.cluster.progress import wait_for
from tests.e2e.workloads import pod, pod_spec

PAIR_MIB, BARE_MIB = 5_120, 3_072
PAIR_SECONDS, BARE_SECONDS = 150, 75
DEADLINE_SECONDS = 40
OOM_LIMIT = "48Mi"
LONG_SECONDS = 420
RUNS, RUN_SECONDS, SLOW_SECONDS = 3, 12, 40
REGRESSED = "JobRegressed"
UNUSUAL = 7 * 1.4826
"""Of the median deviation of three runs: so much more than their median is a regression."""
SPEED = "speed"
"""The ConfigMap that makes a run of the CronJob slow: its template stays what it is."""
EAT = "a = []\nwhile True: a.append(bytearray(2 ** 20))"
NIGHTLY = (
    "import pathlib, time; told = pathlib.Path('/etc/speed/seconds'); "
    f"time.sleep(float(told.read_text()) if told.exists() else {RUN_SECONDS})"
)


@contextmanager
def begun(namespace: Kubectl) -> Iterator["Begun"]:
    namespace.apply(_pair(), _job("eater", _eater(), backoffLimit=0), _late(), _nightly(), _bare())
    with ThreadPoolExecutor() as pool:
        yield Begun(namespace, pool.submit(_run_nightly, namespace))


@dataclass(frozen=True)
class Begun:
    namespace: Kubectl
    nightly: "Future[None]"
    """Done when the last of its runs has ended."""


def _run_nightly(namespace: Kubectl) -> None:
    """Some runs alike, one after the other, and a slow one."""
    usual = range(1, RUNS + 1)
    for number in usual:
        _run(namespace, number)
    found = [complete(namespace, f"nightly-{number}", LONG_SECONDS) for number in usual]
    _slow_down(namespace, clearly_slower([one.duration_seconds or RUN_SECONDS for one in found]))
    _run(namespace, RUNS + 1)


def clearly_slower(took_seconds: list[float]) -> float:
    """Than these, however different they are: how long a pod takes to start is the machine's."""
    usual = statistics.median(took_seconds)
    deviation = statistics.median(abs(seconds - usual) for seconds in took_seconds)
    return max(SLOW_SECONDS, 2 * usual + 1.1 * UNUSUAL * deviation)


def _run(namespace: Kubectl, number: int) -> None:
    """As its schedule would, but now; returns when it has ended."""
    name = f"nightly-{number}"
    namespace("create", "job", name, "--from=cronjob/nightly")
    namespace("wait", f"job/{name}", "--for=condition=complete", f"--timeout={LONG_SECONDS}s")


def _slow_down(namespace: Kubectl, seconds: float) -> None:
    speed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SPEED}}
    namespace.apply(speed | {"data": {"seconds": str(seconds)}})


def profiles(namespace: Kubectl) -> dict[str, JobProfile]:
    """By the job's name."""
    found = [from_document(thing) for thing in namespace.items("jobprofiles")]
    return {profile.job.name: profile for profile in found}


def told_of(namespace: Kubectl, kind: str, name: str) -> list[str]:
    """Events of one object, as `kubectl describe` shows them."""
    found = namespace.items("events", f"--field-selector=reason={REGRESSED}")
    about = {"kind": kind, "name": name}
    return [e["message"] for e in found if about.items() <= e["involvedObject"].items()]


def complete(namespace: Kubectl, name: str, seconds: float) -> JobProfile:
    """When it has ended, and Prometheus was asked what it used."""

    def found() -> JobProfile | None:
        profile = profiles(namespace).get(name)
        return profile if profile is not None and profile.ended is not None else None

    return wait_for(f"the profile of {name}", found, seconds)


def _pair() -> Manifest:
    """Two workers on two nodes, and so on two types of GPU; all pods go when it is over."""
    train = ["--pattern=training", "--step-seconds=5", "--duty=0.8", f"--memory-mib={PAIR_MIB}"]
    mpirun = ["mpirun", "-n", "2", "python3", "-m", "simgpu.workload"]
    launcher = pod_spec([*train, f"--duration={PAIR_SECONDS}"], gpus=0, command=mpirun)
    launcher["automountServiceAccountToken"] = True  # it execs into the workers
    worker = pod_spec(["infinity"], command=["sleep"])
    apart = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"training.kubeflow.org/replica-type": "worker"}},
    }
    rule = "requiredDuringSchedulingIgnoredDuringExecution"
    worker["affinity"] = {"podAntiAffinity": {rule: [apart]}}
    roles = {
        "Launcher": {"replicas": 1, "template": {"spec": launcher}},
        "Worker": {"replicas": 2, "template": {"spec": worker}},
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": {"name": "pair", "labels": {"team": "research", "user": "lin"}},
        "spec": {
            "slotsPerWorker": 1,
            "runPolicy": {"cleanPodPolicy": "All"},
            "mpiReplicaSpecs": roles,
        },
    }


def _job(name: str, spec: Manifest, **more: Any) -> Manifest:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": spec}, **more},
    }


def _python(program: str) -> dict[str, Any]:
    return pod_spec([program], gpus=0, command=["python3", "-c"])


def _eater() -> Manifest:
    spec = _python(EAT)
    spec["containers"][0]["resources"]["limits"]["memory"] = OOM_LIMIT
    return spec


def _late() -> Manifest:
    spec = _python("import time; time.sleep(3600)")
    return _job("late", spec, activeDeadlineSeconds=DEADLINE_SECONDS, backoffLimit=0)


def _nightly() -> Manifest:
    spec = _python(NIGHTLY)
    spec["volumes"] = [{"name": "speed", "configMap": {"name": SPEED, "optional": True}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "speed", "mountPath": "/etc/speed"}]
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {
            "schedule": "0 4 31 2 *",  # never: the tests say when
            "jobTemplate": {"spec": {"template": {"spec": spec}, "backoffLimit": 0}},
        },
    }


def _bare() -> Manifest:
    train = ["--pattern=training", "--step-seconds=5", f"--memory-mib={BARE_MIB}"]
    return pod("bare", pod_spec([*train, f"--duration={BARE_SECONDS}"]))
