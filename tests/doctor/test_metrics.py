"""What is wrong with what Prometheus has is found, and following the remedy cures it."""

import http.server
import json
import re
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from cepheid.doctor.finding import INSTALL, Level
from tests.cli.conftest import Run
from tests.doctor.patient import NODES, Patient, words_of
from tests.simgpu.faults import HEALTHY, OLD_INT64, GpuFaults

HOSTNAME = re.compile(r'Hostname="[^"]*"')
HOLDER = re.compile(r',container="([^"]*)",namespace="([^"]*)",pod="([^"]*)"')
EXPORTER = "nvidia-dcgm-exporter-x7k2p"


@pytest.fixture(autouse=True)
def _fresh(patient: Patient) -> None:
    for name in NODES:
        patient.annotate(name)


def moved(text: str) -> str:
    """As a scrape without honor_labels leaves it."""
    own = f',container="exporter",namespace="gpus",pod="{EXPORTER}"'
    there = r',exported_container="\1",exported_namespace="\2",exported_pod="\3"'
    return HOLDER.sub(own + there, text)


def without(pattern: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        return "".join(line for line in text.splitlines(True) if not re.search(pattern, line))

    return change


PAGES: dict[str, tuple[Callable[[str], str], Level, str]] = {
    "honor_labels": (moved, Level.FAIL, "not the workload's (2 of 2)"),
    "no pods": (lambda text: HOLDER.sub("", text), Level.FAIL, "though research/train-"),
    "Hostname": (
        lambda text: HOSTNAME.sub(f'Hostname="{EXPORTER}"', text),
        Level.WARN,
        f"Hostname is {EXPORTER}, its pod's name",
    ),
    "no PROF": (without("DCGM_FI_PROF_"), Level.WARN, "no PROF metrics"),
    "no energy": (without("TOTAL_ENERGY"), Level.WARN, "no DCGM_FI_DEV_TOTAL_ENERGY"),
}


@pytest.mark.parametrize("case", PAGES)
def test_what_the_exporter_says_wrongly_is_found_until_it_says_it_rightly(
    patient: Patient, cepheid: Run, case: str
) -> None:
    change, level, words = PAGES[case]
    patient.is_well(cepheid)
    patient.exporter_says(change)
    try:
        patient.stage.prometheus.wipe()  # what was scraped before says it rightly
        found = patient.becomes(cepheid, words)
        assert [one.level for one in found] == [level], words_of(found)
        assert found[0].command
    finally:
        patient.exporter_recovers()
        patient.stage.prometheus.wipe()
    patient.is_well(cepheid)


def test_a_gpu_that_no_label_leads_to_a_node_is_a_failure(patient: Patient, cepheid: Run) -> None:
    with scraped(patient, lambda job: job.pop("relabel_configs")):
        patient.exporter_says(lambda text: HOSTNAME.sub(f'Hostname="{EXPORTER}"', text))
        patient.stage.prometheus.wipe()
        found = patient.becomes(cepheid, "name no node of this cluster")
        patient.exporter_recovers()  # NODE_NAME is set
        patient.stage.prometheus.wipe()
        patient.is_well(cepheid)
    assert Level.FAIL in {one.level for one in found}
    patient.is_well(cepheid)


@contextmanager
def scraped(patient: Patient, change: Callable[[dict[str, object]], object]) -> Iterator[None]:
    """With another job for the GPUs than that of our prometheus.yaml, from the next start on."""
    prometheus = patient.stage.prometheus
    made = prometheus.start

    def start() -> None:
        if not prometheus.running:
            made()
            prometheus.kill()
            path = prometheus.folder / "prometheus.yml"
            config = yaml.safe_load(path.read_text())
            for job in config["scrape_configs"]:
                if job["job_name"] == "dcgm-exporter":
                    change(job)
            path.write_text(yaml.safe_dump(config))
            super(type(prometheus), prometheus).start()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prometheus, "start", start)
        yield
    prometheus.wipe()


def test_honor_labels_left_out_of_the_scrape_job_is_found(patient: Patient, cepheid: Run) -> None:
    """By Prometheus itself, which moves what the exporter says out of its own labels' way."""

    def trap(job: dict[str, object]) -> None:
        job["honor_labels"] = False
        (static,) = [job["static_configs"]]
        assert isinstance(static, list)
        for one in static:
            one["labels"] |= {"pod": EXPORTER, "namespace": "gpus", "container": "exporter"}

    with scraped(patient, trap):
        patient.stage.prometheus.wipe()
        found = patient.becomes(cepheid, "not the workload's")
        assert Level.FAIL in {one.level for one in found}
    patient.is_well(cepheid)


def test_blank_values_are_counted_until_the_exporter_leaves_them_out(
    patient: Patient, cepheid: Run
) -> None:
    gpu = patient.nodes[0].gpus[0]
    gpu.faults = GpuFaults(blank={"DCGM_FI_DEV_FB_USED": OLD_INT64})
    try:
        (found,) = patient.becomes(cepheid, "blank values, as 9.2e18, of DCGM_FI_DEV_FB_USED (1)")
        assert found.level is Level.WARN
    finally:
        gpu.faults = HEALTHY
    patient.is_well(cepheid)


def test_an_exporter_that_measures_seldom_is_told_from_a_scrape_that_is(
    patient: Patient, cepheid: Run
) -> None:
    """Scraped every second all the while."""
    short = ("--period", "6s")
    assert patient.troubles(cepheid, *short) == []
    patient.stage.world.gpus_every_seconds = 3.0
    try:
        patient.stage.prometheus.wipe()
        found = patient.becomes(cepheid, "but measured only every 3 s", *short)
        assert "DCGM_EXPORTER_INTERVAL=2068" in found[0].command
        assert patient.troubles(cepheid, "--period", "10s") == []
    finally:
        patient.stage.world.gpus_every_seconds = 1.0
        patient.stage.prometheus.wipe()
    patient.is_well(cepheid)
    (slow,) = patient.troubles(cepheid, "--period", "2s")
    assert "GPUs are scraped every 1 s: cycles of 2.9 s to" in slow.words


def test_a_node_whose_exporters_are_not_scraped_is_named(patient: Patient, cepheid: Run) -> None:
    world = patient.stage.world
    dark = world.nodes.pop()
    try:
        patient.stage.prometheus.wipe()
        found = patient.becomes(cepheid, f"no series of the GPUs of {dark.name}", count=2)
        assert [one.level for one in found] == [Level.FAIL, Level.FAIL], words_of(found)
        assert any(f"no cAdvisor series name {dark.name}" in one.words for one in found)
    finally:
        world.nodes.append(dark)
        patient.stage.prometheus.wipe()
    patient.is_well(cepheid)


def test_without_any_series_each_exporter_is_missed(patient: Patient, cepheid: Run) -> None:
    nodes = list(patient.stage.world.nodes)
    patient.stage.world.nodes.clear()
    try:
        patient.stage.prometheus.wipe()
        found = patient.troubles(cepheid)
        assert [one.level for one in found] == [Level.FAIL, Level.FAIL], words_of(found)
        assert "no container_* series" in found[0].words
        assert "no series of any GPU, though gpu-a, gpu-b have some" in found[1].words
    finally:
        patient.stage.world.nodes.extend(nodes)
        patient.stage.prometheus.wipe()
    patient.is_well(cepheid)


def test_a_prometheus_that_is_away_is_a_failure(patient: Patient, cepheid: Run) -> None:
    patient.stage.prometheus.stop()
    try:
        (found,) = patient.troubles(cepheid)
        assert found.level is Level.FAIL
        assert "does not answer" in found.words
    finally:
        patient.stage.prometheus.start()
    patient.is_well(cepheid)


def test_its_address_is_the_agents_where_none_is_given(patient: Patient, cepheid: Run) -> None:
    url = patient.stage.prometheus.url
    patient.type(f"kubectl -n cepheid set env daemonset/cepheid-agent CEPHEID_PROMETHEUS_URL={url}")
    try:
        config = str(patient.stage.api.admin.kubeconfig)
        said = cepheid("doctor", KUBECONFIG=config).stdout.replace("\n        ", " ")
        assert f"answers at {url}, as the agent says" in said
    finally:
        patient.type(INSTALL)


@pytest.fixture
def service(patient: Patient) -> Iterator[str]:
    """Prometheus as the service of a namespace, behind which an address of this machine stands."""
    upstream = patient.stage.prometheus.url
    address = _own_address()

    class Forward(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                with urllib.request.urlopen(upstream + self.path, timeout=20) as answer:  # noqa: S310
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as problem:
                status, body = problem.code, problem.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing: the test's output is its own."""

    server = http.server.ThreadingHTTPServer((address, 0), Forward)
    port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "watching"}}
    named = {"name": "prometheus", "namespace": "watching"}
    pod = {"kind": "Pod", "name": "prometheus-0", "namespace": "watching"}
    ports = [{"name": "web", "port": port, "protocol": "TCP"}]
    patient.stage.api.admin.apply(
        space,
        {"apiVersion": "v1", "kind": "Service", "metadata": named, "spec": {"ports": ports}},
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": named,
            "subsets": [{"addresses": [{"ip": address, "targetRef": pod}], "ports": ports}],
        },
    )
    # The API server leads to the address of a pod, and to no other.
    patient.stage.api.pod("watching", "prometheus-0", NODES[0])
    status = json.dumps({"status": {"podIP": address, "podIPs": [{"ip": address}]}})
    patient.stage.api.admin.within("watching")(
        *("patch", "pod", "prometheus-0", "--subresource=status", "--type=merge"),
        f"--patch={status}",
    )
    yield f"http://prometheus.watching.svc:{port}"
    server.shutdown()
    server.server_close()


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))  # nothing is sent: only the way out is chosen
        return str(one.getsockname()[0])


def test_an_address_inside_the_cluster_is_reached_through_the_api_server(
    patient: Patient, cepheid: Run, service: str
) -> None:
    said = patient.ask(cepheid, "--prometheus", service)
    port = urlsplit(service).port
    text = said.stdout.replace("\n        ", " ")
    assert f"through the API server (watching/prometheus:{port}), as --prometheus says" in text
    assert "0 fail" in said.stderr, said.stdout


def test_a_service_that_does_not_exist_is_said_by_the_api_server(
    patient: Patient, cepheid: Run
) -> None:
    wrong = "http://prometheus.nowhere.svc:9090"
    (found,) = patient.troubles(cepheid, "--prometheus", wrong)
    assert found.level is Level.FAIL
    assert "the API server answers 404" in found.words
    assert found.command == "kubectl -n nowhere get pods,endpoints"


def test_its_password_is_never_shown(patient: Patient, cepheid: Run, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("s3cret-of-prometheus")
    config = str(patient.stage.api.admin.kubeconfig)
    given = ("doctor", "--prometheus", patient.stage.prometheus.url)
    environment = {"KUBECONFIG": config, "CEPHEID_PROMETHEUS_TOKEN_FILE": str(secret)}
    said = cepheid(*given, **environment)
    assert "s3cret" not in said.stdout + said.stderr
    gone = cepheid(*given, **environment | {"CEPHEID_PROMETHEUS_TOKEN_FILE": "/nowhere"})
    assert "bearer token file /nowhere cannot be read" in gone.stdout.replace("\n        ", " ")
