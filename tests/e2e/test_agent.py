"""The product as users get it: two manifests, and the nodes say what their GPUs do.

The jobs were begun with the first test of all; the patient tests here are the last.
"""

import json
import time
from datetime import UTC, datetime, timedelta

import pytest

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.change import NODE, Rank
from cepheid.annotations.codec import decode_node, is_ours
from cepheid.annotations.facts import ForecastFacts
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for
from tests.e2e.prometheus import Prometheus
from tests.e2e.watched import (
    HOLD_MIB,
    TRAIN_MIB,
    annotations,
    gpu_said,
    pod_said,
    true_period,
)

MOVED_SECONDS = (1 + NODE.reserves[Rank.MOVE]) * NODE.refill_seconds + 120
"""A figure that came a scrape after its pod is a mere move, and may have to wait that long."""
LONG = 900
"""Seconds from the first test on: a job type takes five minutes, a forecast eight."""


@pytest.mark.timeout(MOVED_SECONDS + 300)
@pytest.mark.parametrize(("name", "mib"), [("train", TRAIN_MIB), ("hold", HOLD_MIB)])
def test_a_pod_and_its_node_say_what_is_held(watched: Kubectl, name: str, mib: int) -> None:
    watched("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=150s")
    (own,) = wait_for("the pod's GPU", lambda: pod_said(watched, name).gpus)
    assert not own.shared
    wait_for("its memory", lambda: gpu_said(watched, name).mem_used_gb == mib / 1024, MOVED_SECONDS)
    assert gpu_said(watched, name).pods == 1


def test_prometheus_reads_the_agents_figures(kubectl: Kubectl, prometheus: Prometheus) -> None:
    nodes = {node["metadata"]["name"] for node in kubectl.items("nodes")}
    ready = "cepheid_agent_valid_until_seconds > time()"
    wait_for("agents", lambda: {s.labels["node"] for s in prometheus.query(ready)} == nodes)


@pytest.mark.patient
@pytest.mark.timeout(LONG + 100)
def test_the_node_says_the_true_period_and_the_job_types(watched: Kubectl) -> None:
    wait_for(
        "training and idle",
        lambda: (
            (gpu_said(watched, "train").job_type, gpu_said(watched, "hold").job_type)
            == (JobKind.TRAINING, JobKind.IDLE)
        ),
        LONG,
    )
    cycle = wait_for("a cycle", lambda: gpu_said(watched, "train").cycle, LONG)
    assert cycle.period_seconds == pytest.approx(true_period(watched), rel=0.05)
    assert cycle.confirmed is True
    held = gpu_said(watched, "hold")
    assert (held.cycle, held.mem_used_gb) == (None, HOLD_MIB / 1024)
    assert gpu_said(watched, "train").max_gpu_util_percent == 100
    assert pod_said(watched, "train").job_type is JobKind.TRAINING


@pytest.mark.patient
@pytest.mark.timeout(LONG + 400)
def test_a_forecast_is_proven_by_what_comes(watched: Kubectl, prometheus: Prometheus) -> None:
    def foretold() -> ForecastFacts | None:
        told = gpu_said(watched, "train").forecast
        return told if told is not None and told.util_mean_percent is not None else None

    told = wait_for("a forecast", foretold, LONG)
    assert told.util_mean_percent is not None
    assert told.util_p95_percent is not None
    assert told.mem_peak_gb == pytest.approx(TRAIN_MIB / 1024, rel=0.05)
    time.sleep(150)  # this has to come, however fast the machine is
    chosen = f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{namespace="{watched.namespace}", pod="train"}}'
    ((_, came),) = prometheus.samples(f"{chosen}[2m]")
    busy = [100 * value for _, value in came]
    assert len(busy) >= 6
    assert sum(value <= told.util_p95_percent + 1 for value in busy) >= 0.8 * len(busy)
    assert sum(busy) / len(busy) == pytest.approx(told.util_mean_percent, abs=15)


@pytest.mark.patient
def test_people_can_read_it(kubectl: Kubectl, watched: Kubectl) -> None:
    node = watched.get("pod", "train")["spec"]["nodeName"]

    def stands() -> dict[str, str]:
        return {k: v for k, v in annotations(kubectl.get("node", node)).items() if is_ours(k)}

    def described() -> tuple[dict[str, str], str] | None:
        """While nobody writes to it."""
        before, text = stands(), kubectl("describe", "node", node)
        return (before, text) if before == stands() else None

    ours, text = wait_for("a quiet moment", described)
    lines = [line.strip().removeprefix("Annotations:").strip() for line in text.splitlines()]
    assert len(ours) > 10
    for key, value in ours.items():
        assert f"{key}: {value}" in lines
        assert "'" not in value, "a repr of Python"
        if value.startswith("{"):
            json.loads(value)
    until = decode_node(ours).facts.valid_until
    assert until is not None
    assert datetime.now(UTC) < until <= datetime.now(UTC) + timedelta(seconds=1260)


@pytest.mark.patient
def test_agents_wrote_little_and_nothing_went_wrong(
    kubectl: Kubectl, prometheus: Prometheus
) -> None:
    """At most 20 an hour to the node, whatever happened; the first hour may use what was saved."""
    wrote = prometheus.query('sum by (node) (cepheid_agent_writes_total{kind="Node"})')
    assert {sample.labels["node"] for sample in wrote} == {
        node["metadata"]["name"] for node in kubectl.items("nodes", "--selector=type!=kwok")
    }
    assert max(sample.value for sample in wrote) <= 20
    for pod in kubectl.within("cepheid").items("pods"):
        said = kubectl.within("cepheid")("logs", pod["metadata"]["name"])
        assert " error " not in said
        assert "Traceback" not in said
