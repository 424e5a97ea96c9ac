"""Does NVIDIA's exporter say what is needed: whose a GPU is, on which node, and how busy?

The reader copes with much of what is named here (`sources.sightings`, `sources.selection`).
Recording rules, dashboards and whoever else reads the labels do not.
"""

from collections.abc import Iterable, Iterator, Mapping

from cepheid.doctor.facts import Cluster, Metrics, NodeSeen, Unseen, Workload
from cepheid.doctor.finding import Finding, Rule, fail, ok, warn
from cepheid.reports.words import counted, listed
from cepheid.sources import catalog
from cepheid.sources.catalog import Source
from cepheid.sources.selection import CANDIDATES, INSTANCE
from cepheid.sources.sightings import EXPORTER, exporters_among, holder_of

AREA = "dcgm-exporter"
PROFILING = "DCGM_FI_PROF_"
ENERGY = next(one.name for one in catalog.of(Source.DCGM) if one.signal == "power_watts")
OURS = "kubectl apply -f prometheus/prometheus.yaml"
RESTART = "kubectl -n cepheid-monitoring rollout restart deployment/prometheus"
COUNTERS = "DCGM_EXPORTER_COLLECTORS=/etc/dcgm-exporter/dcp-metrics-included.csv"
"""The list of fields in NVIDIA's image that has PROF metrics and energy in every version: its
default one, of version 2, has no PROF metrics."""
BEFORE = "an argument -f of its container counts before the variable"
"""NVIDIA's chart of version 2 gives one."""
NEWER = "nvcr.io/nvidia/k8s/dcgm-exporter:4.2.3-4.1.3-ubuntu22.04"
_FIELD = '{"fieldRef":{"fieldPath":"spec.nodeName"}}'
Labels = Mapping[str, str]


def findings(metrics: Metrics, cluster: Cluster | None) -> Iterator[Finding]:
    """Of a Prometheus that has series of NVIDIA's GPUs."""
    exporters = (
        () if cluster is None or isinstance(cluster.exporters, Unseen) else cluster.exporters
    )
    exporter = exporters[0] if exporters else Workload("NAMESPACE", "dcgm-exporter")
    said = [
        *_pods(metrics, cluster, exporter),
        *_nodes(metrics, cluster, exporter),
        *_counters(metrics, exporter),
        *_blanks(metrics, exporter),
    ]
    yield from said
    if not said:
        yield ok(AREA, f"labels and metrics of {counted(len(metrics.devices), 'series')} are right")


def _pods(metrics: Metrics, cluster: Cluster | None, exporter: Workload) -> Iterator[Finding]:
    moved = [one for one in metrics.devices if one.get("exported_pod")]
    if moved:
        yield fail(
            AREA,
            Rule.HONOR_LABELS,
            f"its series carry the exporter's own pod, not the workload's ({len(moved)} of"
            f" {len(metrics.devices)}): the workload stands in exported_pod",
            "scrape it with honor_labels: true (a ServiceMonitor: honorLabels: true), as"
            " prometheus/prometheus.yaml does in its job dcgm-exporter",
            f"{OURS} && {RESTART}",
        )
        return
    own = exporters_among(metrics.devices)
    if any(_is_held(one, own) for one in metrics.devices):
        return
    command = f"{_set_env(exporter)} DCGM_EXPORTER_KUBERNETES=true"
    remedy = (
        "let it ask the kubelet who holds which GPU: DCGM_EXPORTER_KUBERNETES=true, and"
        " /var/lib/kubelet/pod-resources mounted"
    )
    holder = None if cluster is None else cluster.gpu_pod
    if isinstance(holder, str):
        words = f"no series names a pod, though {holder} holds a GPU"
        yield fail(AREA, Rule.NO_PODS, words, remedy, command)
    elif holder is None and cluster is not None:
        return  # nobody holds a GPU: there is no pod to name
    else:
        words = "no series names a pod; whether one holds a GPU is not known"
        yield warn(AREA, Rule.NO_PODS_PERHAPS, words, remedy, command)


def _is_held(labels: Labels, exporters: frozenset[str]) -> bool:
    try:
        return holder_of(labels, exporters) is not None
    except ValueError:
        return False


def _nodes(metrics: Metrics, cluster: Cluster | None, exporter: Workload) -> Iterator[Finding]:
    if cluster is None or isinstance(cluster.nodes, Unseen):
        return
    names = {node.name for node in cluster.nodes}
    lost = [one for one in metrics.devices if not nodes_of(one, cluster.nodes)]
    odd = [one for one in metrics.devices if _hostname(one) not in {"", *names}]
    example = _hostname(odd[0]) if odd else ""
    kind = "its pod's name" if odd and _is_pods_name(odd[0]) else "no node's name"
    remedy = "give the exporter NODE_NAME; or let the scrape job set the label `node`"
    command = _patch_of(exporter)
    if lost:
        because = f": Hostname is {example}, {kind}" if odd else ""
        yield fail(
            AREA,
            Rule.NO_NODE,
            f"{counted(len(lost), 'series', 'series')} name no node of this cluster{because}",
            remedy,
            command,
        )
    elif odd:
        yield warn(
            AREA,
            Rule.HOSTNAME,
            f"Hostname is {example}, {kind}: the agents find their GPUs by another label, others"
            " may not",
            remedy,
            command,
        )
    measured = {name for one in metrics.devices for name in nodes_of(one, cluster.nodes)}
    dark = [node.name for node in cluster.nodes if node.gpus and node.name not in measured]
    if dark and not lost and not metrics.has_amd:
        yield fail(
            AREA,
            Rule.GPUS_IN_THE_DARK,
            f"no series of the GPUs of {listed(dark)}",
            "does an exporter run there, and is it scraped?",
            f"kubectl get pods -A -o wide --field-selector spec.nodeName={dark[0]}",
        )


def _patch_of(exporter: Workload) -> str:
    """By the container's name: it need not be the first, nor have any variable yet."""
    container = exporter.container or "exporter"
    variable = f'{{"name":"NODE_NAME","valueFrom":{_FIELD}}}'
    containers = f'[{{"name":"{container}","env":[{variable}]}}]'
    return (
        f"kubectl -n {exporter.namespace} patch daemonset {exporter.name} -p '"
        f'{{"spec":{{"template":{{"spec":{{"containers":{containers}}}}}}}}}\''
    )


def nodes_of(labels: Labels, nodes: Iterable[NodeSeen]) -> set[str]:
    """Those that the labels name, by any way that the reader tries."""
    found = set()
    host = labels.get(INSTANCE, "").rpartition(":")[0] or labels.get(INSTANCE, "")
    values = {labels.get(label) for label in CANDIDATES[Source.DCGM] if label != INSTANCE}
    for node in nodes:
        if node.name in values or host.strip("[]") in {node.name, *node.addresses}:
            found.add(node.name)
    return found


def _hostname(labels: Labels) -> str:
    return labels.get("Hostname") or labels.get("hostname", "")


def _is_pods_name(labels: Labels) -> bool:
    name = _hostname(labels)
    return name == labels.get("pod") or EXPORTER.fullmatch(name) is not None


def _counters(metrics: Metrics, exporter: Workload) -> Iterator[Finding]:
    if not any(name.startswith(PROFILING) for name in metrics.dcgm):
        yield warn(
            AREA,
            Rule.NO_PROFILING,
            "no PROF metrics: GPU_UTIL alone says that some kernel ran, not how busy the GPU is",
            "let it collect them (data centre GPUs since Volta have them; needs profiling rights);"
            f" {BEFORE}",
            f"{_set_env(exporter)} {COUNTERS}",
        )
    if ENERGY not in metrics.dcgm:
        yield warn(
            AREA,
            Rule.NO_ENERGY,
            f"no {ENERGY}: cycles faster than the scrapes cannot be told from slow ones",
            f"collect it: it is in the lists of counters that its image has; {BEFORE}",
            f"{_set_env(exporter)} {COUNTERS}",
        )


def _blanks(metrics: Metrics, exporter: Workload) -> Iterator[Finding]:
    if metrics.blanks:
        names = [f"{name} ({count})" for name, count in sorted(metrics.blanks.items())]
        yield warn(
            AREA,
            Rule.BLANKS,
            f"blank values, as 9.2e18, of {listed(names)}: Cepheid leaves them out, others add"
            " them up",
            "an exporter of version 3 or newer leaves them out itself: upgrade it, to this one or"
            " to one that your driver goes with",
            f"kubectl -n {exporter.namespace} set image daemonset/{exporter.name}"
            f" '{exporter.container or '*'}={NEWER}'",
        )


def _set_env(exporter: Workload) -> str:
    return f"kubectl -n {exporter.namespace} set env daemonset/{exporter.name}"
