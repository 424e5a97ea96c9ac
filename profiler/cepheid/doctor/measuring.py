"""Does Prometheus answer, and has it what Cepheid reads: fresh, and often enough?"""

from collections.abc import Iterator

from cepheid.analysis.period import SHORTEST_STEPS
from cepheid.analysis.repetition import FEWEST_CYCLES
from cepheid.doctor import exporter
from cepheid.doctor.facts import Cluster, Facts, Metrics, Source, Unseen, Workload
from cepheid.doctor.finding import Finding, Rule, fail, ok, warn
from cepheid.doctor.rights import PROXY, grant_of
from cepheid.reports.words import figure, lasting, listed
from cepheid.settings import AgentSettings, options

AREA = "prometheus"
STALE_SECONDS = 120.0
"""A scrape every half minute, and three of them missed."""
TWICE = 1.5
"""From here on an interval is meant to be twice the other, not the same with some jitter."""
WINDOW = "window_seconds"
LONGEST_SECONDS = 1e9


def findings(facts: Facts) -> Iterator[Finding]:
    cluster = None if isinstance(facts.cluster, Unseen) else facts.cluster
    if isinstance(facts.metrics, Unseen):
        yield _away(facts.source, facts.metrics, cluster)
        return
    metrics = facts.metrics
    version = f"Prometheus {metrics.version}".strip()
    yield ok(AREA, f"{version} answers at {_place(facts.source)}")
    yield from _cadvisor(metrics, cluster)
    yield from _gpus(facts, metrics, cluster)


def _place(source: Source) -> str:
    way = f", through the API server ({source.through})" if source.through else ""
    return f"{source.url}{way}, as {source.told_by} says"


def _away(source: Source, unseen: Unseen, cluster: Cluster | None) -> Finding:
    if source.through and cluster is None:
        return warn(
            AREA,
            Rule.PROMETHEUS_BEHIND_API_SERVER,
            f"Prometheus could not be looked at: the API server leads to it ({source.through})",
            "reach the API server first; or forward the port of Prometheus and name it",
            "cepheid doctor --prometheus http://127.0.0.1:9090",
        )
    words = f"Prometheus does not answer at {_place(source)}: {unseen.why}"
    if unseen.is_forbidden and cluster is not None:
        return warn(
            AREA,
            Rule.PROXY_FORBIDDEN,
            words,
            "you may not ask services through the API server: get the right, or forward its port"
            " and give --prometheus http://127.0.0.1:9090",
            grant_of(cluster, PROXY),
        )
    namespace = source.through.partition("/")[0] if source.through else "cepheid-monitoring"
    return fail(
        AREA,
        Rule.PROMETHEUS_AWAY,
        words,
        unseen.hint or "is it running, and is the address right?",
        f"kubectl -n {namespace} get pods,endpoints",
    )


def _cadvisor(metrics: Metrics, cluster: Cluster | None) -> Iterator[Finding]:
    remedy = "scrape every kubelet's /metrics/cadvisor: the job cadvisor of prometheus.yaml"
    age = metrics.cadvisor_age_seconds
    if age is None:
        yield fail(
            AREA,
            Rule.NO_CADVISOR,
            "no container_* series: nothing is known of the CPU and memory of pods and nodes",
            remedy,
            f"{exporter.OURS} && {exporter.RESTART}",
        )
        return
    yield _aged("cAdvisor", age)
    if cluster is None or isinstance(cluster.nodes, Unseen):
        return
    known = metrics.cadvisor_nodes
    dark = [node for node in cluster.nodes if known.isdisjoint({node.name, *node.addresses})]
    if dark:
        yield fail(
            AREA,
            Rule.NODE_IN_THE_DARK,
            f"no cAdvisor series name {listed([node.name for node in dark])}",
            f"{remedy}, which sets the label `node` too; or its kubelet refuses the token",
            f"kubectl get --raw /api/v1/nodes/{dark[0].name}/proxy/metrics/cadvisor | head",
        )


def _aged(what: str, age: float) -> Finding:
    if age > STALE_SECONDS:
        return fail(
            AREA,
            Rule.STALE,
            f"the newest sample of {what} is {lasting(age)} old",
            "Prometheus does not scrape it any more: its page /targets says why",
            "kubectl -n cepheid-monitoring port-forward service/prometheus 9090",
        )
    return ok(AREA, f"newest sample of {what} is {lasting(max(0.0, age))} old")


def _gpus(facts: Facts, metrics: Metrics, cluster: Cluster | None) -> Iterator[Finding]:
    if metrics.gpu_age_seconds is None:
        yield from _no_gpus(metrics, cluster)
        return
    yield _aged("dcgm-exporter", metrics.gpu_age_seconds)
    yield from exporter.findings(metrics, cluster)
    yield from _pace(facts, metrics, cluster)


def _no_gpus(metrics: Metrics, cluster: Cluster | None) -> Iterator[Finding]:
    if metrics.has_amd:
        yield ok(AREA, "series of AMD's exporter are there; those of NVIDIA's are not")
        return
    nodes = () if cluster is None or isinstance(cluster.nodes, Unseen) else cluster.nodes
    with_gpus = [node.name for node in nodes if node.gpus]
    if with_gpus:
        yield fail(
            AREA,
            Rule.NO_GPUS,
            f"no series of any GPU, though {listed(with_gpus)} have some",
            "install dcgm-exporter (or AMD's device-metrics-exporter), and scrape it",
            "kubectl get pods -A -l app.kubernetes.io/name=dcgm-exporter",
        )
    else:
        yield warn(
            AREA,
            Rule.NO_GPUS_PERHAPS,
            "no series of any GPU, and no node that offers one is known",
            "if there are GPUs, install their device plugin and dcgm-exporter",
            "kubectl get nodes -o custom-columns=NAME:.metadata.name,"
            "GPUS:.status.capacity.nvidia\\.com/gpu",
        )


def _pace(facts: Facts, metrics: Metrics, cluster: Cluster | None) -> Iterator[Finding]:
    pace = metrics.gpu_pace
    if pace is None:
        yield warn(
            AREA,
            Rule.TOO_YOUNG,
            "how often GPUs are scraped is not known yet: there are too few samples",
            "wait for some minutes, and look again",
            "cepheid doctor",
        )
        return
    scraped, renewed = pace.scraped_seconds, pace.renewed_seconds
    seen = SHORTEST_STEPS * max(scraped, renewed or 0.0)
    lazy = renewed is not None and renewed > TWICE * scraped
    words = f"GPUs are scraped every {figure(scraped)} s"
    if lazy and renewed is not None:
        words += f", but measured only every {figure(renewed)} s"
    window = _window_seconds(cluster)
    words += f": cycles of {lasting(seen)} to {lasting(window / FEWEST_CYCLES)} can be seen"
    if seen <= facts.wanted_period_seconds:
        yield ok(AREA, words)
        return
    wanted = lasting(facts.wanted_period_seconds)
    most = facts.wanted_period_seconds / SHORTEST_STEPS
    if lazy:
        names = (
            () if cluster is None or isinstance(cluster.exporters, Unseen) else cluster.exporters
        )
        found = names[0] if names else Workload("NAMESPACE", "dcgm-exporter")
        yield warn(
            AREA,
            Rule.MEASURED_SELDOM,
            f"{words}, not of {wanted}",
            f"let the exporter measure every {figure(most)} s or more often",
            f"kubectl -n {found.namespace} set env daemonset/{found.name}"
            f" DCGM_EXPORTER_INTERVAL={int(1000 * most)}",
        )
        return
    yield warn(
        AREA,
        Rule.SCRAPED_SELDOM,
        f"{words}, not of {wanted}",
        f"scrape_interval: {int(most)}s or shorter, as in prometheus/prometheus.yaml; or look for"
        " longer periods only (--period)",
        f"{exporter.OURS} && {exporter.RESTART}",
    )


def _window_seconds(cluster: Cluster | None) -> float:
    """Of the agent's settings, as far as they are known."""
    option = next(one for one in options(AgentSettings) if one.name == WINDOW)
    agent = None if cluster is None else cluster.agent
    text = agent.settings.get(option.variable, "") if isinstance(agent, Workload) else ""
    try:
        given = float(text)
    except ValueError:
        given = 0.0
    return given if 0 < given < LONGEST_SECONDS else float(option.default)
