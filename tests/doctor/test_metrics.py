"""What is wrong with what Prometheus has is found, and following the remedy cures it."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from cepheid.doctor.exporter import OURS, RESTART
from cepheid.doctor.finding import INSTALL, Level, Rule
from cepheid.doctor.rights import NEEDED, YOU, grants
from tests.cli.conftest import Run
from tests.cluster.progress import wait_for
from tests.doctor.conftest import STRANGER
from tests.doctor.patient import NODES, Patient
from tests.doctor.played import EXPORTER, MONITORING, OWN_NAME, PRESENT, SPACE, exporter
from tests.stage.service import as_service
from tests.unit.sources.servers import answer

pytestmark = pytest.mark.usefixtures("well_again")
cures = pytest.mark.cures
SET_ENV = f"kubectl -n {SPACE} set env daemonset/{EXPORTER}"
OLD_IMAGE = "nvcr.io/nvidia/k8s/dcgm-exporter:2.2.9-2.4.1-ubuntu18.04"
SCALE = f"kubectl -n {MONITORING} scale deployment/prometheus"
STRANGERS_NAME = f"system:serviceaccount:research:{STRANGER}"


def job(config: Any, name: str) -> Any:
    (found,) = (one for one in config["scrape_configs"] if one["job_name"] == name)
    return found


EXPORTER_CASES = {
    Rule.NO_PODS: (f"{SET_ENV} DCGM_EXPORTER_KUBERNETES-", "though research/train-"),
    Rule.HOSTNAME: (f"{SET_ENV} NODE_NAME-", f"Hostname is {OWN_NAME}, its pod's name"),
    Rule.NO_PROFILING: (
        f"{SET_ENV} DCGM_EXPORTER_COLLECTORS=/etc/dcgm-exporter/default-counters.csv",
        "no PROF metrics",
    ),
    Rule.NO_ENERGY: (
        f"{SET_ENV} DCGM_EXPORTER_COLLECTORS=/etc/mine/counters.csv",
        "no DCGM_FI_DEV_TOTAL_ENERGY",
    ),
    Rule.BLANKS: (
        f"kubectl -n {SPACE} set image daemonset/{EXPORTER} exporter={OLD_IMAGE}",
        "blank values, as 9.2e18, of DCGM_FI_DEV_MEM_COPY_UTIL (2)",
    ),
}


@pytest.mark.parametrize("rule", [pytest.param(rule, marks=cures(rule)) for rule in EXPORTER_CASES])
def test_an_exporter_that_is_told_the_wrong_thing_is_told_the_right_one(
    patient: Patient, cepheid: Run, rule: Rule
) -> None:
    breaking, words = EXPORTER_CASES[rule]
    patient.type(breaking)
    found = patient.finds(cepheid, rule, words)
    patient.type(found.command)


@cures(Rule.HOSTNAME)
def test_an_exporter_without_any_variable_is_told_its_node_too(
    patient: Patient, cepheid: Run
) -> None:
    """What it is told beside that stands in its arguments."""
    bare = exporter()
    (container,) = bare["spec"]["template"]["spec"]["containers"]
    del container["env"]
    container["args"] = ["-c", "1000"]
    patient.played.install_exporter(bare)
    try:
        found = patient.finds(cepheid, Rule.HOSTNAME, OWN_NAME, beside=[Rule.NO_PODS])
        patient.type(found.command)
        patient.finds(cepheid, Rule.NO_PODS, "no series names a pod")
        patient.found.discard(Rule.NO_PODS)
    finally:
        patient.played.install_exporter(exporter())


@cures(Rule.NO_NODE)
def test_a_gpu_that_no_label_leads_to_a_node_is_a_failure(patient: Patient, cepheid: Run) -> None:
    patient.type(f"{SET_ENV} NODE_NAME-")
    patient.reconfigure(lambda config: job(config, "dcgm-exporter")["relabel_configs"].pop())
    found = patient.finds(cepheid, Rule.NO_NODE, f"Hostname is {OWN_NAME}, its pod's name")
    patient.type(found.command)
    patient.is_well(cepheid)
    as_installed(patient)


def as_installed(patient: Patient) -> None:
    patient.type(f"{OURS} && {RESTART}")


@cures(Rule.HONOR_LABELS)
def test_a_scrape_job_without_honor_labels_is_replaced_by_ours(
    patient: Patient, cepheid: Run
) -> None:
    """As a ServiceMonitor makes it: Prometheus moves what the exporter says out of the way."""

    def trap(config: Any) -> None:
        theirs = job(config, "dcgm-exporter")
        theirs["honor_labels"] = False
        theirs["relabel_configs"] += [
            {"source_labels": [f"__meta_kubernetes_{source}"], "target_label": target}
            for source, target in (
                ("namespace", "namespace"),
                ("pod_name", "pod"),
                ("pod_container_name", "container"),
            )
        ]

    patient.reconfigure(trap)
    found = patient.finds(cepheid, Rule.HONOR_LABELS, "not the workload's (2 of 2)")
    patient.type(found.command)


@cures(Rule.NO_CADVISOR)
def test_a_prometheus_without_a_job_for_kubelets_gets_ours(patient: Patient, cepheid: Run) -> None:
    patient.reconfigure(lambda config: config["scrape_configs"].remove(job(config, "cadvisor")))
    found = patient.finds(cepheid, Rule.NO_CADVISOR, "no container_* series")
    patient.type(found.command)


@cures(Rule.NODE_IN_THE_DARK)
def test_a_kubelet_that_refuses_the_scrape_is_named(patient: Patient, cepheid: Run) -> None:
    """Its command asks the kubelet itself, and there is none here."""
    path = patient.stage.exporters.cadvisor_path(NODES[1])
    patient.stage.exporters.instead[path] = answer(403, b"Forbidden")
    try:
        patient.stage.prometheus.wipe()  # or five minutes go by: its samples have their own times
        patient.finds(cepheid, Rule.NODE_IN_THE_DARK, f"no cAdvisor series name {NODES[1]}")
    finally:
        del patient.stage.exporters.instead[path]


@cures(Rule.GPUS_IN_THE_DARK)
def test_a_node_without_an_exporter_is_named_until_one_runs_there(
    patient: Patient, cepheid: Run
) -> None:
    patient.type(f"kubectl label node {NODES[1]} {PRESENT}-")
    found = patient.finds(cepheid, Rule.GPUS_IN_THE_DARK, f"no series of the GPUs of {NODES[1]}")
    assert f"train-{NODES[1]}" in patient.type(found.command)  # it lists the pods there
    patient.type(f"kubectl label node {NODES[1]} {PRESENT}=true")


@cures(Rule.NO_GPUS, Rule.NO_GPUS_PERHAPS)
def test_gpus_without_an_exporter_and_nodes_without_a_device_plugin(
    patient: Patient, cepheid: Run
) -> None:
    patient.type(f"kubectl -n {SPACE} delete daemonset {EXPORTER}")
    patient.stage.prometheus.wipe()  # or an hour goes by, in which they are called old
    found = patient.finds(cepheid, Rule.NO_GPUS, "though gpu-a, gpu-b have some")
    patient.type(found.command)  # it lists the exporter's pods
    for node in NODES:
        patient.offer(node, 0)
    found = patient.finds(cepheid, Rule.NO_GPUS_PERHAPS, "no node that offers one is known")
    assert "gpu-a" in patient.type(found.command)  # it lists what nodes offer
    for node in NODES:
        patient.offer(node, 1)
    patient.played.install_exporter(exporter())


@cures(Rule.NO_PODS_PERHAPS)
def test_whether_a_pod_holds_a_gpu_is_not_known_to_who_may_not_list_pods(
    patient: Patient, cepheid: Run, stranger: Path
) -> None:
    allowed = [one for one in NEEDED[YOU] if (one.verb, one.resource) != ("list", "pods")]
    patient.type(grants(STRANGERS_NAME, allowed))
    patient.type(f"{SET_ENV} DCGM_EXPORTER_KUBERNETES-")
    try:
        found = patient.finds(
            cepheid,
            Rule.NO_PODS_PERHAPS,
            "whether one holds a GPU is not known",
            beside=[Rule.YOUR_RIGHTS],
            kubeconfig=stranger,
        )
        patient.type(found.command)
        patient.finds(cepheid, Rule.YOUR_RIGHTS, "may not list pods", kubeconfig=stranger)
        patient.found.discard(Rule.YOUR_RIGHTS)
    finally:
        patient.take_grants_back()


@cures(Rule.MEASURED_SELDOM)
def test_an_exporter_that_measures_seldom_measures_as_often_as_it_is_told(
    patient: Patient, cepheid: Run
) -> None:
    """Scraped every second all the while. What is known of a pace are ten minutes: begun anew."""
    short = ("--period", "6s")
    patient.type(f"{SET_ENV} DCGM_EXPORTER_INTERVAL=3000")
    patient.stage.prometheus.wipe()
    found = patient.finds(cepheid, Rule.MEASURED_SELDOM, "but measured only every 3 s", *short)
    assert "DCGM_EXPORTER_INTERVAL=2068" in found.command
    assert patient.troubles(cepheid, "--period", "10s") == []
    patient.type(found.command)
    patient.stage.prometheus.wipe()
    patient.is_well(cepheid, *short)
    patient.type(f"{SET_ENV} DCGM_EXPORTER_INTERVAL=1000")


@cures(Rule.SCRAPED_SELDOM)
def test_a_scrape_that_comes_seldom_comes_as_ours_does(patient: Patient, cepheid: Run) -> None:
    """Of cycles of 3 s here, which are 45 s where a scrape comes every 15."""
    patient.reconfigure(lambda config: config["global"].update(scrape_interval="30s"))
    found = patient.finds(
        cepheid, Rule.SCRAPED_SELDOM, "GPUs are scraped every 2 s: cycles of 5.8 s", "--period=3s"
    )
    patient.type(found.command)
    patient.is_well(cepheid, "--period=3s")


@cures(Rule.TOO_YOUNG)
def test_a_prometheus_that_was_just_started_is_waited_for(patient: Patient, cepheid: Run) -> None:
    """Its command is to look again, which is what `finds` and `is_well` do all the time."""
    patient.reconfigure(lambda config: config["global"].update(scrape_interval="75s"))
    found = patient.finds(cepheid, Rule.TOO_YOUNG, "not known yet")
    assert found.command == "cepheid doctor"
    patient.is_well(cepheid)
    as_installed(patient)


@cures(Rule.STALE)
def test_samples_that_grow_old_are_found_and_the_page_of_targets_says_why(
    patient: Patient, cepheid: Run
) -> None:
    prometheus, exporters = patient.stage.prometheus, patient.stage.exporters
    paths = [exporters.dcgm_path(node) for node in NODES]
    kept = {path: exporters.instead[path] for path in paths}
    exporters.instead |= dict.fromkeys(paths, answer(500, b"the driver is gone"))
    prometheus.forget()
    prometheus.backfill(260, until_seconds_ago=140)
    prometheus.start()
    found = patient.finds(cepheid, Rule.STALE, "the newest sample of dcgm-exporter is 2 min")
    assert "its page /targets says why" in found.remedy

    def why() -> bool:
        """Of its last scrape: one of a second before may not have ended in time."""
        with urllib.request.urlopen(f"{prometheus.url}/api/v1/targets") as page:  # noqa: S310
            return "server returned HTTP status 500" in page.read().decode()

    wait_for("the page to say why", why)
    exporters.instead |= kept


@cures(Rule.PROMETHEUS_AWAY)
def test_a_prometheus_that_is_away_is_a_failure(patient: Patient, cepheid: Run) -> None:
    patient.type(f"{SCALE} --replicas=0")
    found = patient.finds(cepheid, Rule.PROMETHEUS_AWAY, "does not answer")
    patient.type(found.command)  # it lists pods: there is none
    patient.type(f"{SCALE} --replicas=1")


@cures(Rule.PROXY_FORBIDDEN)
def test_who_may_not_ask_through_the_api_server_may_by_the_grant(
    patient: Patient, cepheid: Run, service: str, stranger: Path
) -> None:
    patient.type(grants(STRANGERS_NAME, NEEDED[YOU]))
    inside = ("--prometheus", service)
    try:
        found = patient.finds(
            cepheid,
            Rule.PROXY_FORBIDDEN,
            "you may not ask this service through the API server",
            *inside,
            beside=[Rule.YOUR_RIGHTS],
            kubeconfig=stranger,
        )
        patient.type(found.command)
        patient.is_well(cepheid, *inside, kubeconfig=stranger)
    finally:
        patient.take_grants_back()


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
    with as_service(patient.stage.api, patient.stage.prometheus.url, NODES[0]) as url:
        yield url


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
    assert (found.level, found.rule) == (Level.FAIL, Rule.PROMETHEUS_AWAY)
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
