"""The operator beside a thousand jobs: started, in the steady state, when a fifth ends at once."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.bench.operator.audit import Asked
from tests.bench.operator.crowd import Crowd, Document
from tests.bench.operator.filled import Agents, Filled, Talk, filled
from tests.bench.operator.jobs import Job, Worker, jobs
from tests.stage.operator import Operator
from tests.stage.processes import StageError, Usage

STEADY_SECONDS = 600.0
"""The operator lists everything anew every 600 s: once in this time."""
REST_SECONDS = 60.0
"""From when all profiles stand until it counts, with agents that write already."""
LOOK_SECONDS = 10.0
PATIENCE_SECONDS = 600.0
PROFILES = "/apis/ai.centaurus.io/v1alpha1/jobprofiles"
RUNNING = "running"


@dataclass(frozen=True)
class Start:
    """From the start of the process until every job has a live profile."""

    seconds: float
    usage: Usage


@dataclass
class Steady:
    seconds: float
    usages: list[Usage]
    """The first when it begins, the last when it is over."""
    pod_writes: int
    events: Counter[str]
    """By kind."""
    writes: Counter[tuple[str, str]]
    """By kind and what was written."""
    requests: Counter[Asked]

    @property
    def cpu_seconds(self) -> float:
        return self.usages[-1].cpu_seconds - self.usages[0].cpu_seconds

    def busiest_cpu_seconds(self, looks: int) -> float:
        """Of so many looks one after the other."""
        spent = [usage.cpu_seconds for usage in self.usages]
        pairs = zip(spent, spent[looks:], strict=False)
        return max((after - before for before, after in pairs), default=self.cpu_seconds)


@dataclass
class Ends:
    jobs: int
    pods_seconds: float
    """That the API server took for the ends of the pods, before those of the jobs."""
    jobs_seconds: float
    told: list[float] = field(default_factory=list)
    """Seconds from when a job's end was sent to the API server until its profile said so."""
    complete: list[float] = field(default_factory=list)
    """The same until it had the figures of Prometheus."""
    cpu_seconds: float = 0.0
    """Of the operator, until the last one was complete."""
    usage: Usage | None = None


@dataclass(frozen=True)
class Measured:
    jobs: int
    pods: int
    pod_bytes: int
    start: Start
    steady: Steady
    ends: Ends
    troubles: list[str]


def run(folder: Path, count: int, seconds: float, talk: Talk) -> Measured:
    with filled(folder, jobs(count), talk) as made:
        seen = Seen()
        seen.watch(made.crowd)
        kubeconfig = made.stage.api.operator_kubeconfig("operator")
        operator = Operator(folder, "bench", made.stage.prometheus.url, kubeconfig)
        begin = time.monotonic()
        with operator:
            _until(lambda: len(seen.uids) == count, operator)
            start = Start(time.monotonic() - begin, operator.usage())
            talk(f"every job has a profile; {seconds:.0f} s of the steady state")
            with Agents(made) as agents:
                time.sleep(REST_SECONDS)
                steady = hold(made, operator, agents, seconds)
                talk("a fifth of them ends")
                ends = end(made, operator, seen)
            troubles = [str(entry["message"]) for entry in operator.troubles()]
        return Measured(count, len(made.workers), made.pod_bytes(), start, steady, ends, troubles)


def hold(made: Filled, operator: Operator, agents: Agents, seconds: float) -> Steady:
    metrics, requests, writes = operator.metrics(), made.audit.counted(), agents.writes
    usages, begin = [operator.usage()], time.monotonic()
    while (now := time.monotonic()) < begin + seconds:
        time.sleep(min(LOOK_SECONDS, begin + seconds - now))
        usages.append(operator.usage())
    took = time.monotonic() - begin
    after = operator.metrics()
    return Steady(
        took,
        usages,
        agents.writes - writes,
        Counter({key[0]: n for key, n in _grown("events", metrics, after).items()}),
        Counter({(key[0], key[1]): n for key, n in _grown("writes", metrics, after).items()}),
        made.audit.counted() - requests,
    )


def end(made: Filled, operator: Operator, seen: "Seen") -> Ends:
    """The pods first, and when all have ended the jobs: from then on it counts."""
    ending = [job for job in made.jobs if job.ends]
    crowd, before = made.crowd, operator.usage().cpu_seconds
    begin = time.monotonic()
    workers = [worker for job in ending for worker in job.workers()]
    crowd.each(partial(_end_pod, made), workers)
    middle = time.monotonic()
    sent = dict(crowd.each(partial(_end_job, crowd), ending))
    found = Ends(len(ending), middle - begin, time.monotonic() - middle)
    uids = {made.uids[job] for job in ending}
    _until(lambda: uids <= seen.complete.keys(), operator)
    for job, when in sent.items():
        uid = made.uids[job]
        if uid in seen.told:
            found.told.append(seen.told[uid] - when)
        if uid in seen.complete:
            found.complete.append(seen.complete[uid] - when)
    found.usage = operator.usage()
    found.cpu_seconds = found.usage.cpu_seconds - before
    return found


def _end_pod(made: Filled, worker: Worker) -> None:
    started = made.started[worker.job.namespace, worker.name]
    made.crowd.tell(f"{worker.path}/{worker.name}", worker.over(started))


def _end_job(crowd: Crowd, job: Job) -> tuple[Job, float]:
    now = time.monotonic()
    crowd.tell(f"{job.path}/{job.name}", job.over())
    return job, now


@dataclass
class Seen:
    """Of all JobProfiles, by the uid of their job: when they said what."""

    uids: set[str] = field(default_factory=set)
    told: dict[str, float] = field(default_factory=dict)
    complete: dict[str, float] = field(default_factory=dict)

    def watch(self, crowd: Crowd) -> None:
        """From now on, in a thread of its own."""
        threading.Thread(target=self._run, args=(crowd,), name="profiles", daemon=True).start()

    def take(self, profile: Document, now: float) -> None:
        uid = profile["job"]["uid"]
        self.uids.add(uid)
        if profile["outcome"] != RUNNING:
            self.told.setdefault(uid, now)
            if "samples" in profile:
                self.complete.setdefault(uid, now)

    def _run(self, crowd: Crowd) -> None:
        for event in crowd.watch(PROFILES):
            self.take(event["object"], time.monotonic())


def _grown(
    name: str, before: dict[str, float], after: dict[str, float]
) -> dict[tuple[str, ...], int]:
    """A counter of the operator, by the values of its labels."""
    begin = f"cepheid_operator_{name}_total{{"
    return {
        tuple(part.split('"')[1] for part in series[len(begin) : -1].split(",")): int(
            value - before.get(series, 0.0)
        )
        for series, value in after.items()
        if series.startswith(begin)
    }


def _until(true: Callable[[], bool], operator: Operator) -> None:
    """Or until it is given up: what did not come is missing in the figures."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true() and time.monotonic() < deadline:
        if not operator.running:
            raise StageError(f"the operator ended:\n{operator.last_words()}")
        time.sleep(0.2)
