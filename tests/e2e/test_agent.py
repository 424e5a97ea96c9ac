"""The product as users get it: two manifests, and the nodes say what their GPUs do.

The jobs were begun with the first test of all; the patient tests here are the last.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

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
    gpu_written,
    pod_said,
    true_period,
)

MOVED_SECONDS = (1 + NODE.reserves[Rank.MOVE]) * NODE.refill_seconds + 120
"""A figure that came a scrape after its pod is a mere move, and may have to wait that long."""
STEPS_SAMPLES = 12
"""Three steps of the job, scraped every 15 s."""
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
@pytest.mark.timeout(LONG + 700)
def test_a_forecast_is_proven_by_what_comes(watched: Kubectl, prometheus: Prometheus) -> None:
    def foretold() -> tuple[ForecastFacts, float] | None:
        written, gpu = gpu_written(watched, "train")
        if gpu.forecast is None or gpu.forecast.util_mean_percent is None:
            return None
        return gpu.forecast, written.timestamp()

    told, since = wait_for("a forecast", foretold, LONG)
    assert told.util_mean_percent is not None
    assert told.util_p95_percent is not None
    assert told.mem_peak_gb == pytest.approx(TRAIN_MIB / 1024, rel=0.05)
    chosen = f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{namespace="{watched.namespace}", pod="train"}}'

    def came() -> list[float]:
        """Since then. Labels are missing where the kubelet was too slow: some are of nobody."""
        found = [one for _, series in prometheus.samples(f"{chosen}[20m]") for one in series]
        return [100 * value for at, value in sorted(found) if at > since]

    wait_for("what comes", lambda: len(came()) >= STEPS_SAMPLES, 600, 5)
    busy = came()[:STEPS_SAMPLES]
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
    """To the node no more than its budget, which grows with time, whatever happened."""
    wrote = prometheus.query('sum by (node) (cepheid_agent_writes_total{kind="Node"})')
    agents = kubectl.within("cepheid").items(
        "pods", "--selector=app.kubernetes.io/name=cepheid-agent"
    )
    assert len(wrote) == len(agents) == 2
    ages = {pod["spec"]["nodeName"]: _age_seconds(pod) for pod in agents}
    for sample in wrote:
        most = NODE.burst + ages[sample.labels["node"]] / NODE.refill_seconds
        assert 0 < sample.value <= most
    for pod in kubectl.within("cepheid").items("pods"):
        said = kubectl.within("cepheid")("logs", pod["metadata"]["name"])
        assert " error " not in said
        assert "Traceback" not in said


def _age_seconds(pod: Any) -> float:
    """Of its container: its figures begin with it."""
    (status,) = pod["status"]["containerStatuses"]
    begun = datetime.fromisoformat(status["state"]["running"]["startedAt"])
    return (datetime.now(UTC) - begun).total_seconds()
