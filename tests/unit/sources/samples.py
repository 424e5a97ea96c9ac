"""What several nodes measured around `END`, as text that promtool puts into Prometheus."""

import math
from collections.abc import Iterable, Mapping, Sequence

END = 1_760_004_000.0
"""A fixed moment; the readers in the tests take it for now."""
STEP = 15.0
HOUR = 3600.0

UIDS = {
    "train-0": "0f0e0d0c-1111-4222-8333-444455556666",
    "web-0": "1f0e0d0c-1111-4222-8333-444455556666",
    "web-0 replaced": "2f0e0d0c-1111-4222-8333-444455556666",
    "agent-x": "3f0e0d0c-1111-4222-8333-444455556666",
}
A100 = "NVIDIA A100-SXM4-80GB"
EVIL_NODE = 'we"ird\\no\nde{}|.*'


def ticks(
    first: float = END - HOUR - 600, last: float = END + 900, step: float = STEP
) -> list[float]:
    return [first + step * i for i in range(math.floor((last - first) / step) + 1)]


class Page:
    """OpenMetrics, with the time of each sample."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(
        self, name: str, labels: Mapping[str, str], times: Iterable[float], values: object
    ) -> None:
        text = ",".join(f'{key}="{_escape(value)}"' for key, value in labels.items())
        if isinstance(values, (int, float)):
            found: Sequence[float] = [float(values)] * len(list(times))
        else:
            assert isinstance(values, Sequence)
            found = values
        for when, value in zip(times, found, strict=True):
            self.lines.append(f"{name}{{{text}}} {value!r} {when:.3f}")

    def text(self) -> str:
        return "\n".join([*self.lines, "# EOF", ""])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def gpu(index: int, **more: str) -> dict[str, str]:
    """As dcgm-exporter labels it, with those of the scrape."""
    return {
        "gpu": str(index),
        "UUID": f"GPU-00000000-0000-4000-8000-{index:012d}",
        "pci_bus_id": f"00000000:0{index}:00.0",
        "device": f"nvidia{index}",
        "modelName": A100,
        "DCGM_FI_DRIVER_VERSION": "550.90.07",
        "job": "dcgm-exporter",
        **more,
    }


def container(namespace: str, pod: str, name: str, run: int = 0, **more: str) -> dict[str, str]:
    """As the kubelet's cAdvisor labels it."""
    uid = UIDS.get(more.pop("uid_of", pod), "9f0e0d0c-1111-4222-8333-444455556666")
    number = f"{run:064x}"
    path = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
    return {
        "id": f"{path}{uid.replace('-', '_')}.slice/cri-containerd-{number}.scope",
        "name": number,
        "image": "registry.example.com/team/project/image-with-a-long-name:v1.2.3",
        "namespace": namespace,
        "pod": pod,
        "container": name,
        "instance": "10.0.0.1:10250",
        "job": "cadvisor",
        "metrics_path": "/metrics/cadvisor",
        **more,
    }


def everything() -> str:
    page = Page()
    _node_a(page)
    _by_hostname(page)
    _by_instance(page)
    _replicas(page)
    _evil(page)
    _amd(page)
    _standalone(page)
    return page.text()


def _node_a(page: Page) -> None:
    """Our own prometheus.yaml: honor_labels, `node`. Long labels, many metrics."""
    times = ticks()
    for index in (0, 1):
        labels = gpu(index, Hostname="node-a", node="node-a", instance="10.1.0.5:9400")
        if index == 0:
            labels |= {"namespace": "team-a", "pod": "train-0", "container": "main"}
        busy = [50.0 + 50.0 * math.sin(when / 20) for when in times]
        page.add("DCGM_FI_DEV_GPU_UTIL", labels, times, [round(value) for value in busy])
        page.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels, times, [v / 100 for v in busy])
        page.add("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", labels, times, [v / 300 for v in busy])
        page.add("DCGM_FI_DEV_FB_USED", labels, times, 30_000 + index)
        page.add("DCGM_FI_DEV_FB_FREE", labels, times, 50_000)
        page.add("DCGM_FI_DEV_FB_RESERVED", labels, times, 920)
        energy = [1e9 + 300_000.0 * (when - times[0]) for when in times]
        page.add("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", labels, times, energy)
        page.add("DCGM_FI_DEV_POWER_USAGE", labels, times, 300)
        # What older exporters print for "not supported".
        page.add("DCGM_FI_DEV_MEM_COPY_UTIL", labels, times, 9223372036854775794)
        page.add("DCGM_FI_NOT_IN_THE_CATALOG", labels, times, 1)
        early = [when for when in times if when < END - 600]
        late = times[len(early) :]
        page.add("DCGM_FI_DEV_XID_ERRORS", labels | {"err_code": "0"}, early, 0)
        page.add("DCGM_FI_DEV_XID_ERRORS", labels | {"err_code": "79"}, late, 79 * index)
    for pod, name in (("train-0", "main"), ("train-0", "sidecar"), ("web-0", "web")):
        labels = container("team-a", pod, name, node="node-a")
        growth = [2.0 * (when - times[0]) for when in times]
        page.add("container_cpu_usage_seconds_total", labels, times, growth)
        page.add("container_memory_working_set_bytes", labels, times, 1e9)
        page.add("container_processes", labels, times, 3)
        page.add("container_fs_writes_bytes_total", labels | {"device": "/dev/sda"}, times, growth)
    for name in ("", "POD"):  # the pod's cgroup and the pause container: counted already
        labels = container("team-a", "train-0", name, node="node-a")
        page.add("container_cpu_usage_seconds_total", labels, times, 1e6)
    labels = container("team-a", "train-0", "", run=7, node="node-a", interface="eth0")
    page.add("container_network_receive_bytes_total", labels, times, [v * 1e6 for v in growth])
    root = {"id": "/", "node": "node-a"}
    page.add("container_cpu_usage_seconds_total", root, times, [4 * value for value in growth])
    page.add("machine_cpu_cores", {"node": "node-a", "machine_id": "m"}, times, 96)
    page.add("machine_memory_bytes", {"node": "node-a", "machine_id": "m"}, times, 1e12)
    # Of another node: never to be seen.
    other = gpu(3, Hostname="node-b", node="node-b")
    page.add("DCGM_FI_DEV_GPU_UTIL", other, times[-20:], 5)


def _by_hostname(page: Page) -> None:
    """Scraped without honor_labels, without `node`; the exporter is an older one."""
    times = ticks(END - 600)
    scrape = {
        "Hostname": "host-b",
        "instance": "10.1.0.6:9400",
        "namespace": "gpu-operator",
        "pod": "nvidia-dcgm-exporter-abcde",
        "container": "nvidia-dcgm-exporter",
    }
    held = {
        "exported_namespace": "team-b",
        "exported_pod": "train-1",
        "exported_container": "main",
    }
    page.add("DCGM_FI_DEV_GPU_UTIL", gpu(0) | scrape | held, times, 90)
    page.add("DCGM_FI_DEV_GPU_UTIL", gpu(1) | scrape, times, 0)


def _by_instance(page: Page) -> None:
    """The exporter's pod names itself as Hostname; only the address tells the node."""
    labels = gpu(0, Hostname="dcgm-exporter-xyz12", instance="10.0.0.3:9400")
    page.add("DCGM_FI_DEV_GPU_UTIL", labels, ticks(END - 600), 70)


def _replicas(page: Page) -> None:
    """Two Prometheus servers of an HA pair scraped the same, 7 s apart, one with a gap."""
    labels = gpu(0, node="ha-d", Hostname="ha-d")
    one, two = ticks(END - 600), ticks(END - 593)
    one = [when for when in one if not END - 300 < when < END - 200]
    page.add("DCGM_FI_DEV_GPU_UTIL", labels | {"prometheus_replica": "a"}, one, 10)
    page.add("DCGM_FI_DEV_GPU_UTIL", labels | {"prometheus_replica": "b"}, two, 10)
    # The kubelet's own times: both have the very same samples.
    cpu = container("team-d", "train-d", "main", node="ha-d")
    growth = [when - one[0] for when in one]
    for replica in "ab":
        page.add(
            "container_cpu_usage_seconds_total", cpu | {"prometheus_replica": replica}, one, growth
        )


def _evil(page: Page) -> None:
    times = ticks(END - 600)
    labels = gpu(0, node=EVIL_NODE)
    page.add("DCGM_FI_DEV_GPU_UTIL", labels, times, 42)
    held = labels | {"gpu": "1", "UUID": "GPU-1", "namespace": "n", "container": "c"}
    for number, name in enumerate(('"} or up{x="', "line\nbreak", "p" * 10_240, "Ünïcode")):
        page.add("DCGM_FI_DEV_GPU_UTIL", held | {"pod": name, "vgpu": str(number)}, times, 13)


def _amd(page: Page) -> None:
    labels = {
        "gpu_id": "0",
        "serial_number": "692251001124",
        "card_model": "AMD Instinct MI300X",
        "hostname": "amd-e",
        "namespace": "team-e",
        "pod": "train-e",
        "container": "main",
    }
    times = ticks(END - 600)
    page.add("amd_gpu_gfx_activity", labels, times, 80)
    page.add("amd_gpu_umc_activity", labels, times, 25)
    page.add("amd_gpu_used_vram", labels, times, 1000)
    page.add("amd_gpu_total_vram", labels, times, 196_592)
    energy = [5e8 * (when - times[0]) for when in times]
    page.add("amd_gpu_energy_consumed", labels, times, energy)
    page.add("amd_gpu_package_power", labels, times, 500)


def _standalone(page: Page) -> None:
    """cAdvisor as a DaemonSet of its own, which Prometheus labels as it does any pod."""
    prefix = "container_label_io_kubernetes_"
    labels = {
        "id": "/kubepods/burstable/pod0f0e0d0c-1111-4222-8333-444455556666/abc",
        f"{prefix}pod_name": "train-f",
        f"{prefix}pod_namespace": "team-f",
        f"{prefix}container_name": "main",
        "container": "cadvisor",
        "pod": "cadvisor-abcde",
        "namespace": "monitoring",
        "kubernetes_node": "alone-f",
    }
    times = ticks(END - 600)
    growth = [0.5 * (when - times[0]) for when in times]
    page.add("container_cpu_usage_seconds_total", labels, times, growth)
