"""Simulated silicon behind the interfaces of the real one."""

import csv
from collections.abc import Callable, Iterator

import pytest

from tests import REPOSITORY
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for
from tests.e2e.prometheus import Prometheus
from tests.e2e.workloads import A100, T4, exporter_on, pod, pod_spec

COUNTERS = REPOSITORY / "tests/unit/simgpu/dcgm_default_counters.csv"
# A scrape every 15 s, a collection every 5: what changed is seen within two of each, or later
# where a busy machine lets some of them fail.
SEEN_SECONDS = 120

Fault = Callable[..., str]


def node_with(kubectl: Kubectl, product: str) -> str:
    (node,) = kubectl.items("nodes", f"--selector=nvidia.com/gpu.product={product}")
    name: str = node["metadata"]["name"]
    return name


def run_to_ready(namespace: Kubectl, name: str) -> None:
    # Long enough also for the pods of the test before, which end meanwhile, to free their GPUs.
    namespace("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=150s")


def test_a_pod_that_asks_for_two_gpus_gets_two_and_prometheus_knows_whose_they_are(
    namespace: Kubectl, prometheus: Prometheus
) -> None:
    arguments = ["--pattern=training", "--step-seconds=2", "--duty=0.9", "--memory-mib=5000"]
    namespace.apply(pod("trainer", pod_spec(arguments, gpus=2, name="train")))
    run_to_ready(namespace, "trainer")

    given = namespace("exec", "trainer", "--", "printenv", "NVIDIA_VISIBLE_DEVICES")
    mounted = namespace("exec", "trainer", "--", "ls", "/dev/simgpu")
    uuids = set(given.strip().split(","))
    assert len(uuids) == 2
    assert set(mounted.split()) == uuids

    own = f'namespace="{namespace.namespace}", pod="trainer", container="train"'

    def busy_nodes() -> dict[str, str]:
        found = prometheus.query(f"DCGM_FI_DEV_GPU_UTIL{{{own}}} > 0")
        return {sample.labels["UUID"]: sample.labels["node"] for sample in found}

    wait_for(
        "both GPUs show up, busy, under the pod's own labels",
        lambda: set(busy_nodes()) == uuids,
        SEEN_SECONDS,
        every_seconds=2,
    )
    # The labels are missing from a page for which the kubelet was too slow to name the owners.
    wait_for(
        "their memory under the same labels",
        lambda: (
            [s.value for s in prometheus.query(f"DCGM_FI_DEV_FB_USED{{{own}}}")]
            == [pytest.approx(5000, rel=0.01)] * 2
        ),
        SEEN_SECONDS,
        every_seconds=2,
    )
    # Not any sample: cAdvisor's first look is at the container's birth.
    cpu = wait_for(
        "cAdvisor's series of the same container",
        lambda: prometheus.query(f"container_cpu_usage_seconds_total{{{own}}} > 0"),
        SEEN_SECONDS,
        every_seconds=2,
    )
    spec = namespace.get("pod", "trainer")["spec"]
    assert {cpu[0].labels["node"], *busy_nodes().values()} == {spec["nodeName"]}


def test_a_fifth_gpu_on_a_full_node_stays_pending(namespace: Kubectl) -> None:
    namespace.apply(pod("four", pod_spec(["--pattern=idle"], gpus=4, product=T4)))
    run_to_ready(namespace, "four")
    namespace.apply(pod("fifth", pod_spec(["--pattern=idle"], gpus=1, product=T4)))

    def refusal() -> str | None:
        conditions = namespace.get("pod", "fifth")["status"].get("conditions", [])
        return next((c["message"] for c in conditions if c["reason"] == "Unschedulable"), None)

    assert "Insufficient nvidia.com/gpu" in wait_for("the scheduler's refusal", refusal)
    assert namespace.get("pod", "fifth")["status"]["phase"] == "Pending"

    namespace("delete", "pod", "four")
    run_to_ready(namespace, "fifth")


def test_prometheus_has_every_default_counter_of_dcgm_exporter(
    kubectl: Kubectl, prometheus: Prometheus
) -> None:
    with COUNTERS.open() as table:
        expected = {name for name, _, _ in csv.reader(table)}
    node = node_with(kubectl, A100)
    seen = wait_for(
        "series of the A100 node",
        lambda: {
            s.labels["__name__"]
            for s in prometheus.query(f'{{__name__=~"DCGM_FI_.*", Hostname="{node}"}}')
        },
        SEEN_SECONDS,
    )
    assert seen == expected


def test_the_energy_counter_of_a_gpu_at_rest_is_its_power_over_time(
    prometheus: Prometheus,
) -> None:
    """That it is exact is the unit tests' part: here a scrape is up to 5 s behind the exporter."""
    power = "DCGM_FI_DEV_POWER_USAGE[2m]"
    # As many as there are, but for one: over a long time a page that comes late changes little.
    rested = f"changes({power}) == 0 and count_over_time({power}) >= 7"
    # A GPU has a series for each pod that holds it and one for when nobody does. The latter
    # rests before a pod and after it, and yet the energy between is what the pod has drawn.
    kept = f"count by (UUID) (count_over_time({power})) == 1"
    watts_at_rest = f"avg_over_time({power}) and ({rested}) and on (UUID) ({kept})"
    resting = wait_for("a GPU at rest", lambda: prometheus.query(watts_at_rest), 300, 3)
    watts = {(s.labels["UUID"], s.labels.get("pod")): s.value for s in resting}
    compared = 0
    for labels, samples in prometheus.samples("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[2m]"):
        (begin, first), (end, last) = samples[0], samples[-1]
        told = watts.get((labels["UUID"], labels.get("pod")))
        if told is not None and end - begin >= 50:
            assert (last - first) / 1000 / (end - begin) == pytest.approx(told, rel=0.2)
            compared += 1
    assert compared


@pytest.fixture
def fault(kubectl: Kubectl) -> Iterator[Fault]:
    """Breaks a GPU of the T4 node as `python3 -m simgpu` does, and mends it at the end."""
    node = node_with(kubectl, T4)
    there = kubectl.within("gpu")
    name = exporter_on(kubectl, node)

    def inject(*arguments: str) -> str:
        return there("exec", name, "--", "python3", "-m", "simgpu", *arguments)

    yield inject
    inject("clear")
    wait_for("all GPUs are back", lambda: allocatable(kubectl, node) == 4)


def allocatable(kubectl: Kubectl, node: str) -> int:
    # None before the kubelet has told of its plugin.
    return int(kubectl.get("node", node)["status"]["allocatable"].get("nvidia.com/gpu", 0))


def test_a_lost_gpu_leaves_the_node_and_the_metrics_and_comes_back(
    kubectl: Kubectl, prometheus: Prometheus, fault: Fault
) -> None:
    node = node_with(kubectl, T4)
    series = f'DCGM_FI_DEV_GPU_UTIL{{Hostname="{node}"}}'

    def indices() -> list[str]:
        return sorted(s.labels["gpu"] for s in prometheus.query(series))

    def wait_for_indices(*expected: str) -> None:
        wait_for(f"GPUs {expected}", lambda: indices() == list(expected), SEEN_SECONDS)

    wait_for_indices("0", "1", "2", "3")
    fault("lose", "3")
    wait_for("the kubelet counts three", lambda: allocatable(kubectl, node) == 3)
    wait_for_indices("0", "1", "2")
    fault("find", "3")
    wait_for("the kubelet counts four", lambda: allocatable(kubectl, node) == 4)
    wait_for_indices("0", "1", "2", "3")


def test_an_xid_and_a_blank_value_look_as_on_a_real_exporter(
    kubectl: Kubectl, prometheus: Prometheus, fault: Fault
) -> None:
    fault("xid", "1", "79")
    fault("blank", "2", "DCGM_FI_DEV_POWER_USAGE", "--old")
    node = node_with(kubectl, T4)
    (xid,) = wait_for(
        "the XID",
        lambda: prometheus.query(f'DCGM_FI_DEV_XID_ERRORS{{Hostname="{node}", gpu="1"}} == 79'),
        SEEN_SECONDS,
    )
    assert xid.labels["err_code"] == "79"
    assert "fallen off the bus" in xid.labels["err_msg"]
    wait_for(
        "the blank of older exporters",
        lambda: prometheus.query(f'DCGM_FI_DEV_POWER_USAGE{{Hostname="{node}", gpu="2"}} > 9.2e18'),
        SEEN_SECONDS,
    )
