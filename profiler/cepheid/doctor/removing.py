"""Deletes what `belongings` listed, one object after the other, and takes every annotation away."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from lightkube.resources.core_v1 import Pod
from lightkube.types import CascadeType

from cepheid.annotations.api import ApiServer
from cepheid.annotations.removal import annotated, remove
from cepheid.doctor.belongings import LABEL, Belonging, Plan
from cepheid.errors import CepheidError, GoneError

GONE_SECONDS = 120.0
"""For pods to end: theirs is a grace period of 15 s."""
EVERY_SECONDS = 1.0


@dataclass(slots=True)
class Removed:
    """What came of it."""

    deleted: int = 0
    cleared: int = 0
    """Objects of others that had annotations of ours."""
    failed: list[str] = field(default_factory=list)
    still_there: list[str] = field(default_factory=list)
    """Pods of ours that had not ended in time: they may have written again."""

    def attempt(self, doing: Callable[[], bool]) -> int:
        """One that fails does not keep the others."""
        try:
            return int(doing())
        except CepheidError as problem:
            self.failed.append(problem.message)
            return 0


def carry_out(
    server: ApiServer,
    plan: Plan,
    jobs: Collection[tuple[str, str]],
    *,
    pods_seconds: float | None = None,
) -> Removed:
    """Annotations of Nodes, Pods and these kinds of jobs, when nobody is left who writes them."""
    done = Removed()
    for one in plan.workloads:
        done.deleted += done.attempt(lambda one=one: delete(server, one))  # type: ignore[misc]
    spaces = sorted({one.namespace or "" for one in plan.workloads})
    try:
        seconds = GONE_SECONDS if pods_seconds is None else pods_seconds
        done.still_there = wait_for_pods(server, spaces, seconds=seconds)
        for found in annotated(server, jobs):
            done.cleared += done.attempt(lambda found=found: remove(server, found))  # type: ignore[misc]
    except CepheidError as problem:
        done.failed.append(problem.message)
    for one in plan.rest:
        done.deleted += done.attempt(lambda one=one: delete(server, one))  # type: ignore[misc]
    return done


def delete(server: ApiServer, one: Belonging) -> bool:
    """False where it is gone already. What depends on it goes with it, in the background."""
    try:
        server.ask(
            f"deleting {one}",
            lambda client: client.delete(
                one.kind, one.name, namespace=one.namespace, cascade=CascadeType.BACKGROUND
            ),
        )
    except GoneError:
        return False
    return True


def wait_for_pods(
    server: ApiServer,
    namespaces: list[str],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    seconds: float = GONE_SECONDS,
) -> list[str]:
    """Of ours that are still there after that time: they may write again."""
    deadline = clock() + seconds
    while True:
        left = [name for namespace in namespaces for name in _pods(server, namespace)]
        if not left or clock() >= deadline:
            return left
        sleep(EVERY_SECONDS)


def _pods(server: ApiServer, namespace: str) -> list[str]:
    """But for those at their end, which write nothing."""
    listed = server.ask(
        "listing pods", lambda client: list(client.list(Pod, namespace=namespace, labels=LABEL))
    )
    return [
        f"{namespace}/{pod.metadata.name}"
        for pod in listed
        if pod.metadata is not None
        and (pod.status is None or pod.status.phase not in {"Succeeded", "Failed"})
    ]
