"""The table holds together, and agrees with what exporters and our own Prometheus have."""

import re
from collections import Counter

import yaml

from cepheid.analysis.grid import FP64_BLANK, INT32_BLANK, INT64_BLANK
from cepheid.analysis.signals import Signals
from cepheid.sources import catalog
from cepheid.sources.catalog import METRICS, Kind, Source
from tests import REPOSITORY
from tests.simgpu.fields import FIELDS

# Signals of a GPU's holder, and of cAdvisor beyond them, that the analysis does not ask for.
OURS = {
    "sm_active_ratio", "sm_occupancy_ratio", "mem_copy_util_percent", "gpu_memory_free_mib",
    "gpu_memory_reserved_mib", "power_gauge_watts", "gpu_temperature_celsius", "sm_clock_mhz",
    "clock_event_bits", "xid", "processes", "cpu_periods_per_second",
    "cpu_throttled_periods_per_second", "machine_cpu_cores", "machine_memory_bytes",
}  # fmt: skip


def test_every_metric_stands_once() -> None:
    assert not [name for name, count in Counter(m.name for m in METRICS).items() if count > 1]


def test_signals_are_called_as_the_analysis_calls_them() -> None:
    fields = set(Signals.__dataclass_fields__)
    assert {metric.signal for metric in METRICS} - fields == OURS


def test_a_signal_has_one_unit() -> None:
    units = {
        (m.signal, m.unit if m.kind is Kind.GAUGE else f"{m.unit}/s", m.scale) for m in METRICS
    }
    by_signal = Counter(signal for signal, _, _ in units)
    scaled = {"power_watts", "interconnect_bytes_per_second", "dram_active_ratio"}
    assert {signal for signal, count in by_signal.items() if count > 1} == scaled


def test_no_range_lets_a_blank_of_its_type_through() -> None:
    for metric in catalog.of(Source.DCGM):
        assert metric.highest < INT64_BLANK
        if metric.unit in {"ratio", "W", "B/s"}:  # DCGM's doubles, but for PCIe
            assert metric.highest < FP64_BLANK
        if metric.unit in {"%", "MiB", "MHz", "Cel", "code"}:
            assert metric.highest < INT32_BLANK


def test_kinds_are_those_that_dcgm_exporter_declares() -> None:
    declared = {field.name: field.kind for field in FIELDS}
    for metric in catalog.of(Source.DCGM):
        assert metric.kind == declared.get(metric.name, metric.kind), metric.name


def test_our_prometheus_keeps_every_metric_of_cadvisor() -> None:
    objects = yaml.safe_load_all((REPOSITORY / "prometheus/prometheus.yaml").read_text())
    (config,) = (thing["data"]["prometheus.yml"] for thing in objects if "data" in thing)
    jobs = {job["job_name"]: job for job in yaml.safe_load(config)["scrape_configs"]}
    (rule,) = jobs["cadvisor"]["metric_relabel_configs"]
    for metric in catalog.of(Source.CADVISOR):
        assert re.fullmatch(rule["regex"], metric.name), metric.name
