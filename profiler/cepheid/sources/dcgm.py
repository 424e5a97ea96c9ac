"""dcgm-exporter's labels to a device and its holder. Pure.

Its versions differ in `Hostname` or `hostname`, in labels that are empty or left out, and in what
a shared GPU shows; the identity of a device is the same in all of them.
"""

import numpy as np

from cepheid.model import FloatArray
from cepheid.sources.catalog import Kind, Source
from cepheid.sources.sightings import (
    Device,
    DeviceKey,
    Labels,
    Sighting,
    holder_of,
    short_text,
    small_number,
)

NVLINK_TOTAL = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"
NVLINK_MEASURED = frozenset({"DCGM_FI_PROF_NVLINK_TX_BYTES", "DCGM_FI_PROF_NVLINK_RX_BYTES"})


def identify(labels: Labels, exporters: frozenset[str]) -> Sighting:
    """ValueError where the labels name no device."""
    text = labels.get("gpu") or labels.get("device", "").removeprefix("nvidia")
    index = small_number(text)
    uuid = short_text(labels.get("UUID") or labels.get("uuid"))
    mig_id = short_text(labels.get("GPU_I_ID"))
    if mig_id is not None:
        small_number(mig_id)
    profile = short_text(labels.get("GPU_I_PROFILE"))
    device = Device(index, uuid, short_text(labels.get("modelName")), profile, mig_id)
    key = DeviceKey(Source.DCGM, uuid or f"#{index}", mig_id or "")
    return Sighting(key, device, holder_of(labels, exporters), bool(labels.get("vgpu")))


def nvlink_kind(values: FloatArray) -> Kind:
    """A counter in most exporters, a gauge in the newest. A counter falls only at a restart."""
    falls = int(np.count_nonzero(np.diff(values) < 0))
    return Kind.GAUGE if falls > max(1, values.size // 20) else Kind.COUNTER
