"""Prometheus with the product's own scrape jobs; only where it finds its targets is given.

The jobs are taken from prometheus/prometheus.yaml. In place of Kubernetes' discovery stand targets
with the labels that it would have found, so that the relabeling is the product's too.
"""

import http.client
import math
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests import REPOSITORY
from tests.cluster.binaries import binaries
from tests.e2e.prometheus import Prometheus as Questions
from tests.e2e.prometheus import Sample
from tests.stage.exporters import Exporters
from tests.stage.processes import Daemon, free_port
from tests.unit.sources.servers import load

MANIFEST = REPOSITORY / "prometheus/prometheus.yaml"
OF_A_CLUSTER = ("kubernetes_sd_configs", "scheme", "metrics_path", "authorization", "tls_config")
"""What of a job does not hold without a cluster."""
MOST_STEPS = 60
"""Of the past, written at once: of a large node at 15 s a quarter of an hour, 30 MB of text."""


@dataclass(frozen=True)
class Target:
    job: str
    path: str
    instance: str
    node: str
    discovered: dict[str, str]


class Prometheus(Daemon):
    def __init__(self, folder: Path, exporters: Exporters, interval_seconds: float = 1.0) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.interval_seconds = interval_seconds
        self.jobs = _jobs_of_the_product()
        """Others count from the next start."""
        self._exporters = exporters
        self._config = folder / "prometheus.yml"
        self._histories = 0
        port = free_port()
        self._questions = Questions(f"127.0.0.1:{port}")
        self.url = f"http://127.0.0.1:{port}"
        super().__init__(
            [
                binaries() / "bin/prometheus",
                f"--config.file={self._config}",
                f"--storage.tsdb.path={self.data}",
                "--storage.tsdb.retention.time=2d",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            folder / "prometheus.log",
            self._is_ready,
        )

    def start(self) -> None:
        """Scrapes the nodes that are in the world now."""
        self.data.mkdir(parents=True, exist_ok=True)
        self._config.write_text(yaml.safe_dump(self._configuration(), sort_keys=False))
        super().start()

    def wipe(self) -> None:
        """Loses all that it knew, as a pod with an emptyDir that moves to another node."""
        self.forget()
        self.start()

    def forget(self) -> None:
        """It runs no longer, either."""
        self.kill()
        shutil.rmtree(self.data)

    def backfill(self, seconds: float, until_seconds_ago: float = 0.0) -> None:
        """The world's past, as if it had been scraped from then on. Only before the start."""
        assert not self.running
        self.data.mkdir(parents=True, exist_ok=True)
        begin = time.time() - seconds
        # To write an hour takes seconds, in which more of the past comes to be.
        while (
            steps := math.floor((time.time() - until_seconds_ago - begin) / self.interval_seconds)
        ) > 0:
            steps = min(steps, MOST_STEPS)
            times = [begin + self.interval_seconds * step for step in range(steps)]
            lines = [line for when in times for line in self._scraped(when)]
            self._histories += 1
            made = self.folder / f"history-{self._histories}"
            for block in load(made, "\n".join([*lines, "# EOF", ""])).iterdir():
                block.rename(self.data / block.name)
            made.with_suffix(".om").unlink()
            begin += self.interval_seconds * steps

    def query(self, expression: str) -> list[Sample]:
        return self._questions.query(expression)

    def samples(self, selector: str) -> list[tuple[dict[str, str], list[tuple[float, float]]]]:
        return self._questions.samples(selector)

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection(self._questions.address, timeout=5)
        try:
            connection.request("GET", "/-/ready")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _targets(self) -> list[Target]:
        return [
            target
            for number, node in enumerate(self._exporters.world.nodes)
            for target in (
                Target(
                    "cadvisor",
                    self._exporters.cadvisor_path(node.name),
                    node.name,  # discovery says so for the role `node`
                    node.name,
                    {"__meta_kubernetes_node_name": node.name},
                ),
                Target(
                    "dcgm-exporter",
                    self._exporters.dcgm_path(node.name),
                    f"10.244.{number}.9:9400",
                    node.name,
                    {
                        "__meta_kubernetes_pod_phase": "Running",
                        "__meta_kubernetes_pod_container_port_number": "9400",
                        "__meta_kubernetes_pod_node_name": node.name,
                        "__meta_kubernetes_namespace": "gpus",
                        "__meta_kubernetes_pod_name": f"dcgm-exporter-{number}x7k2",
                        "__meta_kubernetes_pod_container_name": "exporter",
                    },
                ),
            )
        ]

    def _configuration(self) -> dict[str, Any]:
        targets = self._targets()
        jobs = []
        for theirs in self.jobs:
            found = [target for target in targets if target.job == theirs["job_name"]]
            if found:
                job = {key: value for key, value in theirs.items() if key not in OF_A_CLUSTER}
                job["static_configs"] = [
                    {
                        "targets": [self._exporters.address],
                        "labels": {
                            "__metrics_path__": target.path,
                            "instance": target.instance,
                            **target.discovered,
                        },
                    }
                    for target in found
                ]
                jobs.append(job)
        every = f"{round(1000 * self.interval_seconds)}ms"
        timeout = f"{round(1000 * min(self.interval_seconds, 10))}ms"
        return {
            "global": {"scrape_interval": every, "scrape_timeout": timeout},
            "scrape_configs": jobs,
        }

    def _scraped(self, when: float) -> Iterator[str]:
        """What a scrape at that moment would have stored, as OpenMetrics."""
        for target in self._targets():
            added = f'instance="{target.instance}",job="{target.job}",node="{target.node}"'
            for line in (self._exporters.page(target.path, when) or "").splitlines():
                if not line.startswith("#"):
                    series, _, tail = line.rpartition("} ")
                    value, *own = tail.split()
                    at = float(own[0]) / 1000 if own else when
                    yield f"{series},{added}}} {value} {at:.3f}"


def _jobs_of_the_product() -> list[dict[str, Any]]:
    (text,) = (
        thing["data"]["prometheus.yml"]
        for thing in yaml.safe_load_all(MANIFEST.read_text())
        if thing["kind"] == "ConfigMap"
    )
    found: list[dict[str, Any]] = yaml.safe_load(text)["scrape_configs"]
    return found
