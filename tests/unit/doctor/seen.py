"""Facts of a cluster where all is well, to be changed by a test."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cepheid.doctor.definitions import NAMES, expected
from cepheid.doctor.diagnosis import examine
from cepheid.doctor.facts import (
    AgentPod,
    Cluster,
    Definition,
    Facts,
    Metrics,
    NodeSeen,
    Pace,
    Right,
    Source,
    Unseen,
    Workload,
)
from cepheid.doctor.finding import Finding, Level
from cepheid.doctor.installed import POLICIES
from cepheid.doctor.rights import AGENT, OPERATOR, YOU
from cepheid.sources import catalog

NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)
NODES = ("gpu-a", "gpu-b")
ANNOTATED = tuple(NodeSeen(node, 4, ("192.0.2.7",), NOW + timedelta(minutes=12)) for node in NODES)
AGENTS = Workload("cepheid", AGENT, "localhost/cepheid/agent:0.1.0", 2, 2, "agent")
INSTANCES = Workload("cepheid", OPERATOR, "localhost/cepheid/operator:0.1.0", 2, 2, "operator")
EXPORTER = Workload("gpu-operator", "nvidia-dcgm-exporter")
AWAY = Unseen("listing: 403, no", is_forbidden=True)


def labels(node: str, pod: str = "train-0", /, **more: str) -> dict[str, str]:
    own = {"gpu": "0", "UUID": f"GPU-{node}", "node": node, "Hostname": node}
    held = {"namespace": "research", "pod": pod, "container": "main"} if pod else {}
    return {**own, "instance": "10.244.0.9:9400", **held, **more}


def cluster(**changed: Any) -> Cluster:
    wanted = expected()
    well = Cluster(
        version="v1.34.0",
        ahead_seconds=0.2,
        user="ann",
        agent=AGENTS,
        operator=INSTANCES,
        agent_pods=tuple(AgentPod(f"cepheid-agent-{node}", node, True) for node in NODES),
        nodes=ANNOTATED,
        definitions={name: Definition(("v1alpha1",), True, wanted[name]) for name in NAMES},
        policies=POLICIES,
        missing={YOU: (), AGENT: (), OPERATOR: ()},
        exporters=(EXPORTER,),
        gpu_pod="research/train-0",
    )
    return replace(well, **changed)


def metrics(**changed: Any) -> Metrics:
    well = Metrics(
        version="2.53.0",
        ahead_seconds=-0.1,
        dcgm=frozenset(one.name for one in catalog.of(catalog.Source.DCGM)),
        devices=tuple(labels(node) for node in NODES),
        blanks={},
        gpu_age_seconds=9.0,
        gpu_pace=Pace(15.0, 15.0),
        has_amd=False,
        cadvisor_age_seconds=11.0,
        cadvisor_nodes=frozenset(NODES),
    )
    return replace(well, **changed)


def facts(**changed: Any) -> Facts:
    inside = "http://prometheus.cepheid-monitoring.svc:9090"
    well = Facts(
        now=NOW,
        own_version="0.1.0",
        wanted_period_seconds=45.0,
        cluster=cluster(),
        source=Source(
            url=inside, told_by="the agent", through="cepheid-monitoring/prometheus:9090"
        ),
        metrics=metrics(),
    )
    return replace(well, **changed)


def troubles(**changed: Any) -> list[Finding]:
    return [one for one in examine(facts(**changed)) if one.level is not Level.OK]


def of_cluster(**changed: Any) -> list[Finding]:
    return troubles(cluster=cluster(**changed))


def of_metrics(**changed: Any) -> list[Finding]:
    return troubles(metrics=metrics(**changed))


def one(found: list[Finding]) -> Finding:
    (only,) = found
    return only


def lacking(**changed: tuple[Right, ...]) -> dict[str, tuple[Right, ...]]:
    names = {"you": YOU, "agent": AGENT, "operator": OPERATOR}
    return {name: changed.get(key, ()) for key, name in names.items()}
