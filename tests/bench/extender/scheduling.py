"""A real kube-scheduler that asks the extender, and beside it one that does not.

Both run at the same time and place pods in turn, so that whatever else the machine does slows down
both.
"""

import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.bench.extender import fleet
from tests.bench.extender.cores import precede
from tests.bench.extender.filled import Extender, Filled, Talk
from tests.cluster.progress import wait_for
from tests.stage.controllers import Scheduler

WITH, WITHOUT = "with", "without"
GPU, PLAIN = "gpu", "plain"
WEIGHT = 10
TIMEOUT = "200ms"
FAST = 5000
"""Requests a second to the API server: with 50, which is the default, that is what is measured."""
PACE_SECONDS = 0.1
"""From one pod to the next: long enough that none waits for another."""
PATIENCE_SECONDS = 180
SKIPPED = "Skipping extender"
"""What the scheduler's log says where an extender that may be ignored did not answer."""
CHOOSING = "scheduler_scheduling_algorithm_duration_seconds"
MARK = "scheduled-by"
"""The label of pods that are scheduled here."""
Name = tuple[str, str]
"""With or without it; which pods."""
NAMES: tuple[Name, ...] = tuple((how, what) for what in (GPU, PLAIN) for how in (WITHOUT, WITH))


@dataclass
class Scheduled:
    seconds: dict[Name, list[float]] = field(default_factory=dict)
    """From a pod's making until it has a node, pods coming one at a time."""
    choices: dict[Name, float] = field(default_factory=dict)
    """How long it takes to choose one, by the scheduler's own figures: the mean. In it are the
    questions, and not the API server."""
    rates: dict[Name, list[float]] = field(default_factory=dict)
    """Pods a second while many wait, in each round."""
    asked: dict[Name, int] = field(default_factory=dict)
    """Questions that the extender answered meanwhile."""
    skipped: int = 0

    def median(self, how: str, what: str) -> float:
        return statistics.median(self.seconds[how, what])


def schedule(made: Filled, extender: Extender, pods: int, rounds: int, talk: Talk) -> Scheduled:
    found = Scheduled()
    with Bound(made) as bound:
        talk(f"{len(NAMES)} x {pods} pods, one at a time")
        with schedulers(made, extender) as running:
            for what in (GPU, PLAIN):
                told = {how: one.metrics() for how, one in running.items()}
                _one_at_a_time(made, bound, pods, what, found)
                for how, one in running.items():
                    found.choices[how, what] = choice(told[how], one.metrics())
            found.skipped = running[WITH].log.read_text().count(SKIPPED)
        for number in range(rounds):
            for name in NAMES:
                talk(f"{pods} pods at once, {' '.join(name)}")
                before = extender.answered()
                rate = _at_once(made, bound, extender, name, f"r{number}", pods)
                found.rates.setdefault(name, []).append(rate)
                found.asked[name] = found.asked.get(name, 0) + extender.answered() - before
    return found


def config(how: str, port: int, authority: Path) -> dict[str, Any]:
    """At its worst: every node is looked at, and every one that fits is asked about."""
    made: dict[str, Any] = {
        "profiles": [{"schedulerName": how}],
        "percentageOfNodesToScore": 100,
        "clientConnection": {"qps": FAST, "burst": FAST},
    }
    if how == WITH:
        made["extenders"] = [
            {
                "urlPrefix": f"https://127.0.0.1:{port}",
                "filterVerb": "filter",
                "prioritizeVerb": "prioritize",
                "weight": WEIGHT,
                "enableHTTPS": True,
                "tlsConfig": {"caFile": str(authority)},
                "httpTimeout": TIMEOUT,
                "nodeCacheCapable": True,
                "managedResources": [{"name": "nvidia.com/gpu", "ignoredByScheduler": False}],
                "ignorable": True,
            }
        ]
    return made


@contextmanager
def schedulers(
    made: Filled, extender: Extender, hows: Sequence[str] = (WITHOUT, WITH)
) -> Iterator[Mapping[str, Scheduler]]:
    with ExitStack() as stack:
        running = {
            how: stack.enter_context(
                Scheduler(
                    made.folder / f"scheduler-{how}",
                    made.api.admin.kubeconfig,
                    config(how, extender.serves, made.authority.certificate),
                )
            )
            for how in hows
        }
        for one in running.values():
            precede(one.pid)
        yield running


class Bound:
    """When pods got their nodes, as who watches them sees it: from `with` on."""

    def __init__(self, made: Filled) -> None:
        self.at: dict[str, float] = {}
        """By name."""
        self._crowd = made.crowd
        self._over = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, name="bound", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _run(self) -> None:
        while not self._over.is_set():
            for event in self._crowd.watch("/api/v1/pods", MARK):
                pod = event["object"]
                if event["type"] != "DELETED" and pod["spec"].get("nodeName"):
                    self.at.setdefault(pod["metadata"]["name"], time.perf_counter())

    def wait(self, names: Sequence[str]) -> list[float]:
        wait_for(
            "all pods to have nodes",
            lambda: all(name in self.at for name in names),
            PATIENCE_SECONDS,
            0.2,
        )
        return [self.at[name] for name in names]


def _one_at_a_time(made: Filled, bound: Bound, pods: int, what: str, found: Scheduled) -> None:
    """Of each scheduler one in turn."""
    names = [name for name in NAMES if name[1] == what]
    sent: dict[Name, dict[str, float]] = {name: {} for name in names}
    begin = time.perf_counter()
    for number in range(pods * len(names)):
        time.sleep(max(0.0, begin + number * PACE_SECONDS - time.perf_counter()))
        name = names[number % len(names)]
        pod = f"one-{'-'.join(name)}-{number:05}"
        sent[name][pod] = time.perf_counter()
        _create(made, pod, number // len(names), name)
    for name, times in sent.items():
        got = bound.wait(list(times))
        found.seconds[name] = [at - was for at, was in zip(got, times.values(), strict=True)]
    _delete(made)


def _at_once(
    made: Filled, bound: Bound, extender: Extender, name: Name, mark: str, pods: int
) -> float:
    """Pods wait for a scheduler that is not there yet; from the first one placed it counts."""
    names = [f"many-{'-'.join(name)}-{mark}-{number:05}" for number in range(pods)]
    made.crowd.each(lambda number: _create(made, names[number], number, name), range(pods))
    with schedulers(made, extender, [name[0]]):
        times = sorted(bound.wait(names))
    _delete(made)
    return (pods - 1) / (times[-1] - times[0])


def _create(made: Filled, pod: str, number: int, name: Name) -> None:
    number %= fleet.SERIES
    by = {"schedulerName": name[0]}
    document = (
        fleet.gpu_pod(pod, number, made.jobs[number], 1, **by)
        if name[1] == GPU
        else fleet.plain_pod(pod, number, **by)
    )
    document["metadata"]["labels"][MARK] = "bench"
    made.crowd.create(f"/api/v1/namespaces/{fleet.namespace(number)}/pods", document)


def _delete(made: Filled) -> None:
    """Those that were scheduled: what is measured next finds the same cluster."""
    made.api.admin(
        *("delete", "pods", "--all-namespaces", f"--selector={MARK}"),
        *("--grace-period=0", "--force", "--wait=false"),
    )


def choice(before: str, after: str) -> float:
    """The mean of what a scheduler took meanwhile to choose a node, in seconds."""
    spent, count = (
        _value(after, f"{CHOOSING}_{end}") - _value(before, f"{CHOOSING}_{end}")
        for end in ("sum", "count")
    )
    return spent / count if count else float("nan")


def _value(metrics: str, name: str) -> float:
    """0 where it has none yet."""
    lines = [line for line in metrics.splitlines() if line.startswith(f"{name} ")]
    return sum(float(line.rpartition(" ")[2]) for line in lines)
