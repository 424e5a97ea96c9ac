"""The order in which the scene is played, and what Cepheid was heard to say in each act.

Asked is as a user asks: the program, with a kubeconfig. What is waited for is never the verdict
that a test looks at, but that enough was seen for one.
"""

import json
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cepheid.jobprofile import JobProfile, Outcome
from cepheid.jobs.advice import is_told
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import ClusterError, wait_for
from tests.e2e import scene
from tests.e2e.finished import profiles

CEPHEID = Path(sysconfig.get_path("scripts")) / "cepheid"
LEAST_SECONDS = 120
"""Who is named must have held it for so long; ten minutes, unless told, are long for a test."""
BEGIN_SECONDS, ACT_SECONDS = 300, 900
ALL_SECONDS = 2 * scene.RUN_SECONDS
"""On a machine that is busy with everything else."""

ROLE = "training.kubeflow.org/replica-type"

Row = dict[str, Any]


@dataclass(frozen=True)
class Heard:
    """Rows, as `--output json` has them."""

    quiet: list[Row]
    """Of `hogs --all`, while nobody waited for anything that is held."""
    contended: list[Row]
    """The same, and the same jobs, while somebody waited."""
    nightly: list[Row]
    """Of `check`, on the runs of the CronJob before it was patched."""
    patched: str
    """The run after that."""


@dataclass(frozen=True)
class Playing:
    namespace: Kubectl
    heard: "Future[Heard]"

    def ended(self, name: str) -> JobProfile:
        """When it has, and Prometheus was asked what it used."""
        return _measured(self.namespace, name, ALL_SECONDS)


@contextmanager
def played(namespace: Kubectl) -> Iterator[Playing]:
    with ThreadPoolExecutor() as pool:
        yield Playing(namespace, pool.submit(_play, namespace))


def _play(namespace: Kubectl) -> Heard:
    namespace.apply(*scene.jobs())
    wait_for("all seven run", lambda: _all_run(namespace), BEGIN_SECONDS)
    _run_nightly(namespace, scene.RUNS)
    quiet = _hogs_when(namespace, "held_seconds", "the time that the hog held its GPUs")
    namespace.apply(scene.waiter())
    contended = _hogs_when(namespace, "waited_seconds", "the time that somebody waited")
    _want_idle_suspended(namespace)
    runs = _nightly_runs(namespace)
    for run in runs:
        _measured(namespace, run, ACT_SECONDS)
    nightly = asked(namespace, "check", "--run", scene.NIGHTLY)
    typed(namespace, said(namespace, "rightsize", scene.NIGHTLY, "--patch"))
    _run_nightly(namespace, len(runs) + 1)
    patched = min(_nightly_runs(namespace) - runs)
    return Heard(quiet, contended, nightly, patched)


def said(namespace: Kubectl, *arguments: str, everywhere: bool = False) -> str:
    """By the program, on stdout."""
    where = ["--all-namespaces"] if everywhere else ["--namespace", str(namespace.namespace)]
    command = [str(CEPHEID), *arguments, *where]
    environment = os.environ | {"KUBECONFIG": str(namespace.kubeconfig)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def asked(namespace: Kubectl, *arguments: str, everywhere: bool = False) -> Any:
    return json.loads(said(namespace, *arguments, "--output=json", everywhere=everywhere))


def typed(namespace: Kubectl, command: str) -> None:
    """Into a shell, as it was printed."""
    environment = os.environ | {"KUBECONFIG": str(namespace.kubeconfig)}
    environment["PATH"] = f"{namespace.program.parent}:{environment['PATH']}"
    subprocess.run(["sh", "-eu"], input=command, env=environment, text=True, check=True)


def hogs(namespace: Kubectl) -> list[Row]:
    """Of the scene's users; those too whom nobody waited for."""
    found = asked(namespace, "hogs", "--all", f"--least={LEAST_SECONDS}s", everywhere=True)
    return [row for row in found if row["who"] in scene.USERS.values()]


def _hogs_when(namespace: Kubectl, long_enough: str, what: str) -> list[Row]:
    """When that figure of the hog's row is large enough to be counted."""

    def rows() -> list[Row] | None:
        if not _all_told(namespace):
            return None
        own = hogs(namespace)
        lasted = [row[long_enough] for row in own if row["who"] == scene.USERS[scene.HOG]]
        return own if lasted and max(lasted) >= LEAST_SECONDS else None

    return wait_for(what, rows, ACT_SECONDS, 10)  # seldom: to ask costs a second of CPU


def _all_told(namespace: Kubectl) -> bool:
    """The record of each is of more than its first minutes."""
    found = profiles(namespace)
    return all(name in found and is_told(found[name]) for name in scene.HELD)


def _all_run(namespace: Kubectl) -> bool:
    """An MPIJob's launcher is made when its workers run."""
    pods = namespace.items("pods")
    labels = [pod["metadata"]["labels"] for pod in pods]
    jobs = {one.get("job-name") or one.get("training.kubeflow.org/job-name") for one in labels}
    launchers = [one for one in labels if one.get(ROLE) == "launcher"]
    return (
        jobs >= scene.HELD.keys()
        and len(launchers) == len(scene.OF_WORKERS)
        and {pod["status"]["phase"] for pod in pods} == {"Running"}
    )


def _want_idle_suspended(namespace: Kubectl) -> None:
    """As an administrator types it; whoever it hits then, the rest of the play shows."""
    name = str(namespace.namespace)
    times = [f"{key}={text}" for key, text in scene.IDLE_TIMES.items()]
    namespace("annotate", "namespace", name, *times)
    namespace("label", "namespace", name, "=".join(scene.IDLE_POLICY))


def suspended(namespace: Kubectl) -> set[str]:
    """All that are, of every kind that the scene has."""
    specs = {
        **{job["metadata"]["name"]: job["spec"] for job in namespace.items("jobs")},
        **{
            job["metadata"]["name"]: job["spec"].get("runPolicy", {})
            for job in namespace.items("mpijobs.kubeflow.org")
        },
    }
    return {name for name, spec in specs.items() if spec.get("suspend")}


def _run_nightly(namespace: Kubectl, count: int) -> None:
    """Until so many runs were made by the CronJob's own controller, one a minute."""
    _suspend(namespace, is_suspended=False)
    wait_for(f"{count} runs", lambda: len(_nightly_runs(namespace)) >= count, ACT_SECONDS, 1)
    _suspend(namespace, is_suspended=True)


def _suspend(namespace: Kubectl, *, is_suspended: bool) -> None:
    patch = json.dumps({"spec": {"suspend": is_suspended}})
    namespace("patch", "cronjob", scene.NIGHTLY, f"--patch={patch}")


def _nightly_runs(namespace: Kubectl) -> set[str]:
    names = (job["metadata"]["name"] for job in namespace.items("jobs"))
    return {name for name in names if name.startswith(f"{scene.NIGHTLY}-")}


def _measured(namespace: Kubectl, name: str, seconds: float) -> JobProfile:
    def found() -> JobProfile | None:
        profile = profiles(namespace).get(name)
        over = profile is not None and profile.outcome is not Outcome.RUNNING
        return profile if profile is not None and over and profile.samples else None

    return wait_for(f"what {name} used", found, seconds)
