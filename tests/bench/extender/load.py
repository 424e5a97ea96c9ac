"""Questions at an even pace, from connections that stay open, whatever becomes of the answers.

Each has its time from the beginning; a question that is sent late, because the one before on that
connection was slow, is late by so much: its latency counts from when it should have been sent.
"""

import http.client
import os
import ssl
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from multiprocessing import get_context
from pathlib import Path

from tests.bench.extender.cores import precede

CONNECTIONS = 4
"""A kube-scheduler asks about one pod after the other, and so has one; a cluster may have some."""
TIMEOUT_SECONDS = 10.0
BEGIN_SECONDS = 0.5
"""For the handshakes."""


@dataclass(frozen=True)
class Plan:
    port: int
    authority: Path
    verb: str
    bodies: tuple[bytes, ...]
    """One after the other, and from the beginning again."""
    per_second: float
    seconds: float
    first: bool = False
    """Before all others on the machine: see `cores`."""

    @property
    def count(self) -> int:
        return round(self.per_second * self.seconds)


@dataclass
class Answered:
    latencies: list[float] = field(default_factory=list)
    """Seconds, in the order of the questions."""
    failures: list[str] = field(default_factory=list)
    answer: bytes = b""
    """The last one."""


def ask(plan: Plan) -> Answered:
    """In a process of its own: who measures must not wait for what else happens in this one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(ask_here, plan).result()


def ask_here(plan: Plan) -> Answered:
    if plan.first:
        os.setsid()
        precede(os.getpid())
    begin = time.perf_counter() + BEGIN_SECONDS
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        parts = list(pool.map(lambda first: _one(plan, first, begin), range(CONNECTIONS)))
    numbered = sorted(one for part, _, _ in parts for one in part)
    return Answered(
        [latency for _, latency in numbered],
        [words for _, failures, _ in parts for words in failures],
        parts[-1][2],
    )


def _one(plan: Plan, first: int, begin: float) -> tuple[list[tuple[int, float]], list[str], bytes]:
    """Of one connection: the question's number and how long its answer took."""
    context = ssl.create_default_context(cafile=str(plan.authority))
    connection = http.client.HTTPSConnection(
        "127.0.0.1", plan.port, timeout=TIMEOUT_SECONDS, context=context
    )
    connection.connect()
    found: list[tuple[int, float]] = []
    failures: list[str] = []
    body = b""
    for number in range(first, plan.count, CONNECTIONS):
        due = begin + number / plan.per_second
        time.sleep(max(0.0, due - time.perf_counter()))
        try:
            connection.request("POST", f"/{plan.verb}", plan.bodies[number % len(plan.bodies)])
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as problem:
            failures.append(str(problem))
            connection.close()  # the next question connects again
            continue
        found.append((number, time.perf_counter() - due))
        if answer.status != HTTPStatus.OK:
            failures.append(f"{answer.status}: {body[:200]!r}")
    connection.close()
    return found, failures, body
