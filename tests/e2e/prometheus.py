"""Asks the cluster's Prometheus."""

import http.client
import json
import urllib.parse
from dataclasses import dataclass
from typing import Any

from tests.cluster.progress import ClusterError


@dataclass(frozen=True)
class Sample:
    labels: dict[str, str]
    value: float


@dataclass(frozen=True)
class Prometheus:
    address: str  # host:port

    def get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as problem:
            # A connection that broke on its way is no answer: who waits asks again.
            raise ClusterError(f"no answer from {self.address} to {path}: {problem}") from problem
        finally:
            connection.close()

    def api(self, path: str, **parameters: str) -> Any:
        status, text = self.get(f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        if status != http.HTTPStatus.OK:
            raise ClusterError(f"Prometheus answered {status} to {path} {parameters}: {text}")
        return json.loads(text)["data"]

    def samples(self, selector: str) -> list[tuple[dict[str, str], list[tuple[float, float]]]]:
        """Raw samples (time, value) of a range selector such as `metric[1m]`."""
        found = self.api("query", query=selector)["result"]
        return [(s["metric"], [(t, float(v)) for t, v in s["values"]]) for s in found]

    def query(self, expression: str) -> list[Sample]:
        found = self.api("query", query=expression)["result"]
        return [Sample(series["metric"], float(series["value"][1])) for series in found]
