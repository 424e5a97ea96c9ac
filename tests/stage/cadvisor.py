"""A node's pods, and itself, as a kubelet prints them at /metrics/cadvisor. Pure.

Of a pod there are its cgroup, which repeats the containers in it, the sandbox, which alone has the
network, and the container. Figures carry the time at which they were taken.
"""

import hashlib
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from tests.stage.levels import Timeline
from tests.stage.world import Node, Pod, World

PERIODS_PER_SECOND = 10  # the kernel's CPU period is 100 ms
DISK = "/dev/vda"
INTERFACE = "eth0"
IMAGE = "registry.example.com/team/work:v1.2.3"
PAUSE = "registry.k8s.io/pause:3.10"

COUNTER, GAUGE = "counter", "gauge"
METRICS = {
    "container_cpu_cfs_periods_total": (COUNTER, "Number of elapsed enforcement period intervals."),
    "container_cpu_cfs_throttled_periods_total": (COUNTER, "Number of throttled period intervals."),
    "container_cpu_usage_seconds_total": (COUNTER, "Cumulative cpu time consumed in seconds."),
    "container_fs_reads_bytes_total": (COUNTER, "Cumulative count of bytes read"),
    "container_fs_writes_bytes_total": (COUNTER, "Cumulative count of bytes written"),
    "container_memory_rss": (GAUGE, "Size of RSS in bytes."),
    "container_memory_working_set_bytes": (GAUGE, "Current working set in bytes."),
    "container_network_receive_bytes_total": (COUNTER, "Cumulative count of bytes received"),
    "container_network_transmit_bytes_total": (COUNTER, "Cumulative count of bytes transmitted"),
    "container_processes": (GAUGE, "Number of processes running inside the container."),
    "container_threads": (GAUGE, "Number of threads running inside the container"),
    "machine_cpu_cores": (GAUGE, "Number of logical CPU cores."),
    "machine_memory_bytes": (GAUGE, "Amount of memory installed on the machine."),
}


@dataclass(frozen=True)
class Sample:
    metric: str
    labels: dict[str, str]
    value: float
    at: float | None
    """None where the kubelet gives no time: of the machine."""

    def line(self) -> str:
        labels = ",".join(f'{key}="{_escaped(text)}"' for key, text in sorted(self.labels.items()))
        time = "" if self.at is None else f" {round(1000 * self.at)}"
        return f"{self.metric}{{{labels}}} {self.value!r}{time}"


def page(world: World, node: Node, when: float) -> str:
    samples: dict[str, list[Sample]] = {metric: [] for metric in METRICS}
    for sample in _samples(world, node, when):
        samples[sample.metric].append(sample)
    lines: list[str] = []
    for metric, (kind, meaning) in METRICS.items():
        if samples[metric]:
            lines += [f"# HELP {metric} {meaning}", f"# TYPE {metric} {kind}"]
            lines += [sample.line() for sample in samples[metric]]
    return "\n".join(lines) + "\n"


def _samples(world: World, node: Node, when: float) -> Iterator[Sample]:
    pods = [pod for pod in list(node.pods) if (pod.since or world.up_since) < when]
    yield from _root(world, node, pods, when)
    for pod in pods:
        yield from _pod(world, pod, _moment(world, pod, when))


def _moment(world: World, pod: Pod, when: float) -> float:
    """When the kubelet last looked at this pod."""
    every = world.pods_every_seconds
    if not every:
        return when
    phase = zlib.crc32(pod.uid.encode()) % 1000 / 1000 * every
    return max(pod.since or world.up_since, math.floor((when - phase) / every) * every + phase)


def _root(world: World, node: Node, pods: list[Pod], when: float) -> Iterator[Sample]:
    def done(of_pod: list[Timeline]) -> float:
        return sum(
            line.integral(pod.since or world.up_since, when)
            for pod, line in zip(pods, of_pod, strict=True)
        )

    labels = _labels("/")
    cpu = node.system_cores.integral(world.up_since, when) + done([pod.cores for pod in pods])
    memory = node.system_memory_bytes.at(when) + sum(pod.memory_bytes.at(when) for pod in pods)
    disk, network = labels | {"device": DISK}, labels | {"interface": INTERFACE}
    for metric, its_labels, value in (
        ("container_cpu_usage_seconds_total", labels | {"cpu": "total"}, cpu),
        ("container_memory_working_set_bytes", labels, memory),
        ("container_memory_rss", labels, memory),
        ("container_fs_reads_bytes_total", disk, done([pod.read_bytes for pod in pods])),
        ("container_fs_writes_bytes_total", disk, done([pod.written_bytes for pod in pods])),
        (
            "container_network_receive_bytes_total",
            network,
            done([pod.received_bytes for pod in pods]),
        ),
        ("container_network_transmit_bytes_total", network, done([pod.sent_bytes for pod in pods])),
    ):
        yield Sample(metric, its_labels, value, when)
    machine = {
        "boot_id": node.machine_id,
        "machine_id": node.machine_id,
        "system_uuid": node.machine_id,
    }
    yield Sample("machine_cpu_cores", machine, float(node.cores), None)
    yield Sample("machine_memory_bytes", machine, node.memory_bytes, None)


def _pod(world: World, pod: Pod, at: float) -> Iterator[Sample]:
    since = pod.since or world.up_since
    slice_id = (
        "/kubepods.slice/kubepods-burstable.slice/"
        f"kubepods-burstable-pod{pod.uid.replace('-', '_')}.slice"
    )
    numbers = {
        name: hashlib.sha256(f"{pod.uid}/{name}".encode()).hexdigest()
        for name in ("sandbox", f"{pod.container}/{pod.run}")
    }
    sandbox_number, container_number = numbers.values()
    whole = _labels(slice_id, namespace=pod.namespace, pod=pod.name)
    sandbox = whole | {
        "id": f"{slice_id}/cri-containerd-{sandbox_number}.scope",
        "image": PAUSE,
        "name": sandbox_number,
    }
    container = whole | {
        "container": pod.container,
        "id": f"{slice_id}/cri-containerd-{container_number}.scope",
        "image": IMAGE,
        "name": container_number,
    }
    cpu, memory = pod.cores.integral(since, at), pod.memory_bytes.at(at)
    for cgroup, share in ((whole, 1.0), (sandbox, 0.0), (container, 1.0)):
        yield Sample(
            "container_cpu_usage_seconds_total", cgroup | {"cpu": "total"}, cpu * share, at
        )
        yield Sample("container_memory_working_set_bytes", cgroup, memory * share, at)
        yield Sample("container_memory_rss", cgroup, memory * share, at)
    for cgroup in (whole, container):
        yield Sample("container_processes", cgroup, float(pod.processes), at)
        yield Sample("container_threads", cgroup, float(pod.processes), at)
        disk = cgroup | {"device": DISK}
        yield Sample("container_fs_reads_bytes_total", disk, pod.read_bytes.integral(since, at), at)
        written = pod.written_bytes.integral(since, at)
        yield Sample("container_fs_writes_bytes_total", disk, written, at)
        if pod.cpu_limit_cores is not None:
            periods = PERIODS_PER_SECOND * (at - since)
            throttled = PERIODS_PER_SECOND * pod.throttled_ratio.integral(since, at)
            yield Sample("container_cpu_cfs_periods_total", cgroup, periods, at)
            yield Sample("container_cpu_cfs_throttled_periods_total", cgroup, throttled, at)
    network = sandbox | {"interface": INTERFACE}
    received = pod.received_bytes.integral(since, at)
    yield Sample("container_network_receive_bytes_total", network, received, at)
    sent = pod.sent_bytes.integral(since, at)
    yield Sample("container_network_transmit_bytes_total", network, sent, at)


def _labels(cgroup: str, **known: str) -> dict[str, str]:
    """A kubelet prints those that it does not know as well, empty."""
    empty = dict.fromkeys(("container", "image", "name", "namespace", "pod"), "")
    return empty | {"id": cgroup} | known


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
