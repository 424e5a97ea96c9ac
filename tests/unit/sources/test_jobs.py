"""What the pods of one job used, read from a real Prometheus."""

import math
from collections.abc import Callable

import pytest

from cepheid.errors import AnswerTooLargeError
from cepheid.sources.catalog import Source
from cepheid.sources.jobs import MOST_CHARACTERS, MOST_POINTS, JobReader, PodHistory, Span
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.selection import POD_LABELS, pod_selectors
from tests.unit.sources import samples, servers
from tests.unit.sources.servers import Front

Clients = Callable[..., PrometheusClient]
END = samples.END
SPAN = Span(END - 600, END)


def read(
    client: PrometheusClient, namespace: str, *pods: str, span: Span = SPAN
) -> list[PodHistory]:
    return list(JobReader(client).read(namespace, pods, span))


def test_containers_and_gpus_of_exactly_these_pods_are_read(client: Clients, full: str) -> None:
    (train,) = read(client(full), "team-a", "train-0")
    assert train.pod == "train-0"
    assert {"cpu_cores", "memory_working_set_bytes"} <= train.signals.keys()
    (gpu,) = train.gpus
    assert (gpu.index, gpu.model) == (0, samples.A100)
    assert {"gpu_util_percent", "tensor_active_ratio", "power_watts"} <= gpu.signals.keys()
    assert {holding.holder.pod for holding in gpu.holdings} == {"train-0"}


def test_a_pod_that_was_not_measured_is_there_and_empty(client: Clients, full: str) -> None:
    found = read(client(full), "team-a", "web-0", "nobody")
    assert [one.pod for one in found] == ["web-0", "nobody"]
    assert found[0].signals
    assert (found[1].signals, found[1].gpus) == ({}, ())


def test_of_another_namespace_nothing_is_taken(client: Clients, full: str) -> None:
    (found,) = read(client(full), "team-b", "train-0")
    assert (found.signals, found.gpus) == ({}, ())


def test_a_long_job_is_thinned_and_its_counters_miss_nothing(client: Clients, full: str) -> None:
    span = Span(END - 4000, END)
    assert span.step_seconds == 4.0
    (train,) = read(client(full), "team-a", "train-0", span=span)
    cpu = train.signals["cpu_cores"]
    for part in cpu.parts:
        assert part.times.size <= MOST_POINTS + 1
        grown = part.values[-1] - part.values[0]
        assert grown / (part.times[-1] - part.times[0]) == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize("seconds", [3601, 86_400, 30 * 86_400])
def test_a_series_has_at_most_so_many_points(seconds: int) -> None:
    step = Span(0, seconds).step_seconds
    assert step is not None
    assert seconds / step <= MOST_POINTS


def test_scraped_without_honor_labels_the_workload_is_found_by_its_exported_labels(
    client: Clients, front: Front
) -> None:
    labels = {
        "__name__": "container_memory_working_set_bytes",
        "exported_namespace": "team",
        "exported_pod": "train-0",
        "exported_container": "main",
        "pod": "exporter-x",
        "id": "/kubepods/x",
    }
    series = {"metric": labels, "values": [[END - 15, "5"], [END, "7"]]}

    def reply(handler: object) -> None:
        asked = front.requests[-1].path
        ours = "exported_pod" in asked and "working_set" in asked
        servers.success([series] if ours else [])(handler)  # type: ignore[arg-type]

    front.reply = reply
    reader = JobReader(client(front.url))
    (found,) = reader.read("team", ["train-0"], SPAN)
    assert found.signals["memory_working_set_bytes"].parts[0].values.tolist() == [5.0, 7.0]
    # The next time those labels are asked for first.
    before = len(front.requests)
    list(reader.read("team", ["train-0"], SPAN))
    first = next(one.path for one in front.requests[before:] if "working_set" in one.path)
    assert "exported_pod" in first


def test_many_pods_are_asked_for_a_few_at_a_time(client: Clients, front: Front) -> None:
    front.reply = servers.success([])
    pods = [f"{'p' * 200}-{number}" for number in range(60)]
    found = read(client(front.url), "team", *pods)
    assert [one.pod for one in found] == pods
    assert max(len(one.path) for one in front.requests) < 2 * MOST_CHARACTERS + 2000


def test_an_answer_that_is_too_large_is_asked_for_in_halves(client: Clients, front: Front) -> None:
    def reply(handler: object) -> None:
        many = front.requests[-1].path.count("pod-") > 1
        series = [{"metric": {"pod": "pod-1"}, "values": []}] * (50 if many else 0)
        servers.success(series)(handler)  # type: ignore[arg-type]

    front.reply = reply
    small = client(front.url, max_answer_series=10)
    assert len(read(small, "team", "pod-1", "pod-2", "pod-3", "pod-4")) == 4
    front.reply = servers.success([{"metric": {"pod": "pod-1"}, "values": []}] * 50)
    with pytest.raises(AnswerTooLargeError):
        read(small, "team", "pod-1")


@pytest.mark.parametrize("name", ['a"} or vector(1)', "a|b", "", "A", "a\n", "-a", "a" * 254])
def test_a_name_that_none_of_kubernetes_can_be_never_gets_near_a_query(name: str) -> None:
    for namespace, pod in ((name, "pod"), ("team", name)):
        with pytest.raises(ValueError, match="no name that Kubernetes allows"):
            pod_selectors(Source.DCGM, POD_LABELS[0], namespace, [pod], {"power_watts"})


def test_a_dot_in_a_name_is_no_wildcard() -> None:
    (selector,) = pod_selectors(Source.DCGM, POD_LABELS[0], "team", ["a.b"], {"power_watts"})
    assert 'pod=~"a\\\\.b"' in selector


def test_a_range_has_a_value_at_every_step(client: Clients, full: str) -> None:
    expression = 'DCGM_FI_DEV_FB_USED{pod="train-0"}'
    (series,) = client(full).range(expression, END - 100.5, END, 20.0).series
    assert series.times[0] == pytest.approx(END - 100.5)
    assert set(series.times[1:] - series.times[:-1]) == {20.0}
    assert not math.isnan(series.values.sum())
