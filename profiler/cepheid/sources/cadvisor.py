"""cAdvisor's series to pods and the node: which labels name what, and what adds up to what.

- A container's series of before and after a restart overlap for minutes: each cgroup `id` has its
  own track, and of those of one container the larger counts.
- Network is measured for a pod as a whole, an interface a series. A pod on the node's own network
  would be credited with everybody's traffic: it gets none. It is known by the virtual interfaces of
  others that it sees.
- Disks: dm-crypt, LVM and RAID devices repeat what the disks below them show.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from cepheid.sources import catalog
from cepheid.sources.answer import RawSeries
from cepheid.sources.catalog import Metric
from cepheid.sources.reading import Part, PodReading, Signal
from cepheid.sources.sightings import Labels, dns_name, short_text
from cepheid.sources.window import Track, Window, measured

STANDALONE = "container_label_io_kubernetes_"
POD_UID = re.compile(
    r"pod([0-9a-f]{8})[-_]([0-9a-f]{4})[-_]([0-9a-f]{4})[-_]([0-9a-f]{4})[-_]([0-9a-f]{12})"
)
OTHERS_INTERFACES = re.compile(r"(veth|cali|cni|docker|flannel|cilium|lxc|br-|virbr|kube-).*")
"""The node's ends of pods' networks, and the bridges between them."""
NODE_VIRTUAL = re.compile(
    r"(lo|bond|team|dummy|tunl|sit|gre|ip6tnl|ip6gre|erspan|vxlan|wg|tun|tap|nodelocaldns).*|.*\..*"
)
"""More of a node's interfaces whose bytes pass, or count again, on a physical one."""
VIRTUAL_DISK = re.compile(r"(/dev/)?(dm-|md|loop|mapper/|zram).*")
LONGEST_ID = 4096
MOST_REMEMBERED = 20_000


class PodKey(NamedTuple):
    namespace: str
    pod: str
    uid: str | None


class TrackKey(NamedTuple):
    metric: str
    pod: PodKey | None
    """None for the node."""
    group: str
    """What adds up: the container; with a disk its device, with a network the interface."""
    part: str
    """The disk or interface."""
    cgroup: bytes
    """A digest of `id`: one run of a container."""


def identify(labels: Labels, metric: Metric) -> TrackKey | None:
    """None for what repeats something else; ValueError for labels that nothing can have."""
    cgroup = labels.get("id", "")
    if len(cgroup) > LONGEST_ID:
        raise ValueError("no path of a cgroup")
    network = metric.name.startswith("container_network_")
    part = short_text(labels.get("interface" if network else "device")) or ""
    if cgroup == "/" or metric.name.startswith("machine_"):
        return TrackKey(metric.name, None, part, part, b"")
    namespace, pod, container, uid = _workload(labels)
    if not pod or not namespace:
        return None
    if not network and container in {"", "POD"}:
        return None
    found = POD_UID.search(cgroup)
    if uid is None and found:
        uid = "-".join(found.groups())
    key = PodKey(dns_name(namespace), dns_name(pod), uid)
    group = part if network else dns_name(container) + (f" {part}" if part else "")
    return TrackKey(
        metric.name, key, group, part, hashlib.blake2b(cgroup.encode(), digest_size=8).digest()
    )


def _workload(labels: Labels) -> tuple[str, str, str, str | None]:
    """Namespace, pod, container, uid: from a cAdvisor by itself, or one in the kubelet."""
    if labels.get(f"{STANDALONE}pod_name"):
        return (
            labels.get(f"{STANDALONE}pod_namespace", ""),
            labels[f"{STANDALONE}pod_name"],
            labels.get(f"{STANDALONE}container_name", ""),
            short_text(labels.get(f"{STANDALONE}pod_uid")),
        )
    prefix = "exported_" if labels.get("exported_pod") else ""
    return (
        labels.get(f"{prefix}namespace", ""),
        labels.get(f"{prefix}pod", ""),
        labels.get(f"{prefix}container", ""),
        None,
    )


class Containers:
    """The pods and the node, as seen within the window."""

    def __init__(self, window: Window[TrackKey]) -> None:
        self.window = window
        self._keys: dict[int, TrackKey | None] = {}
        """By the hash of the labels, which are the same in every pass, what they came to: Python
        salts the hashes of texts, so nobody can make two labels collide."""

    def take(self, series: Iterable[RawSeries]) -> int:
        """Puts them into the window; returns how many could not be understood."""
        skipped = 0
        if len(self._keys) > MOST_REMEMBERED:
            self._keys.clear()
        for one in series:
            metric = catalog.BY_NAME.get(one.labels.get("__name__", ""))
            if metric is None:
                continue
            known = hash(tuple(one.labels.items()))
            try:
                key = self._keys[known]
            except KeyError:
                try:
                    key = self._keys[known] = identify(one.labels, metric)
                except ValueError:
                    skipped += 1
                    continue
            if key is not None:
                times, values = measured(one.times, one.values, metric.highest)
                if times.size:
                    self.window.add(key, times, values)
        return skipped

    def readings(self) -> tuple[tuple[PodReading, ...], dict[str, Signal]]:
        """The pods, and the node."""
        pods: dict[PodKey | None, list[tuple[TrackKey, Track]]] = {}
        for key, track in self.window.items():
            pods.setdefault(key.pod, []).append((key, track))
        node = _signals(pods.pop(None, []), on_node=True)
        found = [
            PodReading(
                key.namespace,
                key.pod,
                key.uid,
                _signals(tracks, on_node=False),
                max(track.newest_seconds for _, track in tracks),
            )
            for key, tracks in pods.items()
            if key is not None
        ]
        found.sort(key=lambda one: (one.namespace, one.name, one.newest_seconds))
        return tuple(found), node


def _signals(tracks: list[tuple[TrackKey, Track]], *, on_node: bool) -> dict[str, Signal]:
    interfaces = {key.part for key, _ in tracks if "_network_" in key.metric}
    on_nodes_network = any(OTHERS_INTERFACES.fullmatch(name) for name in interfaces)
    disks = {key.part for key, _ in tracks if "_fs_" in key.metric}
    physical = {name for name in disks if not VIRTUAL_DISK.fullmatch(name)}
    parts: dict[str, list[Part]] = {}
    for key, track in tracks:
        if "_network_" in key.metric:
            virtual = key.part == "lo" or OTHERS_INTERFACES.fullmatch(key.part)
            if on_node and (virtual or NODE_VIRTUAL.fullmatch(key.part)):
                continue
            if not on_node and (virtual or on_nodes_network):
                continue
        if "_fs_" in key.metric and physical and key.part not in physical:
            continue
        metric = catalog.BY_NAME[key.metric]
        part = Part(key.group, metric.kind, metric.scale, track.times, track.values)
        parts.setdefault(metric.signal, []).append(part)
    return {name: Signal(tuple(found)) for name, found in parts.items()}
