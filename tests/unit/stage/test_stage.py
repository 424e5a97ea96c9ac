"""Real servers and a real agent: that they do together what each of them promises."""

import base64
import socket
import ssl
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from cepheid.annotations.codec import decode_node, decode_pod
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import ClusterError, wait_for
from tests.stage.exporters import page_of
from tests.stage.levels import Square
from tests.stage.processes import Daemon, StageError
from tests.stage.surroundings import Stage, surroundings
from tests.unit.sources.servers import answer

PAST_SECONDS = 600
"""A job type takes five minutes; here they have passed already."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with surroundings(tmp_path_factory.mktemp("stage")) as made:
        node = made.add_node("gpu-a", gpus=2)
        train, _ = made.add_pods(node, "team", ["train", "web"])
        node.gpus[0].hold(train, Square(period_seconds=20), memory_mib=8192, since=0)
        made.prometheus.backfill(PAST_SECONDS)
        made.prometheus.start()
        yield made


def test_an_agent_says_what_the_world_does_and_stops_when_told(stage: Stage) -> None:
    def said() -> bool:
        facts = decode_node(stage.api.annotations("node", "gpu-a")).facts
        return [
            (gpu.index, gpu.mem_used_gb, gpu.pods, str(gpu.job_type)) for gpu in facts.gpus
        ] == [(0, 8, 1, "training"), (1, 0, 0, "empty")]

    def said_of_pods() -> bool:
        train, web = (
            decode_pod(stage.api.annotations("pod", name, "team")).facts
            for name in ("train", "web")
        )
        return [gpu.mem_mb for gpu in train.gpus] == [8192] and web.cpu_mem_mb == 256

    with stage.agent("gpu-a", pass_seconds=1, write_seconds=0) as agent:
        wait_for("what the GPUs do", said)
        wait_for("what the pods use", said_of_pods)
        wait_for("/readyz", lambda: agent.get("/readyz")[0] == 200)
        assert agent.metrics()['cepheid_agent_writes_total{kind="Node",why="first"}'] == 1
        usage = agent.usage()
        assert 20e6 < usage.rss_bytes <= usage.peak_rss_bytes < 1e9
        assert usage.cpu_seconds > 0
        assert agent.stop() == 0
    assert agent.troubles() == []
    assert agent.logs()[-1]["message"] == "stopped"


def test_the_past_and_what_is_scraped_are_the_same_series(stage: Stage) -> None:
    wait_for("a scrape", lambda: stage.prometheus.query("min(up) == 1"))
    for metric, series in (("DCGM_FI_DEV_FB_USED", 2), ("container_processes", 4)):
        found = stage.prometheus.samples(f"{metric}[{PAST_SECONDS + 300}s]")
        assert len(found) == series
        for _, samples in found:
            times = [when for when, _ in samples]
            assert times[-1] - times[0] > PAST_SECONDS - 60
            assert max(b - a for a, b in pairwise(times)) < 30


def test_the_agents_token_is_bound_to_its_node(stage: Stage) -> None:
    stage.api.node("other")
    kubectl = Kubectl(stage.api.admin.program, stage.api.agent_kubeconfig("gpu-a"))
    kubectl("annotate", "node", "gpu-a", "ai.centaurus.io/try=1", "--dry-run=server")
    with pytest.raises(ClusterError, match="ValidatingAdmissionPolicy 'cepheid-agent-nodes'"):
        kubectl("annotate", "node", "other", "ai.centaurus.io/try=1", "--dry-run=server")


def test_an_api_server_that_was_killed_comes_back_where_it_was(stage: Stage) -> None:
    uid = stage.api.admin.get("node", "gpu-a")["metadata"]["uid"]
    stage.api.kill()
    with pytest.raises(ClusterError, match="refused"):
        stage.api.admin("get", "node", "gpu-a")
    stage.api.start()
    assert stage.api.admin.get("node", "gpu-a")["metadata"]["uid"] == uid


def test_after_a_rotation_only_who_knows_the_new_authority_connects(stage: Stage) -> None:
    def trusts(kubeconfig: Path) -> bool:
        cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        with socket.create_connection(("127.0.0.1", stage.api.port)) as connection:
            try:
                context.wrap_socket(connection, server_hostname="127.0.0.1").close()
            except ssl.SSLCertVerificationError:
                return False
        return True

    kubeconfig = stage.api.agent_kubeconfig("gpu-a")
    assert trusts(kubeconfig)
    stage.api.rotate_certificates()
    assert not trusts(kubeconfig)
    assert stage.api.agent_kubeconfig("gpu-a") == kubeconfig
    assert trusts(kubeconfig)
    assert stage.api.annotations("node", "gpu-a") is not None


def test_a_page_can_be_added_to_and_replaced(stage: Stage) -> None:
    path = stage.exporters.dcgm_path("gpu-a")
    stage.exporters.more[path] = 'added_by_test{pod="\\\\"} 7\n'
    wait_for("what was added", lambda: stage.prometheus.query('added_by_test{pod="\\\\"} == 7'))
    del stage.exporters.more[path]
    stage.exporters.instead[path] = page_of('instead_by_test{x="\\n"} 8\n')
    wait_for("what is there instead", lambda: stage.prometheus.query("instead_by_test == 8"))
    stage.exporters.instead[path] = answer(500, b"")
    wait_for("a failed scrape", lambda: stage.prometheus.query('up{job="dcgm-exporter"} == 0'))
    del stage.exporters.instead[path]
    wait_for("a good scrape", lambda: stage.prometheus.query('up{job="dcgm-exporter"} == 1'))


def test_a_prometheus_that_was_wiped_knows_nothing_of_before(stage: Stage) -> None:
    def first() -> float:
        found = stage.prometheus.samples(f"DCGM_FI_DEV_FB_USED[{2 * PAST_SECONDS}s]")
        return min((samples[0][0] for _, samples in found), default=0.0)

    before = wait_for("samples", first)
    stage.prometheus.restart()
    assert wait_for("samples after a restart", first) == before
    stage.prometheus.wipe()
    assert wait_for("samples after it was wiped", first) > before + PAST_SECONDS / 2


def test_a_daemon_that_does_not_start_says_why_and_is_gone(tmp_path: Path) -> None:
    says = ["python3", "-c", "import sys; sys.exit('no such luck')"]
    daemon = Daemon(says, tmp_path / "log", lambda: False)
    with pytest.raises(StageError, match="no such luck"):
        daemon.start()
    assert not daemon.running
    with pytest.raises(StageError, match="does not run"):
        daemon.stop()


def test_a_frozen_daemon_is_ended_all_the_same(tmp_path: Path) -> None:
    with Daemon(["sleep", "1000"], tmp_path / "log", lambda: True) as daemon:
        daemon.freeze()
        assert daemon.running
    assert not daemon.running
