"""The labels of AMD's device-metrics-exporter to a device and its holder. Pure."""

from cepheid.sources.catalog import Source
from cepheid.sources.sightings import (
    Device,
    DeviceKey,
    Labels,
    Sighting,
    holder_of,
    short_text,
    small_number,
)


def identify(labels: Labels, exporters: frozenset[str]) -> Sighting:
    """ValueError where the labels name no device."""
    index = small_number(labels.get("gpu_id", ""))
    serial = short_text(labels.get("gpu_uuid") or labels.get("serial_number"))
    model = short_text(labels.get("card_model") or labels.get("card_series"))
    # Partitions of one board share its serial number and have a gpu_id each.
    partition = short_text(labels.get("gpu_partition_id"))
    device = Device(index, serial, model, None, None)
    key = DeviceKey(Source.AMD, f"{serial or ''}#{index}", partition or "")
    return Sighting(key, device, holder_of(labels, exporters), False)
