"""Do the nodes' annotations still count?"""

from collections.abc import Iterator
from datetime import datetime

from cepheid.doctor.facts import AgentPod, Cluster, NodeSeen, Unseen
from cepheid.doctor.finding import NAMESPACE, Finding, Rule, fail, not_seen, ok
from cepheid.reports.words import lasting, listed

AREA = "annotations"


def findings(cluster: Cluster, now: datetime) -> Iterator[Finding]:
    if isinstance(cluster.nodes, Unseen):
        yield not_seen(AREA, "the annotations of nodes", cluster.nodes)
        return
    dated = [node for node in cluster.nodes if node.valid_until is not None]
    expired = [node for node in dated if _left_seconds(node, now) <= 0]
    pods = () if isinstance(cluster.agent_pods, Unseen) else cluster.agent_pods
    bare = _without(cluster.nodes, pods)
    if expired:
        yield _expired(expired, pods, now)
    if bare:
        pod = next(one for one in pods if one.node == bare[0])
        yield fail(
            AREA,
            Rule.NOT_ANNOTATED,
            f"the agent runs on {listed(bare)}, and wrote nothing there yet",
            "in its first minute that is as it should be; after that its log says why",
            f"kubectl -n {NAMESPACE} logs {pod.name}",
        )
    if not dated and not bare:
        yield fail(
            AREA,
            Rule.NO_ANNOTATIONS,
            "no node has annotations of Cepheid",
            "an agent writes them: is one running?",
            f"kubectl -n {NAMESPACE} get pods -o wide",
        )
    if dated and not expired and not bare:
        least = min(_left_seconds(node, now) for node in dated)
        count = f"{len(dated)} of {len(cluster.nodes)} nodes"
        yield ok(AREA, f"annotations of {count} are fresh: they count for {lasting(least)} more")


def _without(nodes: tuple[NodeSeen, ...], pods: tuple[AgentPod, ...]) -> list[str]:
    """Nodes whose agent is ready, and that have nothing from it."""
    served = {pod.node for pod in pods if pod.is_ready}
    return [node.name for node in nodes if node.name in served and node.valid_until is None]


def _expired(nodes: list[NodeSeen], pods: tuple[AgentPod, ...], now: datetime) -> Finding:
    longest = max(-_left_seconds(node, now) for node in nodes)
    names = listed([node.name for node in nodes])
    words = f"the annotations of {names} expired, up to {lasting(longest)} ago: readers ignore them"
    pod = next((one for one in pods if one.node == nodes[0].name), None)
    if pod is None:
        return fail(
            AREA,
            Rule.LEFT_BEHIND,
            words,
            "no agent runs there; if none should, take the annotations away",
            "cepheid uninstall --annotations --dry-run",
        )
    return fail(
        AREA,
        Rule.EXPIRED,
        words,
        "its agent cannot write, or cannot read Prometheus: its log says which",
        f"kubectl -n {NAMESPACE} logs {pod.name}",
    )


def _left_seconds(node: NodeSeen, now: datetime) -> float:
    return 0.0 if node.valid_until is None else (node.valid_until - now).total_seconds()
