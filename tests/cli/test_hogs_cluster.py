"""`cepheid hogs` and `cepheid scale` of a real API server, with its Nodes."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from cepheid.jobprofile import JobProfile, to_document
from cepheid.jobs.names import profile_name
from tests.cli.conftest import Run
from tests.stage.api_server import ApiServer
from tests.unit.reports.contended import NODES, idle, ran, waits

HOURS_AGO = {"holds": 3, "waits": 2}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """lin holds eight idle A100s in one namespace, ben waits for four in another."""
    with ApiServer(tmp_path_factory.mktemp("api")) as api:
        api.install()
        api.admin.apply(*({"kind": "Namespace", **_named(name)} for name in ("lab", "other")))
        for node in NODES:
            labels = (
                {"nvidia.com/gpu.product": node.gpu_model.replace(" ", "-")}
                if node.gpu_model
                else {}
            )
            api.admin.apply({"kind": "Node", **_named(node.name, labels=labels)})
            has = {
                "cpu": f"{node.cpu_cores:.0f}",
                "memory": f"{node.memory_bytes:.0f}",
                **({"nvidia.com/gpu": str(node.gpu_count)} if node.gpu_count else {}),
            }
            status = json.dumps({"status": {"capacity": has, "allocatable": has}})
            api.admin("patch", "node", node.name, "--subresource=status", f"--patch={status}")
        now = datetime.now(UTC)
        began, made = (now - timedelta(hours=hours) for hours in HOURS_AGO.values())
        holder = replace(idle(ran("lin", 8, None, gpus=8)), created=began, started=began)
        waiter = replace(waits("ben", 8, gpus=4, namespace="other"), created=made)
        api.admin.apply(_object(holder), _object(waiter))
        yield api


def _named(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "metadata": {"name": name, **more}}


def _object(profile: JobProfile) -> dict[str, Any]:
    name = profile_name(profile.job.name, profile.job.uid)
    return {
        "apiVersion": "ai.centaurus.io/v1alpha1",
        "kind": "JobProfile",
        "metadata": {"name": name, "namespace": profile.job.namespace},
        **to_document(profile),
    }


def test_a_clusters_nodes_tell_what_there_is_and_where_to_move(
    cepheid: Run, server: ApiServer
) -> None:
    kubeconfig = str(server.admin.kubeconfig)
    result = cepheid("hogs", "--all-namespaces", "-o", "json", KUBECONFIG=kubeconfig)
    assert result.stderr == "1 hog.\n"
    (row,) = json.loads(result.stdout)
    assert (row["who"], row["kind"], row["move_to"]) == ("lin", "idle GPUs", ["T4"])
    assert row["waited_seconds"] == pytest.approx(3600 * HOURS_AGO["waits"], abs=120)


def test_of_one_namespace_it_says_that_others_are_not_seen(cepheid: Run, server: ApiServer) -> None:
    kubeconfig = str(server.admin.kubeconfig)
    result = cepheid("hogs", "--namespace", "lab", KUBECONFIG=kubeconfig)
    assert result.stdout == ""
    note, summary = result.stderr.splitlines()
    assert "--all-namespaces" in note
    assert summary.startswith("0 hogs. 1 heavy user was left out")


def test_without_the_right_to_list_nodes_the_jobs_gpus_tell(
    cepheid: Run, server: ApiServer, tmp_path: Any
) -> None:
    server.admin.apply(
        {"kind": "ServiceAccount", **_named("ann", namespace="lab")},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "ann-views"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cepheid-jobprofiles-view",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "ann", "namespace": "lab"}],
        },
    )
    config = yaml.safe_load(server.admin.kubeconfig.read_text())
    token = server.admin.within("lab")("create", "token", "ann").strip()
    config["users"] = [{"name": one["name"], "user": {"token": token}} for one in config["users"]]
    path = tmp_path / "ann.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    result = cepheid("hogs", "--all-namespaces", "-o", "json", KUBECONFIG=str(path))
    (row,) = json.loads(result.stdout)
    assert (row["who"], row["move_to"]) == ("lin", [])
    assert result.stderr.startswith("note: you may not list Nodes")


def test_scale_answers_for_a_clusters_job(cepheid: Run, server: ApiServer) -> None:
    kubeconfig = str(server.admin.kubeconfig)
    result = cepheid("scale", "lin-8", "--namespace", "lab", KUBECONFIG=kubeconfig)
    assert result.returncode == 0
    assert result.stdout.startswith("It is not known whether more GPUs would help lin-8.")
