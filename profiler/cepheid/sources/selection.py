"""Which series to ask for: the PromQL. Pure.

Names of a node, or of a job's pods, are the one text from outside that stands in a query, and they
are escaped. The value of a label never does.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cepheid.sources import catalog
from cepheid.sources.catalog import Source
from cepheid.sources.sightings import dns_name

LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
METRIC_PREFIX = re.compile(r"[A-Za-z_:]?[A-Za-z0-9_:]*")

INSTANCE = "instance"
"""The one label that carries a port, and may be an address instead of a name."""

CANDIDATES: dict[Source, tuple[str, ...]] = {
    Source.DCGM: ("node", "Hostname", "hostname", "kubernetes_node", "exported_node", INSTANCE),
    Source.AMD: ("node", "hostname", "Hostname", "kubernetes_node", "exported_node", INSTANCE),
    Source.CADVISOR: ("node", "kubernetes_node", "kubernetes_io_hostname", INSTANCE),
}
"""Labels that name the node, the surest first: `node` as our prometheus.yaml and the Prometheus
operator's kubelet monitor set it. `Hostname` is the exporter's own word, and its pod's name where
NODE_NAME is not set: then it answers nothing, and the next is tried."""

CONTAINER_LABELS = (
    "container_label_io_kubernetes_container_name",
    "exported_container",
    "container",
)
"""Of a cAdvisor that runs by itself; of the kubelet's, scraped without honor_labels; and with. In
this order, because in the first two cases `container` may be that of the exporter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Whose series, and by which labels they may be found."""

    node: str
    addresses: tuple[str, ...] = ()
    """Of the node: where nothing but `instance` tells, it is most often an address."""
    candidates: dict[Source, tuple[str, ...]] = field(default_factory=lambda: dict(CANDIDATES))
    amd_prefix: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """By what the series of a source can be had."""

    source: Source
    label: str
    container_label: str = ""
    """cAdvisor only."""


def ways(target: Target) -> list[Found]:
    """Every way to find every source, those to prefer first."""
    return [
        Found(source, label, container_label)
        for source in Source
        for label in target.candidates.get(source, ())
        for container_label in (CONTAINER_LABELS if source is Source.CADVISOR else ("",))
    ]


def probe(target: Target, possible: Sequence[Found]) -> str:
    """One query that counts the series of each way, in `way` its place in the list."""
    return " or ".join(
        f'label_replace(count({selectors(target, way)[0]}), "way", "{place}", "", "")'
        for place, way in enumerate(possible)
    )


def selectors(target: Target, found: Found) -> tuple[str, ...]:
    """As few as it takes: PromQL has no `or` between the samples of two selectors."""
    node = _node_matcher(target, found.label)
    names = [metric.name for metric in catalog.of(found.source)]
    match found.source:
        case Source.DCGM:
            return (_selector(names, node),)
        case Source.AMD:
            if not METRIC_PREFIX.fullmatch(target.amd_prefix):
                raise ValueError(f"{target.amd_prefix!r} cannot begin a metric's name")
            return (_selector([target.amd_prefix + name for name in names], node),)
        case Source.CADVISOR:
            network = [name for name in names if name.startswith("container_network_")]
            machine = [name for name in names if name.startswith("machine_")]
            containers = [name for name in names if name not in {*network, *machine}]
            return (
                # Neither a pod's cgroup, which repeats its containers, nor the pause container.
                _selector(containers, f'{found.container_label}!~"|POD"', node),
                _selector([*network, *machine], node),
                # The whole node. With id=~"|/" it could hold machine_* too, which carry no id; but
                # then Prometheus goes through every id of the cluster: measured, 5 times as long
                # with 50 nodes, and growing with their number.
                _selector(containers, 'id="/"', node),
            )


@dataclass(frozen=True, slots=True)
class PodLabels:
    """Which labels of a source name the pod that something was measured of."""

    namespace: str
    pod: str
    container: str


POD_LABELS = (
    PodLabels("namespace", "pod", "container"),
    # Scraped without honor_labels: `pod` is then the exporter's own.
    PodLabels("exported_namespace", "exported_pod", "exported_container"),
    PodLabels(
        "container_label_io_kubernetes_pod_namespace",
        "container_label_io_kubernetes_pod_name",
        "container_label_io_kubernetes_container_name",
    ),
)
"""Those of our own prometheus.yaml first. The last are of a cAdvisor that runs by itself."""


def pod_selectors(
    source: Source, labels: PodLabels, namespace: str, pods: Sequence[str], signals: Iterable[str]
) -> tuple[str, ...]:
    """Of exactly these pods; their names are Kubernetes', or it is a ValueError."""
    for name in (namespace, *pods):
        dns_name(name)
    wanted = frozenset(signals)
    names = [metric.name for metric in catalog.of(source) if metric.signal in wanted]
    among = "|".join(quote_regex(pod) for pod in pods)
    whose = (f"{labels.namespace}={quote(namespace)}", f"{labels.pod}=~{quote(among)}")
    network = [name for name in names if name.startswith("container_network_")]
    rest = [name for name in names if name not in network]
    # Network is a pod's; of all else the pod's cgroup repeats its containers.
    only = (f'{labels.container}!~"|POD"',) if source is Source.CADVISOR else ()
    found = ((rest, (*whose, *only)), (network, whose))
    return tuple(_selector(each, *matchers) for each, matchers in found if each)


def quote(text: str) -> str:
    """A PromQL string: those of Go, with everything unusual by its code point."""
    inside = "".join(
        f"\\{letter}"
        if letter in '"\\'
        else letter
        if " " <= letter <= "~"
        else f"\\U{_valid(letter):08x}"
        for letter in text
    )
    return f'"{inside}"'


def quote_regex(text: str) -> str:
    """What RE2 matches as it stands: QuoteMeta."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def _valid(letter: str) -> int:
    code = ord(letter)
    return 0xFFFD if 0xD800 <= code <= 0xDFFF else code  # noqa: PLR2004  # half of a surrogate pair


def _node_matcher(target: Target, label: str) -> str:
    if not LABEL.fullmatch(label):
        raise ValueError(f"{label!r} is no name of a label")
    if label != INSTANCE:
        return f"{label}={quote(target.node)}"
    names = "|".join(
        quote_regex(f"[{name}]" if ":" in name else name)
        for name in (target.node, *target.addresses)
    )
    return f"{label}=~{quote(f'(?:{names})(?::[0-9]+)?')}"


def _selector(names: Iterable[str], *matchers: str) -> str:
    return "{" + ",".join((f'__name__=~"{"|".join(names)}"', *matchers)) + "}"
