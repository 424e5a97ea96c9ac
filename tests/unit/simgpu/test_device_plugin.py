"""The plugin against a kubelet on a real socket."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from tests.simgpu.device_plugin import Plugin
from tests.simgpu.faults import GpuFaults, save_faults
from tests.unit.simgpu.conftest import Node
from tests.unit.simgpu.kubelet import PATIENCE_SECONDS, Kubelet


@pytest.fixture
def kubelet(socket_folder: Path) -> Kubelet:
    return Kubelet(socket_folder)


@contextmanager
def running_plugin(node: Node, kubelet: Kubelet) -> Iterator[threading.Event]:
    stop = threading.Event()
    plugin = Plugin(node.root, kubelet.folder, node.inventory)
    thread = threading.Thread(target=plugin.run, args=(stop, 0.02))
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def test_it_registers_its_resource_and_lists_its_gpus(
    node: Callable[..., Node], kubelet: Kubelet
) -> None:
    one = node(count=3)
    with kubelet.running(), running_plugin(one, kubelet):
        request = kubelet.next_registration()
        assert (request.version, request.resource_name) == ("v1beta1", "nvidia.com/gpu")
        with kubelet.watching(request.endpoint) as updates:
            assert next(updates) == {gpu.uuid: "Healthy" for gpu in one.inventory.gpus}


def test_a_container_gets_the_devices_the_model_and_their_files(
    node: Callable[..., Node], kubelet: Kubelet
) -> None:
    one = node(count=2)
    uuids = [gpu.uuid for gpu in one.inventory.gpus]
    with kubelet.running(), running_plugin(one, kubelet):
        response = kubelet.allocate(kubelet.next_registration().endpoint, *uuids)
    variables = {variable.key: variable.value for variable in response.envs}
    assert variables == {
        "NVIDIA_VISIBLE_DEVICES": ",".join(uuids),
        "SIMGPU_MODEL": "NVIDIA A100-SXM4-80GB",
    }
    mounts = {mount.container_path: mount.host_path for mount in response.mounts}
    assert mounts == {f"/dev/simgpu/{uuid}": str(one.root / "devices" / uuid) for uuid in uuids}
    assert all(Path(path).stat().st_mode & 0o777 == 0o666 for path in mounts.values())


def test_mig_slices_are_resources_of_their_own(node: Callable[..., Node], kubelet: Kubelet) -> None:
    one = node(count=2, mig=["3g.40gb", "1g.10gb", "1g.10gb"])
    with kubelet.running(), running_plugin(one, kubelet):
        requests = [kubelet.next_registration() for _ in range(2)]
        endpoints = {request.resource_name: request.endpoint for request in requests}
        assert set(endpoints) == {"nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"}
        endpoint = endpoints["nvidia.com/mig-1g.10gb"]
        with kubelet.watching(endpoint) as updates:
            slices = next(updates)
        assert len(slices) == 4
        response = kubelet.allocate(endpoint, min(slices))
    variables = {variable.key: variable.value for variable in response.envs}
    assert variables["SIMGPU_MODEL"] == "NVIDIA A100-SXM4-80GB MIG 1g.10gb"


def test_two_replicas_of_a_time_sliced_gpu_are_one_device(
    node: Callable[..., Node], kubelet: Kubelet
) -> None:
    one = node(time_slicing=4)
    uuid = one.inventory.gpus[0].uuid
    with kubelet.running(), running_plugin(one, kubelet):
        endpoint = kubelet.next_registration().endpoint
        with kubelet.watching(endpoint) as updates:
            assert set(next(updates)) == {f"{uuid}::{n}" for n in range(4)}
        response = kubelet.allocate(endpoint, f"{uuid}::0", f"{uuid}::2")
    assert response.envs[0].value == uuid
    assert len(response.mounts) == 1


def test_a_lost_gpu_becomes_unhealthy_and_healthy_when_it_is_found(
    node: Callable[..., Node], kubelet: Kubelet
) -> None:
    one = node(count=2)
    first, second = (gpu.uuid for gpu in one.inventory.gpus)
    with kubelet.running(), running_plugin(one, kubelet):
        endpoint = kubelet.next_registration().endpoint
        with kubelet.watching(endpoint) as updates:
            assert set(next(updates).values()) == {"Healthy"}
            save_faults(one.root, {0: GpuFaults(lost=True)})
            assert next(updates) == {first: "Unhealthy", second: "Healthy"}
            save_faults(one.root, {0: GpuFaults(xid=31)})
            assert set(next(updates).values()) == {"Healthy"}


def test_it_registers_again_when_the_kubelet_restarts(
    node: Callable[..., Node], kubelet: Kubelet
) -> None:
    one = node()
    with running_plugin(one, kubelet):
        for _ in range(2):
            with kubelet.running():
                endpoint = kubelet.next_registration().endpoint
                uuid = one.inventory.gpus[0].uuid
                assert kubelet.allocate(endpoint, uuid).envs[0].value == uuid


def test_a_device_that_does_not_exist_is_refused(
    node: Callable[..., Node], kubelet: Kubelet
) -> None:
    with kubelet.running(), running_plugin(node(), kubelet):
        endpoint = kubelet.next_registration().endpoint
        with pytest.raises(grpc.RpcError, match="no such device: GPU-nonsense"):
            kubelet.allocate(endpoint, "GPU-nonsense")


def test_a_socket_left_by_one_that_was_killed_does_not_hinder_the_next(
    node: Callable[..., Node], kubelet: Kubelet
) -> None:
    one = node()
    with kubelet.running():
        (kubelet.folder / "simgpu-gpu.sock").touch()
        with running_plugin(one, kubelet):
            endpoint = kubelet.next_registration().endpoint
            assert len(kubelet.allocate(endpoint, one.inventory.gpus[0].uuid).mounts) == 1


def test_it_takes_its_socket_away_when_it_stops(
    node: Callable[..., Node], kubelet: Kubelet
) -> None:
    with kubelet.running():
        with running_plugin(node(), kubelet):
            endpoint = kubelet.next_registration().endpoint
        assert not (kubelet.folder / endpoint).exists()
