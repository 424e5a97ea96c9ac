"""What a series' labels tell: which GPU, and who holds it (never the exporter). Pure.

Scraped without `honor_labels: true`, the workload stands in `exported_pod` and its kin, and `pod`
is the exporter. A GPU that nobody holds has no `exported_pod`, but still the exporter's `pod`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cepheid.sources.catalog import Source
from cepheid.sources.reading import Holder

Labels = Mapping[str, str]

DNS_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
"""What Kubernetes allows for a pod; namespaces and containers are shorter."""
EXPORTER = re.compile(r"(.*-)?(dcgm-exporter|metrics-exporter)-[a-z0-9]{5}")
"""A pod of NVIDIA's or AMD's DaemonSet, by any release's name."""
LONGEST_TEXT = 128


class DeviceKey(NamedTuple):
    source: Source
    board: str
    part: str
    """The MIG instance, or AMD's partition."""


@dataclass(frozen=True, slots=True)
class Device:
    """What is shown of it; it may change, as the index does after a reboot."""

    index: int
    uuid: str | None
    model: str | None
    mig_profile: str | None
    mig_id: str | None


class Sighting(NamedTuple):
    key: DeviceKey
    device: Device
    holder: Holder | None
    replica: bool
    """The exporter itself says that this is a share of the device."""


def exporters_among(many: Iterable[Labels]) -> frozenset[str]:
    """Pods that stand in `pod` where another stands in `exported_pod`."""
    return frozenset(
        labels["pod"] for labels in many if labels.get("exported_pod") and labels.get("pod")
    )


def holder_of(labels: Labels, exporters: frozenset[str]) -> Holder | None:
    """None for a GPU that nobody holds; ValueError for labels that no pod can have."""
    prefix = "exported_" if labels.get("exported_pod") else ""
    namespace = labels.get(f"{prefix}namespace", "")
    pod = labels.get(f"{prefix}pod", "")
    container = labels.get(f"{prefix}container", "")
    if not pod or not namespace:
        return None
    if not prefix and (
        pod in exporters
        or pod == labels.get("Hostname", labels.get("hostname"))
        or EXPORTER.fullmatch(pod)
    ):
        return None
    return Holder(dns_name(namespace), dns_name(pod), dns_name(container) if container else "")


def dns_name(text: str) -> str:
    if not DNS_NAME.fullmatch(text):
        raise ValueError("no name that Kubernetes allows")
    return text


def short_text(text: str | None) -> str | None:
    """A model, a UUID: one printable line, or ValueError."""
    if text is None or not text.strip():
        return None
    if len(text) > LONGEST_TEXT or not text.isprintable():
        raise ValueError("too long, or not printable")
    return text.strip()


def small_number(text: str) -> int:
    """Of a GPU or a MIG instance: what an annotation has room for."""
    if not (text.isascii() and text.isdigit() and len(text) <= 3):  # noqa: PLR2004
        raise ValueError("no index of a GPU")
    return int(text)
