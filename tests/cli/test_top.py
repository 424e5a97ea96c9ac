"""`cepheid top` on a real API server and a real Prometheus."""

import json
import os
import pty
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from cepheid.annotations import standing
from cepheid.annotations.codec import encode_node, encode_pod
from cepheid.annotations.facts import (
    ForecastFacts,
    GpuFacts,
    NodeFacts,
    PodFacts,
    PodGpuFacts,
    StaticFacts,
)
from tests.cli.conftest import SCRIPTS, Ran, Run
from tests.cluster.kubectl import Kubectl
from tests.stage.api_server import ApiServer
from tests.stage.service import as_service
from tests.unit.sources import servers

NODES = [f"gpu-{number}" for number in range(5)]
STALE = "gpu-4"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Without anything of ours."""
    with ApiServer(tmp_path_factory.mktemp("api")) as api:
        api.node("cpu-only")
        yield api


@pytest.fixture(scope="module")
def server(bare: ApiServer) -> ApiServer:
    for number, name in enumerate(NODES):
        bare.node(name)
        _annotate(bare.admin, "node", name, _node(number, stale=name == STALE))
    bare.pods("research", ["bert-0", "done"], "gpu-0")
    research = bare.admin.within("research")
    _annotate(research, "pod", "bert-0", _pod(91))
    _annotate(research, "pod", "done", _pod(5))
    _end(bare, "done")
    return bare


def _node(number: int, *, stale: bool) -> dict[str, str]:
    until = datetime.now(UTC) + timedelta(minutes=-15 if stale else 600)
    forecast = ForecastFacts(600, util_mean_percent=80 - number)
    gpus = (
        GpuFacts(0, mem_used_gb=60 + number, mem_free_gb=20 - number, pods=1, forecast=forecast),
        GpuFacts(1, mem_used_gb=0.5, mem_free_gb=79.5, pods=0),
    )
    static = StaticFacts(2, "NVIDIA A100-SXM4-80GB", 80)
    return encode_node(
        NodeFacts(static=static, gpus=gpus, free_gpu_score=10 * number, valid_until=until)
    )


def _pod(util: float) -> dict[str, str]:
    gpu = PodGpuFacts(0, util_percent=util, mem_mb=60 * 1024)
    return encode_pod(PodFacts(node="gpu-0", gpus=(gpu,)))


def _annotate(admin: Kubectl, kind: str, name: str, annotations: dict[str, str]) -> None:
    patch = yaml.safe_dump({"metadata": {"annotations": annotations}})
    admin("patch", kind, name, "--type=merge", f"--patch={patch}")


def _end(api: ApiServer, pod: str) -> None:
    patch = yaml.safe_dump({"status": {"phase": "Succeeded"}})
    within = api.admin.within("research")
    within("patch", "pod", pod, "--subresource=status", "--type=merge", f"--patch={patch}")


@pytest.fixture
def top(cepheid: Run, server: ApiServer) -> Run:
    def command(*arguments: str, **environment: str) -> Ran:
        told = {"KUBECONFIG": str(server.admin.kubeconfig), **environment}
        return cepheid("top", *arguments, **told)

    return command


def rows(ran: Ran) -> list[dict[str, Any]]:
    assert ran.returncode == 0, ran.stderr
    found: list[dict[str, Any]] = json.loads(ran.stdout)
    return found


def test_where_nobody_annotates_it_is_said_with_a_hint(cepheid: Run, bare: ApiServer) -> None:
    """The first of all: then others annotate."""
    shown = cepheid("top", KUBECONFIG=str(bare.admin.kubeconfig))
    assert (shown.returncode, shown.stdout) == (0, "")
    assert shown.stderr.startswith("no node says anything of GPUs\nhint: ")


def test_nodes_with_gpus_are_listed_and_a_stale_one_says_only_that(top: Run) -> None:
    shown = top("--once")
    title, *lines = shown.stdout.splitlines()
    assert (shown.returncode, shown.stderr) == (0, "")
    assert title.split()[:3] == ["NODE", "MODEL", "GPUS"]
    assert [line.split()[0] for line in lines] == NODES
    assert lines[0].split()[1:4] == ["A100-80", "1/2", "91"]
    assert "stale for 15 min" in lines[4]
    assert "60.5/160" in lines[0]
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_gpus_and_jobs_are_listed_and_what_has_ended_holds_nothing(top: Run) -> None:
    first, second, *_ = rows(top("gpus", "-o", "json"))
    assert (first["node"], first["gpu"], first["jobs"]) == ("gpu-0", "0", "research/bert-0")
    assert (first["util_percent"], second["util_percent"]) == (91, None)
    (job,) = rows(top("jobs", "-o", "json"))
    assert (job["job"], job["gpus"], job["gpu_mem_gb"]) == ("bert-0", 1, 60)


def test_rows_are_sorted_and_found(top: Run) -> None:
    by_score = rows(top("--sort", "free", "-o", "json"))
    assert [row["node"] for row in by_score] == ["gpu-3", "gpu-2", "gpu-1", "gpu-0", STALE]
    assert [row["node"] for row in rows(top("--find", "STALE", "-o", "json"))] == [STALE]
    nothing = top("--find", "h100")
    assert (nothing.stdout, nothing.stderr) == ("", "nothing fits\n")


def test_it_is_read_page_by_page(top: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "PAGE", 2)
    assert len(rows(top("-o", "json"))) == len(NODES)


@pytest.fixture
def measured(tmp_path: Path) -> Iterator[str]:
    now = time.time()
    lines = [
        f'gpu:utilisation:percent{{node="gpu-0",gpu="0",UUID="u"}} {value} {now - ago:.3f}'
        for ago, value in ((400, 20), (380, 20), (1, 70))
    ]
    lines += [f'gpu:power_watts:mean2m{{node="gpu-0",gpu="0"}} 321 {now - 1:.3f}', "# EOF", ""]
    with servers.prometheus(servers.load(tmp_path / "data", "\n".join(lines))) as url:
        yield url


def test_prometheus_knows_load_course_and_power(top: Run, measured: str) -> None:
    first, second, *_ = rows(top("gpus", "-o", "json", "--prometheus", measured))
    assert (first["util_percent"], first["power_watts"]) == (70, 321)
    assert len(first["course"]) == 12
    assert {20, 70} <= set(first["course"])
    assert None in first["course"]
    assert second["power_watts"] is None
    shown = top("gpus", "--once", CEPHEID_PROMETHEUS_URL=measured, COLUMNS="120").stdout
    assert "321 W" in shown
    assert "▆" in shown


def test_a_prometheus_inside_the_cluster_is_asked_through_the_api_server(
    top: Run, cepheid: Run, server: ApiServer, measured: str, tmp_path: Path
) -> None:
    with as_service(server, measured, "gpu-0") as inside:
        first, *_ = rows(top("gpus", "-o", "json", "--prometheus", inside))
        config = _viewer(server, tmp_path)
        refused = cepheid("top", "--prometheus", inside, KUBECONFIG=config)
    assert (first["util_percent"], first["power_watts"]) == (70, 321)
    assert refused.returncode == 0
    assert "without Prometheus: you may not ask this service" in refused.stderr


def test_without_prometheus_the_rest_is_shown_and_it_is_said(top: Run, tmp_path: Path) -> None:
    away = top("--prometheus", "http://127.0.0.1:9")
    assert (away.returncode, len(away.stdout.splitlines())) == (0, 1 + len(NODES))
    assert "note: without Prometheus: " in away.stderr
    with servers.prometheus(tmp_path / "empty") as url:
        assert "has it the rules" in top("--prometheus", url).stderr


def test_who_may_list_nodes_alone_sees_nodes(
    cepheid: Run, server: ApiServer, tmp_path: Path
) -> None:
    config = _viewer(server, tmp_path)
    shown = cepheid("top", "-o", "json", KUBECONFIG=config)
    assert len(rows(shown)) == len(NODES)
    assert "you may not list the pods of all namespaces" in shown.stderr
    assert "nor those of your own" in shown.stderr
    refused = cepheid("top", "-n", "research", KUBECONFIG=config)
    assert refused.returncode == 1
    assert "403" in refused.stderr


def _viewer(server: ApiServer, folder: Path) -> str:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "lists-nodes"}}
    rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
    account = {"kind": "ServiceAccount", "name": "ann", "namespace": "research"}
    to = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "lists-nodes"}
    server.admin.apply(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "ann", "namespace": "research"},
        },
        role | {"kind": "ClusterRole", "rules": [rule]},
        role | {"kind": "ClusterRoleBinding", "roleRef": to, "subjects": [account]},
    )
    token = server.admin.within("research")("create", "token", "ann").strip()
    config = yaml.safe_load(server.admin.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    path = folder / "ann.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_in_a_terminal_it_goes_on_until_it_is_interrupted(server: ApiServer) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        told = {**os.environ, "KUBECONFIG": str(server.admin.kubeconfig), "TERM": "xterm"}
        os.execve(SCRIPTS / "cepheid", ["cepheid", "top", "--every", "1"], told)  # noqa: S606
    shown = b""
    while shown.count(b"5 nodes with GPUs (1 stale), 4 of 10 GPUs held") < 2:
        shown += os.read(terminal, 65536)
    os.kill(pid, signal.SIGINT)
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert shown.startswith(b"\x1b[?1049h")
    assert shown.rstrip().endswith(b"\x1b[?1049l")
    assert b"Traceback" not in shown
