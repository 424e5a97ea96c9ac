"""The extender asked fifty times a second, then by a real kube-scheduler."""

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tests.bench.extender import fleet
from tests.bench.extender.constant import Constant
from tests.bench.extender.cores import pin, precede
from tests.bench.extender.filled import Extender, Filled, Talk, Writers, filled
from tests.bench.extender.load import Answered, Plan, ask
from tests.bench.extender.scheduling import Scheduled, schedule
from tests.cluster.progress import wait_for
from tests.stage.processes import Daemon, Usage

PER_SECOND = 50.0
LOAD_SECONDS = 60.0
REST_SECONDS = 20.0
"""After it is ready: its watches list everything once more."""
BURST = 100
RELIST_SECONDS, OFTEN_SECONDS = 600.0, 15.0
"""How often everything is listed anew by default, and in the load that is to show what it costs."""
JOBS = 20
"""So many pods, of different jobs, are asked about in turn."""
WAITS = "asked-about"
MILLI = 1000.0
CONSTANT, FILTER, PRIORITIZE = "constant", "filter", "prioritize"
ORDINARY, RELISTED = "ordinary", "relisted"


@dataclass(frozen=True)
class Load:
    answered: Answered
    seconds: float
    usages: tuple[Usage, Usage]
    load_average: float
    """Of the last minute, at its end."""
    idle: float
    """Share of the time in which a core of the machine had nothing to do."""

    @property
    def cpu_seconds(self) -> float:
        return self.usages[1].cpu_seconds - self.usages[0].cpu_seconds


@dataclass
class Measured:
    nodes: int
    start_seconds: float = 0.0
    """From the start of the process until it answers from what it knows."""
    start: Usage | None = None
    question_bytes: int = 0
    pod_bytes: int = 0
    answer_bytes: int = 0
    loads: dict[str, Load] = field(default_factory=dict)
    alone: bool = False
    """Whether it could be given precedence over others on its core."""
    written_per_second: float = 0.0
    """By agents and kubelets, while the load lasts."""
    last: Usage | None = None
    """Of the extender, after all of it."""
    scheduled: Scheduled | None = None
    troubles: list[str] = field(default_factory=list)


def run(folder: Path, nodes: int, seconds: float, pods: int, rounds: int, talk: Talk) -> Measured:
    found = Measured(nodes)
    with filled(folder, nodes, talk) as made:
        bodies = _questions(made, found)
        begin = time.monotonic()
        with made.extender("usual", RELIST_SECONDS) as extender:
            wait_for("the extender to be ready", lambda: extender.is_ready, 120, 0.1)
            found.start_seconds, found.start = time.monotonic() - begin, extender.usage()
            time.sleep(REST_SECONDS)
            plan = partial(_plan, made, extender.serves, bodies, seconds)
            first = ask(_plan(made, extender.serves, bodies, 1.0, PRIORITIZE)).answer
            found.answer_bytes = len(first)
            with Writers(made) as writers:
                burst = partial(writers.burst, min(BURST, nodes))
                ordinary = replace(plan(PRIORITIZE), first=False)
                found.loads[ORDINARY] = _load(extender, ordinary, burst, talk)
                found.alone = precede(extender.pid)
                _constant(made, first, plan(PRIORITIZE), found, talk)
                before, at = writers.written, time.monotonic()
                for verb in (PRIORITIZE, FILTER):
                    found.loads[verb] = _load(extender, plan(verb), burst, talk)
                found.written_per_second = (writers.written - before) / (time.monotonic() - at)
            if pods:
                found.scheduled = schedule(made, extender, pods, rounds, talk)
            found.last = extender.usage()
            _listen(extender, found)
        with made.extender("often", OFTEN_SECONDS) as extender:
            talk(f"everything is listed anew every {OFTEN_SECONDS:.0f} s")
            wait_for("the extender to be ready", lambda: extender.is_ready, 120, 0.1)
            precede(extender.pid)
            often = _plan(made, extender.serves, bodies, seconds, PRIORITIZE)
            found.loads[RELISTED] = _load(extender, often, lambda: None, talk)
            _listen(extender, found)
    return found


def _plan(made: Filled, port: int, bodies: tuple[bytes, ...], seconds: float, verb: str) -> Plan:
    return Plan(port, made.authority.certificate, verb, bodies, PER_SECOND, seconds, first=True)


def _questions(made: Filled, found: Measured) -> tuple[bytes, ...]:
    """About pods that wait, as the API server has them."""
    for number in range(JOBS):
        gpus = 2 ** (number % 4)
        pod = fleet.gpu_pod(
            f"{WAITS}-{number}", number, made.jobs[number], gpus, schedulerName="nobody"
        )
        made.crowd.create(f"/api/v1/namespaces/{fleet.namespace(number)}/pods", pod)
    pods = [
        pod
        for number in range(fleet.NAMESPACES)
        for pod in made.crowd.items(f"/api/v1/namespaces/{fleet.namespace(number)}/pods")
        if pod["metadata"]["name"].startswith(WAITS)
    ]
    asked = [fleet.question(pod, made.names) for pod in pods]
    bodies = tuple(_json(one) for one in asked)
    found.question_bytes = max(map(len, bodies))
    found.pod_bytes = max(len(_json(one["Pod"])) for one in asked)
    return bodies


def _json(thing: object) -> bytes:
    return json.dumps(thing, separators=(",", ":")).encode()


def _constant(made: Filled, answer: bytes, plan: Plan, found: Measured, talk: Talk) -> None:
    with Constant(made.folder, made.serving, answer) as server:
        precede(server.pid)
        same = replace(plan, port=server.port)
        found.loads[CONSTANT] = _load(server, same, lambda: None, talk)


def _load(server: Daemon, plan: Plan, burst: Callable[[], None], talk: Talk) -> Load:
    pin(server.pid)
    talk(f"{plan.per_second:.0f} questions a second for {plan.seconds:.0f} s: {plan.verb}")
    timer = threading.Timer(plan.seconds / 2, burst)
    before, begin, idle = server.usage(), time.monotonic(), _idle()
    timer.start()
    answered = ask(plan)
    seconds = time.monotonic() - begin
    usages = before, server.usage()
    load = os.getloadavg()[0]
    unused = (_idle() - idle) / seconds / (os.cpu_count() or 1)
    timer.join()
    middle, late = (MILLI * share(answered.latencies, part) for part in (0.5, 0.99))
    talk(f"half within {middle:.1f} ms, 99 % within {late:.1f} ms, load {load:.1f}")
    return Load(answered, seconds, usages, load, unused)


def _idle() -> float:
    """Seconds, of all cores together."""
    fields = Path("/proc/stat").read_text().split(maxsplit=6)
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def _listen(extender: Extender, found: Measured) -> None:
    found.troubles += [str(entry["message"]) for entry in extender.troubles()]


def share(values: Sequence[float], of_all: float) -> float:
    """Within which so large a share came."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(of_all * len(ordered)))]
