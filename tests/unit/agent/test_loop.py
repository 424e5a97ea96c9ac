"""What goes wrong with one GPU is told and counted, and stops nothing else."""

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np

from cepheid.agent.loop import Agent
from cepheid.agent.objects import Objects
from cepheid.agent.telemetry import Telemetry
from cepheid.annotations.api import ApiServer, connect
from cepheid.logs import Troubles
from cepheid.settings import AgentSettings
from cepheid.sources.catalog import Kind
from cepheid.sources.reader import NodeReader
from cepheid.sources.reading import GpuReading, NodeReading, Part, Signal
from tests.unit.agent.readings import NOW, TIMES, gpu, node
from tests.unit.annotations.server import serving
from tests.unit.annotations.test_api import NODE, kubeconfig


@dataclass
class Given:
    """In place of Prometheus: what was read."""

    reading: NodeReading
    client: SimpleNamespace

    def read(self, _now: float) -> NodeReading:
        return self.reading


def impossible(index: int) -> GpuReading:
    """Times and values of different lengths: no reader makes that, unless it has a bug."""
    broken = Signal((Part("", Kind.GAUGE, 1.0, TIMES, np.zeros(TIMES.size + 7)),))
    fine = gpu(index, busy=0.5)
    return replace(fine, signals=dict.fromkeys(fine.signals, broken))


def test_a_gpu_that_cannot_be_analysed_is_counted_and_the_others_are_written(
    tmp_path: Path,
) -> None:
    given = Given(
        node(gpus=(impossible(0), gpu(1, busy=0.5))),
        SimpleNamespace(traffic=SimpleNamespace(wire_bytes=1000)),
    )
    telemetry = Telemetry(30.0)
    troubles = Troubles(logging.getLogger("test"))
    with serving(NODE) as api:
        path = kubeconfig(tmp_path, api.address)
        with ApiServer(lambda: connect(str(path))) as server:
            agent = Agent(
                AgentSettings(node_name="gpu-a"),
                cast(NodeReader, given),
                Objects(server, telemetry, troubles),
                telemetry,
                troubles,
                wall=lambda: NOW + 5,
                steady=lambda: 0.0,
            )
            agent.one_pass()
            agent.one_pass()
    written, *_ = (request for request in api.requests if request.method == "PATCH")
    said = written.body["metadata"]["annotations"]
    assert json.loads(said["ai.centaurus.io/gpu-1"])["max_gpu_util"] == 50
    assert "ai.centaurus.io/gpu-0" not in said
    assert "analysing GPU 0" in troubles
    figures = {
        (sample.name, *sample.labels.values()): sample.value
        for family in telemetry.registry.collect()
        for sample in family.samples
    }
    assert figures["cepheid_agent_errors_total", "analysis"] == 2
    assert figures["cepheid_agent_series",] == 100
    assert figures["cepheid_agent_lag_seconds",] == 5
    assert figures["cepheid_agent_prometheus_bytes_total",] == 1000
