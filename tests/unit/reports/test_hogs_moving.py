"""Which systems there are, and where a job could go."""

from typing import Any

import pytest
from msgspec.structs import replace

from cepheid.cli.nodes import node_type
from cepheid.jobprofile import GpuHeld, Spread, Usage
from cepheid.reports.contention.holding import Resource, gpus_by_system, natural, taken, whole
from cepheid.reports.contention.moving import (
    Inventory,
    NodeType,
    fits_on,
    holds_memory_of,
    inventory_of,
    without_gpus,
)
from tests.unit.reports.contended import A100, GIB, NODES, T4, idle, ran

TOLD = Inventory(NODES, is_told=True)


def test_a_node_tells_what_it_has() -> None:
    found = node_type(
        "gpu-a",
        {"cpu": "63500m", "memory": "512Gi", "nvidia.com/gpu": "8", "nvidia.com/mig-1g.10gb": "7"},
        {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
        {},
    )
    assert (found.gpu_count, found.cpu_cores, found.memory_bytes) == (8, 63.5, 512 * GIB)
    assert found.system == "A100-80"


def test_what_the_agent_says_of_a_node_counts_before_a_label() -> None:
    said = {"ai.centaurus.io/gpu-static": '{"count":4,"model":"Tesla T4","mem_gb":16}'}
    labels = {"nvidia.com/gpu.product": "x"}
    assert node_type("n", {"nvidia.com/gpu": 4}, labels, said).gpu_model == "Tesla T4"
    mixed = {"ai.centaurus.io/gpu-static": '{"count":4}'}
    assert node_type("n", {"nvidia.com/gpu": 4}, labels, mixed).gpu_model == "x"


@pytest.mark.parametrize(
    ("has", "gpus"), [({"nvidia.com/gpu": "many"}, 0), ({"nvidia.com/gpu": "9" * 24}, 10_000)]
)
def test_absurd_nodes_are_read_all_the_same(has: dict[str, str], gpus: int) -> None:
    found = node_type("n", {**has, "cpu": "", "memory": None}, {}, {})
    assert (found.gpu_count, found.cpu_cores, found.memory_bytes) == (gpus, None, None)


def test_from_a_history_the_gpus_that_jobs_held_tell_what_there_is() -> None:
    jobs = [ran("a", 0, 1, gpus=3), ran("b", 0, 1, gpus=2, node="gpu-b"), ran("c", 0, 1, node="x")]
    found = inventory_of(jobs)
    assert {system: found.gpu_count(system) for system in found.systems} == {
        "A100-80": 3,
        "T4": 2,
        "": 0,
    }
    assert (found.system("gpu-a"), found.system("x"), found.system("unseen")) == ("A100-80", "", "")
    assert found.cpu_cores("A100-80") is None


def test_slices_of_one_gpu_are_counted_one_by_one_and_each_once() -> None:
    slices = [GpuHeld(node="gpu-a", index=0, mig=mig, model=A100) for mig in (1, 2, 2)]
    found = inventory_of([replace(ran("a", 0, 1), gpus=(one,)) for one in slices])
    assert found.gpu_count("A100-80") == 2


def test_smaller_is_less_memory_and_no_more_speed() -> None:
    models = ("NVIDIA L4", "Tesla V100-SXM2-32GB", A100, T4, "Unheard of")
    found = Inventory(
        [NodeType(name=model, gpu_model=model, gpu_count=1) for model in models], is_told=True
    )
    assert found.smaller("A100-80") == ("T4", "L4", "V100-32")
    assert found.smaller("V100-32") == ("T4", "L4")
    assert found.smaller("T4") == found.smaller("no such") == ()


@pytest.mark.parametrize(
    ("memory_gib", "tensor", "fits"),
    [(14.4, 16.6, "T4"), (14.5, 16.6, None), (14.4, 16.8, None), (0.0, 0.0, "T4")],
)
def test_a_job_fits_where_its_memory_and_its_speed_do(
    memory_gib: float, tensor: float, fits: str | None
) -> None:
    # 90 % of 16 GiB; 80 % of 65 of 312 teraflops, which are 16.7 %.
    usage = Usage(
        gpu_memory_bytes=Spread(max=2 * memory_gib * GIB), tensor_percent=Spread(mean=tensor)
    )
    assert fits_on(replace(ran("a", 0, 1, gpus=2), usage=usage), TOLD, "A100-80") == fits


def test_what_is_idle_goes_where_its_memory_does() -> None:
    job = ran("a", 0, 1, gpus=2)
    assert holds_memory_of(idle(job, gpu_memory_bytes=2 * 14 * GIB), TOLD, ["T4"]) == "T4"
    assert holds_memory_of(idle(job, gpu_memory_bytes=2 * 15 * GIB), TOLD, ["T4"]) is None
    assert holds_memory_of(replace(job, usage=None), TOLD, ["T4"]) is None


@pytest.mark.parametrize(
    ("cpu", "memory", "nodes"),
    [("60", "1Gi", ["cpu-a"]), ("97", "1Gi", []), ("1", "385Gi", []), ("", "", ["cpu-a"])],
)
def test_a_pod_needs_room_on_one_node(cpu: str, memory: str, nodes: list[str]) -> None:
    assert without_gpus(ran("a", 0, 1, cpu=cpu, memory=memory), TOLD) == nodes


@pytest.mark.parametrize(
    ("gpus", "count", "found"),
    [
        ("aaab", 4, {"A100-80": 3, "T4": 1}),
        ("ab", 8, {"A100-80": 4, "T4": 4}),
        ("ab", 3, {"A100-80": 2, "T4": 1}),
        ("aab", 2, {"A100-80": 2}),
        ("aa", 0, {"A100-80": 2}),
        ("", 3, {"A100-80": 3}),
        ("", 0, {}),
    ],
)
def test_gpus_that_are_not_listed_are_as_those_that_are(
    gpus: str, count: int, found: dict[str, int]
) -> None:
    kinds = {"a": ran("x", 0, 1, gpus=1).gpus[0], "b": ran("x", 0, 1, gpus=1, node="gpu-b").gpus[0]}
    job = replace(ran("x", 0, 1), gpus=tuple(kinds[one] for one in gpus), gpu_count=count)
    assert gpus_by_system(job, TOLD) == found


@pytest.mark.parametrize(
    ("asked", "pods", "cores"),
    [({"requests": {"cpu": "500m"}}, 4, 2.0), ({"limits": {"cpu": "3"}}, 2, 6.0), ({}, 2, 1.0)],
)
def test_what_is_taken_is_asked_for_or_else_used(
    asked: dict[str, Any], pods: int, cores: float
) -> None:
    job = ran("a", 0, 1)
    bare = replace(job.asked[0], requests={}, limits={}, pods=pods)
    assert taken(replace(job, asked=(replace(bare, **asked),)), Resource.CPU) == cores


@pytest.mark.parametrize("resource", Resource)
def test_amounts_are_whole_and_come_back(resource: Resource) -> None:
    assert whole(resource, None) == whole(resource, 0.0) == whole(resource, -1.0) == 0
    assert whole(resource, float("nan")) == 0
    assert whole(resource, 1e-300) == 1
    assert whole(resource, 1e300) == whole(resource, float("inf")) == 2**36
    assert natural(resource, whole(resource, 2.0**22)) == 2.0**22
