"""Which placements can be tried, and why others cannot."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.placementtrial import MOST_CANDIDATES, Arrange, Placement, TryOn
from cepheid_operator.trials.copying.candidates import (
    Candidates,
    NodeSeen,
    Quota,
    candidates,
    fits_one_node,
    node_seen,
    quota_seen,
)
from tests.unit.operator.trials.jobs import (
    A100,
    GPU,
    T4,
    TYPE,
    Document,
    as_read,
    mpi_job,
    node,
    plain_job,
    pytorch_job,
    workers_spec,
)

NODES = [node("a", A100, 8), node("b", T4, 4), node("c", T4, 4)]


def seen(raw: list[Document]) -> list[NodeSeen]:
    found = [node_seen(one) for one in raw]
    return [one for one in found if one is not None]


def placed(
    axes: TryOn,
    job: Document | None = None,
    nodes: list[Document] = NODES,
    quota: Quota | None = None,
) -> Candidates:
    return candidates(axes, as_read(job or mpi_job()), seen(nodes), quota or Quota())


def shown(found: Candidates) -> list[str]:
    return [str(one) for one in found.placements]


def reasons(found: Candidates) -> dict[str, str]:
    return {str(one.placement): one.why for one in found.left_out}


def test_what_is_not_asked_for_stays_as_the_job_has_it() -> None:
    found = placed(TryOn(), mpi_job(workers=2, gpus=2))
    assert shown(found) == [f"2 of 2x{A100}", f"2 of 2x{T4}"]
    assert not found.left_out


def test_the_axes_are_tried_in_their_order() -> None:
    axes = TryOn(gpu_types=(T4, A100), gpus_per_worker=(1, 2), workers=(1, 2))
    kinds = [f"1x{T4}", f"2x{T4}", f"1 of 2x{T4}", f"2 of 2x{T4}"]
    assert shown(placed(axes)) == kinds + [one.replace(T4, A100) for one in kinds]


def test_what_the_nodes_of_a_type_can_never_hold_is_left_out_with_the_reason() -> None:
    found = placed(TryOn(gpus_per_worker=(3, 8), workers=(1, 2, 3)))
    assert shown(found) == [f"1 of 3x{A100}", f"2 of 3x{A100}", f"1 of 8x{A100}"] + [
        f"1 of 3x{T4}",
        f"2 of 3x{T4}",
    ]
    assert reasons(found) == {
        f"3 of 3x{A100}": "the nodes of the type hold 2 such workers, not 3",
        f"2 of 8x{A100}": "the nodes of the type hold 1 such workers, not 2",
        f"3 of 8x{A100}": "the nodes of the type hold 1 such workers, not 3",
        f"3 of 3x{T4}": "the nodes of the type hold 2 such workers, not 3",
        **{
            f"{many} of 8x{T4}": f"no node of the type can hold a worker of 8 {GPU}"
            for many in (1, 2, 3)
        },
    }


def test_workers_apart_need_as_many_nodes() -> None:
    axes = TryOn(workers=(1, 2, 3), arrange=(Arrange.PACKED, Arrange.SPREAD))
    found = placed(axes)
    assert shown(found) == [
        f"1x{A100}",  # one worker is neither together nor apart
        f"2x{A100} packed",
        f"3x{A100} packed",
        f"1x{T4}",
        f"2x{T4} packed",
        f"2x{T4} spread",
        f"3x{T4} packed",
    ]
    assert reasons(found)[f"3x{T4} spread"] == "2 nodes of the type can hold a worker, not 3"


def test_where_no_node_holds_two_workers_together_and_apart_are_the_same() -> None:
    axes = TryOn(gpu_types=(T4,), gpus_per_worker=(3,), workers=(2,), arrange=tuple(Arrange))
    found = placed(axes)
    assert shown(found) == [f"2 of 3x{T4} spread"]
    assert "the same as spread" in reasons(found)[f"2 of 3x{T4} packed"]


def test_a_type_that_no_node_has_is_left_out() -> None:
    found = placed(TryOn(gpu_types=("H100", T4), workers=(1,)))
    assert shown(found) == [f"1x{T4}"]
    assert "no node of the type" in reasons(found)["1xH100"]


def test_more_than_the_quota_is_never_tried_and_what_is_free_does_not_matter() -> None:
    found = placed(TryOn(gpu_types=(A100,), workers=(1, 4, 5)), quota=Quota(hard=4, free=0))
    assert shown(found) == [f"1x{A100}", f"4x{A100}"]
    assert reasons(found) == {f"5x{A100}": f"the namespace's quota is 4 {GPU}, and this needs 5"}


def ask(job: Document, **resources: Any) -> Document:
    workers_spec(job)["containers"][0]["resources"]["requests"] = resources
    return job


def test_a_worker_must_find_its_cpus_and_memory_too() -> None:
    job = ask(pytorch_job(workers=2), cpu="20", memory="10Gi")
    assert shown(placed(TryOn(gpu_types=(A100, T4)), job)) == [f"2x{T4}"]
    master = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    master["resources"]["requests"] = {"cpu": "33"}  # what any of them asks for, each must find
    assert not placed(TryOn(), job).placements


@pytest.mark.parametrize(
    ("change", "usable"),
    [
        ({}, True),
        ({"unschedulable": True}, False),
        ({"taints": [{"key": "pool", "value": "x", "effect": "NoSchedule"}]}, False),
        ({"taints": [{"key": "pool", "value": "x", "effect": "PreferNoSchedule"}]}, True),
        ({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]}, True),
        ({"taints": [{"key": "gpu", "effect": "NoSchedule"}]}, True),  # tolerated, see below
        ({"labels": {"zone": "b"}}, False),  # the job wants another one
    ],
)
def test_only_nodes_that_the_job_may_go_to_count(change: Document, *, usable: bool) -> None:
    job = plain_job(workers=1)
    workers_spec(job)["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    workers_spec(job)["nodeSelector"] = {"zone": "a", TYPE: A100}
    there = node("n", T4, **{"labels": {"zone": "a"}, **change})
    assert shown(placed(TryOn(), job, [there])) == ([f"1x{T4}"] if usable else [])


def test_a_node_that_is_not_ready_may_be_back_in_a_minute() -> None:
    away = node("n", T4)
    away["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    (found,) = seen([away])
    assert not found.is_ready
    assert placed(TryOn(), nodes=[away]).placements


@pytest.mark.parametrize(
    ("resource", "labels", "mib"),
    [
        (GPU, {"nvidia.com/gpu.memory": "15360"}, 15360.0),
        ("nvidia.com/mig-1g.5gb", {"nvidia.com/mig-1g.5gb.memory": "4864"}, 4864.0),
        ("amd.com/gpu", {"amd.com/gpu.vram": "64Gi"}, 65536.0),
        (GPU, {}, None),
        (GPU, {"nvidia.com/gpu.memory": "0"}, None),
        (GPU, {"nvidia.com/gpu.memory": "9" * 400}, None),
        (GPU, {"nvidia.com/gpu.memory": "much"}, None),
    ],
)
def test_the_memory_of_a_gpu_is_what_the_labels_say(
    resource: str, labels: dict[str, str], mib: float | None
) -> None:
    (found,) = seen([node("n", labels=labels)])
    assert found.gpu_memory_mib(resource) == mib


def test_of_a_type_with_several_sizes_the_least_memory_counts() -> None:
    nodes = [node("a", labels={"nvidia.com/gpu.memory": memory}) for memory in ("40960", "81920")]
    assert placed(TryOn(), nodes=[*nodes, node("b")]).memory_mib == {T4: 40960.0}


def test_there_is_an_end_to_it() -> None:
    nodes = [node(f"n{at}", f"type-{at}", 64) for at in range(30)]
    found = placed(TryOn(workers=tuple(range(1, 17))), plain_job(), nodes)
    assert len(found.placements) == MOST_CANDIDATES
    assert len(found.left_out) == 30 * 16 - MOST_CANDIDATES
    assert {one.why for one in found.left_out} == {"there are more than 200 placements"}


@pytest.mark.parametrize(("workers", "fits"), [(4, True), (5, False)])
def test_whether_all_workers_fit_one_node(workers: int, *, fits: bool) -> None:
    placement = Placement(gpu_type=T4, workers=workers)
    template = as_read(mpi_job())
    assert fits_one_node(placement, TryOn(), template, seen(NODES)) is fits


def quota(hard: Any, used: Any = "1", **spec: Any) -> Document:
    key = f"requests.{GPU}"
    return {"spec": {"hard": {key: hard}, **spec}, "status": {"used": {key: used}}}


def scoped(operator: str, *values: str) -> Document:
    scope = {"scopeName": "PriorityClass", "operator": operator, "values": [*values]}
    return {"scopeSelector": {"matchExpressions": [scope]}}


@pytest.mark.parametrize(
    ("quotas", "found"),
    [
        ([], Quota()),
        ([quota("4")], Quota(hard=4, free=3)),
        ([quota("4"), quota("9", "8")], Quota(hard=4, free=1)),
        ([quota("4", "7")], Quota(hard=4, free=0)),
        ([quota("0", "0")], Quota(hard=0, free=0)),
        ([quota("4", scopes=["NotTerminating"])], Quota()),  # a trial has a deadline
        ([quota("4", scopes=["Terminating", "NotBestEffort"])], Quota(hard=4, free=3)),
        ([quota("4", scopes=["BestEffort"])], Quota()),
        ([quota("4", **scoped("In", "high"))], Quota()),
        ([quota("4", **scoped("In", "high", "cepheid-trials"))], Quota(hard=4, free=3)),
        ([quota("4", **scoped("NotIn", "cepheid-trials"))], Quota()),
        ([quota("4", **scoped("Exists"))], Quota(hard=4, free=3)),
        ([quota("many"), {}, {"spec": 1}], Quota()),
        ([{"spec": {"hard": {"requests.cpu": "1"}}}], Quota()),
    ],
)
def test_of_quotas_the_strictest_that_is_about_trials_counts(
    quotas: list[Document], found: Quota
) -> None:
    assert quota_seen(quotas, GPU) == found


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
PARTS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": ANYTHING, "labels": ANYTHING})},
    optional=dict.fromkeys(("spec", "status"), ANYTHING),
)


@given(st.lists(PARTS | st.dictionaries(st.text(), ANYTHING), max_size=4))
def test_nodes_and_quotas_may_be_anything(raw: list[Document]) -> None:
    nodes = [*seen(raw), *seen(NODES)]
    found = candidates(TryOn(), as_read(mpi_job()), nodes, quota_seen(raw, GPU))
    assert len(found.placements) + len(found.left_out) >= 2
