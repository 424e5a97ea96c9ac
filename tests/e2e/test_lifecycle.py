"""Clusters come, live side by side, crash, and go without a trace."""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import REPOSITORY
from tests.cluster import lifecycle
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import INVENTORIES, Cluster, state_directory
from tests.cluster.machine import Machine
from tests.cluster.progress import wait_for
from tests.e2e.conftest import NAME
from tests.e2e.traces import Traces
from tests.e2e.workloads import exporter_on, pod, pod_spec

pytestmark = pytest.mark.machine

SIDE = "side"
CRASHED = "crashed"
RACERS = ("left", "right")
SIDE_NODES = {"mig": INVENTORIES / "a100-mig.json", "shared": INVENTORIES / "t4-shared.json"}
KWOK_NODES = 1000


def command_line(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.cluster", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def others() -> set[str]:
    """Every cluster that is not this file's: the run's own, and a developer's demo."""
    return {*lifecycle.all_names(), NAME} - {SIDE, CRASHED, *RACERS}


@pytest.fixture(scope="module")
def before(cluster: Cluster) -> Traces:
    """The machine with the run's own cluster on it, and without ours."""
    for name in (SIDE, CRASHED, *RACERS):
        lifecycle.down(name)  # what a run that was killed has left
    assert cluster.name in others()
    return Traces.now(without=others())


def folder_exists() -> bool:
    return (state_directory() / CRASHED).exists()


def control_plane_runs() -> bool:
    return (state_directory() / CRASHED / "machines/control-plane/pid").exists()


def kubelets_run() -> bool:
    logs = (state_directory() / CRASHED / "machines").glob("gpu-*/var/log/kubelet.log")
    return len(list(logs)) == 2


@pytest.mark.parametrize("moment", [folder_exists, control_plane_runs, kubelets_run])
def test_a_start_that_is_killed_can_still_be_removed(
    before: Traces, moment: Callable[[], bool]
) -> None:
    start = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster", "up", f"--name={CRASHED}"],
        cwd=REPOSITORY,
        stderr=subprocess.DEVNULL,
    )
    while not moment():
        assert start.poll() is None, "it ended before the moment came"
        time.sleep(0.002)
    start.kill()  # it alone: what it had started meanwhile goes on, as after a crash
    start.wait()
    removed = command_line("down", f"--name={CRASHED}")
    assert removed.returncode == 0, removed.stderr
    before.assert_nothing_added(without=others)


def test_starts_at_the_same_moment_do_not_get_in_each_others_way(before: Traces) -> None:
    left, right = RACERS
    one_node = f"--node=only={INVENTORIES / 't4-shared.json'}"
    starts = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.cluster", "up", f"--name={name}", one_node],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in (left, left, right)
    ]
    try:
        said = [start.communicate()[0] for start in starts]
        assert [start.returncode for start in starts] == [0, 0, 0]
    finally:
        for name in RACERS:
            lifecycle.down(name)
    assert said[0] == said[1] != said[2]
    addresses = [re.findall(r"https://(\S+):6443", text) for text in (said[0], said[2])]
    assert len(addresses[0]) == 1
    assert addresses[0] != addresses[1]
    before.assert_nothing_added(without=others)


@pytest.fixture(scope="module")
def side(before: Traces) -> Iterator[Cluster]:
    """A second cluster beside the run's own."""
    before.assert_nothing_added(without=others)
    try:
        yield lifecycle.up(Cluster.of(SIDE, SIDE_NODES, KWOK_NODES))
    finally:
        lifecycle.down(SIDE)


@pytest.fixture(scope="module")
def side_kubectl(side: Cluster) -> Kubectl:
    return lifecycle.kubectl(side)


def test_two_clusters_live_side_by_side(
    cluster: Cluster, side: Cluster, kubectl: Kubectl, side_kubectl: Kubectl
) -> None:
    assert cluster.api_url != side.api_url
    real = {n["metadata"]["name"] for n in side_kubectl.items("nodes", "--selector=type!=kwok")}
    assert real == set(SIDE_NODES)
    own = {node.name for node in cluster.nodes}
    assert {n["metadata"]["name"] for n in kubectl.items("nodes")} == own


def test_starting_twice_is_safe(side: Cluster, side_kubectl: Kubectl) -> None:
    uid = side_kubectl.get("namespace", "kube-system")["metadata"]["uid"]
    again = command_line(
        *["up", f"--name={SIDE}", f"--kwok-nodes={KWOK_NODES}"],
        *[f"--node={name}={path}" for name, path in SIDE_NODES.items()],
    )
    assert again.returncode == 0, again.stderr
    assert side.api_url in again.stdout
    assert side_kubectl.get("namespace", "kube-system")["metadata"]["uid"] == uid


def test_a_running_cluster_is_not_replaced_by_one_with_other_nodes(side: Cluster) -> None:
    refused = command_line("up", f"--name={side.name}")
    assert refused.returncode == 1
    assert "is up with other nodes" in refused.stderr
    assert "hint: " in refused.stderr


def test_status_and_logs_tell_of_every_daemon(side: Cluster) -> None:
    status = command_line("status").stdout
    assert f"cluster {side.name}: " in status
    for machine, daemon in [
        ("control-plane", "kwok"),
        ("mig", "kubelet"),
        ("shared", "kube-proxy"),
    ]:
        assert any(line.split()[:3] == [machine, daemon, "run,"] for line in status.splitlines()), (
            status
        )
        log = command_line("logs", f"--name={side.name}", machine, daemon)
        assert log.returncode == 0
        assert len(log.stdout.splitlines()) > 3
    unknown = command_line("logs", f"--name={side.name}", "mig", "nonsense")
    assert unknown.returncode == 1
    assert "hint: " in unknown.stderr


def test_kwok_nodes_are_ready_and_run_pods(side_kubectl: Kubectl) -> None:
    nodes = side_kubectl.items("nodes", "--selector=type=kwok")
    assert len(nodes) == KWOK_NODES
    spec = pod_spec([], gpus=8, selector={"type": "kwok"})
    spec["tolerations"] = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
    side_kubectl.apply(pod("large", spec))
    side_kubectl("wait", "--for=condition=Ready", "pod/large", "--timeout=150s")


def capacity(kubectl: Kubectl, node: str) -> dict[str, str]:
    found: dict[str, str] = kubectl.get("node", node)["status"]["capacity"]
    return found


def scrape(kubectl: Kubectl, node: str) -> str:
    """What the exporter of a node serves, as Prometheus would read it."""
    name = exporter_on(kubectl, node)
    return kubectl("get", f"--raw=/api/v1/namespaces/gpu/pods/{name}:9400/proxy/metrics")


def test_a_mig_slice_is_counted_given_and_measured_as_one(side_kubectl: Kubectl) -> None:
    slices = {"nvidia.com/mig-3g.40gb": "1", "nvidia.com/mig-1g.10gb": "1"}
    # A kubelet tells the API server of its plugins every 10 s, not at once.
    wait_for("the slices", lambda: slices.items() <= capacity(side_kubectl, "mig").items())
    arguments = ["--pattern=training", "--step-seconds=1", "--memory-mib=4000"]
    side_kubectl.apply(
        pod("sliced", pod_spec(arguments, resource="nvidia.com/mig-1g.10gb", name="train"))
    )
    side_kubectl("wait", "--for=condition=Ready", "pod/sliced", "--timeout=150s")

    def busy() -> list[str]:
        page = scrape(side_kubectl, "mig").splitlines()
        lines = [line for line in page if 'pod="sliced"' in line]
        return lines if any("ENGINE_ACTIVE" in line for line in lines) else []

    lines = wait_for("the slice is busy", busy)
    assert all('GPU_I_PROFILE="1g.10gb"' in line for line in lines)
    assert not any(line.startswith("DCGM_FI_DEV_GPU_UTIL") for line in lines)


def test_four_pods_share_a_time_sliced_gpu(side_kubectl: Kubectl) -> None:
    wait_for("4 shares", lambda: capacity(side_kubectl, "shared").get("nvidia.com/gpu") == "4")
    names = [f"sharer-{i}" for i in range(4)]
    spec = pod_spec(
        ["--pattern=idle", "--memory-mib=1000"], selector={"kubernetes.io/hostname": "shared"}
    )
    side_kubectl.apply(*(pod(name, spec) for name in names))
    side_kubectl("wait", "--for=condition=Ready", *(f"pod/{n}" for n in names), "--timeout=150s")

    def used() -> list[tuple[str, int]]:
        """The value of each series, and how many of the pods it names."""
        text = scrape(side_kubectl, "shared")
        series = [x for x in text.splitlines() if x.startswith("DCGM_FI_DEV_FB_USED{")]
        return [(x.split()[-1], sum(f'pod="{name}"' in x for name in names)) for x in series]

    # The memory of all four under the name of one: the trap that a reader must know of.
    wait_for("the sum under one name", lambda: used() == [("4000", 1)])


def test_a_kubelet_that_crashes_is_started_again_and_its_gpus_stay(
    side: Cluster, side_kubectl: Kubectl
) -> None:
    machine = side.machine("shared")
    first = machine.services()["kubelet"]
    machine.kill("kubelet")
    wait_for(
        "another kubelet",
        lambda: machine.services()["kubelet"].split(", ")[1] != first.split(", ")[1],
    )
    wait_for(
        "the plugin registered again",
        lambda: (
            side_kubectl.get("node", "shared")["status"]["allocatable"]["nvidia.com/gpu"] == "4"
        ),
    )


def test_down_without_a_cluster_is_fine_and_logs_say_what_to_do() -> None:
    assert command_line("down", "--name=never-was").returncode == 0
    missing = command_line("logs", "--name=never-was")
    assert missing.returncode == 1
    assert "hint: .venv/bin/python -m tests.cluster up --name never-was" in missing.stderr


def test_down_leaves_nothing_behind_and_touches_nothing_else(
    before: Traces, side: Cluster, cluster: Cluster, tmp_path: Path
) -> None:
    seen = Traces.now(without=others()).added_since(before)
    assert seen.keys() == {"processes", "namespaces", "interfaces", "groups", "files"}
    assert any(name.startswith("kubelet ") for name in seen["processes"])
    assert side.host_interface in seen["interfaces"]
    assert str(side.directory) in seen["files"]
    pids = [_pids(machine) for machine in cluster.machines]
    # One of the same name and of nobody's cluster.
    kubelet = shutil.copy(shutil.which("sleep") or "sleep", tmp_path / "kubelet")
    bystander = subprocess.Popen([kubelet, "1000"])
    try:
        lifecycle.down(side.name)
        before.assert_nothing_added(without=others)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert [_pids(machine) for machine in cluster.machines] == pids


def _pids(machine: Machine) -> list[str]:
    """Of each daemon that runs; one that was ended and started again has another."""
    return [state.split(", ")[1] for state in machine.services().values()]
