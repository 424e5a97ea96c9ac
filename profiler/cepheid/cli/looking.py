"""A look at a whole cluster: its Nodes and Pods, and what Prometheus measured of its GPUs."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Self

from cepheid.annotations.api import ApiServer
from cepheid.annotations.standing import Thing, nodes, pods
from cepheid.errors import ForbiddenError, SourceError
from cepheid.history.in_cluster import connect_to
from cepheid.reports.fleet import Fleet, Place, fleet
from cepheid.reports.top import Live, gpu_rows

REMEMBERED = 12
"""Values of a course that was seen here."""


class Look:
    """Over and over: without Prometheus the course of a GPU is what earlier looks have seen."""

    def __init__(self, context: str | None, namespace: str | None, prometheus_url: str) -> None:
        self.notes: list[str] = []
        """What was not seen the last time, in words."""
        self._server = ApiServer(lambda: connect_to(context))
        self._namespace, self._url = namespace, prometheus_url
        self._seen: dict[Place, list[float | None]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def __call__(self) -> tuple[Fleet, Mapping[Place, Live]]:
        self.notes.clear()
        found = fleet(nodes(self._server), self._pods(), datetime.now(UTC))
        return found, self._measured() or self._remembered(found)

    def _pods(self) -> list[Thing]:
        everywhere = self._namespace is None
        try:
            return pods(self._server, self._namespace, everywhere=everywhere)
        except ForbiddenError:
            if not everywhere:
                raise
            self.notes.append("you may not list the pods of all namespaces: only your own's count")
            return self._own_pods()

    def _own_pods(self) -> list[Thing]:
        try:
            return pods(self._server, None, everywhere=False)
        except ForbiddenError:
            self.notes.append("nor those of your own: who holds a GPU is not shown")
            return []

    def _measured(self) -> dict[Place, Live]:
        if not self._url:
            return {}
        from cepheid.doctor.asking import questions
        from cepheid.sources.live import UTIL, gpus_now

        try:
            with questions(self._server, self._url, os.environ) as ask:
                found = gpus_now(ask, time.time())
        except SourceError as problem:
            self.notes.append(f"without Prometheus: {problem.message}")
            return {}
        if not found:
            self.notes.append(
                f"Prometheus has no {UTIL}: has it the rules of prometheus/rules.yaml?"
            )
        return {
            Place(one.node, one.index, one.mig): Live(one.util_percent, one.power_watts)
            for one in found
        }

    def _remembered(self, found: Fleet) -> dict[Place, Live]:
        live = {}
        for place, row in zip(found.gpus, gpu_rows(found, {}), strict=True):
            course = self._seen.setdefault(place, [])
            course.append(row.util_percent)
            del course[:-REMEMBERED]
            live[place] = Live(tuple(course) if len(course) > 1 else ())
        return live
