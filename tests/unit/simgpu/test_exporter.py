"""The exporter as a process would run: real HTTP, real pod-resources socket."""

import argparse
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.simgpu.errors import SimgpuError
from tests.simgpu.exporter import interval_seconds, run
from tests.simgpu.kubelet_api import POD_RESOURCES_MESSAGES
from tests.simgpu.pod_resources import list_owners
from tests.unit.simgpu.conftest import Node
from tests.unit.simgpu.kubelet import PATIENCE_SECONDS, pod_resources, serve
from tests.unit.simgpu.test_exposition import families

FAST = {"DCGM_EXPORTER_INTERVAL": "100", "NODE_NAME": "node1"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_exporter(node: Node, sockets: Path, environ: Mapping[str, str] = FAST) -> Iterator[str]:
    address = f"127.0.0.1:{free_port()}"
    arguments = argparse.Namespace(
        root=node.root, pod_resources_socket=sockets / "pods.sock", address=address
    )
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(arguments, environ, stop))
    thread.start()
    try:
        yield f"http://{address}"
    finally:
        stop.set()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310 - ours
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except urllib.error.URLError:
        return 0, ""  # not up yet


def get_ready(base: str) -> str:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if get(f"{base}/health") == (200, "OK"):
            return get(f"{base}/metrics")[1]
        time.sleep(0.02)
    raise AssertionError("the exporter never became healthy")


def test_pod_labels_come_from_the_kubelet(node: Callable[..., Node], socket_folder: Path) -> None:
    one = node(count=2)
    answer = pod_resources(
        ("team-a", "train-0", "main", "nvidia.com/gpu", [one.inventory.gpus[1].uuid]),
        ("team-a", "other", "main", "example.com/fpga", [one.inventory.gpus[0].uuid]),
    )
    with (
        serve(
            socket_folder / "pods.sock",
            "v1.PodResourcesLister",
            "List",
            POD_RESOURCES_MESSAGES["ListPodResourcesRequest"],
            lambda _request: answer,
        ),
        running_exporter(one, socket_folder) as base,
    ):
        samples = families(get_ready(base))["DCGM_FI_DEV_GPU_UTIL"].samples
    pods = {s.labels["gpu"]: s.labels.get("pod") for s in samples}
    assert pods == {"0": None, "1": "train-0"}
    assert samples[1].labels["namespace"] == "team-a"
    assert samples[1].labels["container"] == "main"


def test_a_kubelet_that_does_not_answer_costs_only_the_pod_labels(socket_folder: Path) -> None:
    dead = socket_folder / "pods.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(dead))  # bound, but nobody listens
    assert list_owners(dead) == {}
    assert list_owners(socket_folder / "absent.sock") == {}


def test_without_node_name_the_hostname_is_the_pods_own(
    node: Callable[..., Node], socket_folder: Path
) -> None:
    with running_exporter(node(), socket_folder, {"DCGM_EXPORTER_INTERVAL": "100"}) as base:
        (sample,) = families(get_ready(base))["DCGM_FI_DEV_GPU_UTIL"].samples
    assert sample.labels["Hostname"] == socket.gethostname()


def test_broken_faults_leave_the_last_page_standing(
    node: Callable[..., Node], socket_folder: Path
) -> None:
    one = node()
    with running_exporter(one, socket_folder) as base:
        get_ready(base)
        (one.root / "faults.json").write_text("{")
        assert "DCGM_FI_DEV_GPU_UTIL" in get_ready(base)
        assert get(f"{base}/nonsense")[0] == 404


@pytest.mark.parametrize("text", ["", "5s", "-1", "99"])
def test_an_interval_that_is_no_sensible_time_is_refused(text: str) -> None:
    with pytest.raises(SimgpuError, match="at least 100"):
        interval_seconds({"DCGM_EXPORTER_INTERVAL": text})


def test_the_default_interval_is_dcgm_exporters() -> None:
    assert interval_seconds({}) == 30.0
