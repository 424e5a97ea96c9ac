"""What is wrong in the cluster is found, and what the finding says to type cures it."""

import base64
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from cepheid.annotations.api import ApiServer as Server
from cepheid.doctor.clocks import findings as of_clocks
from cepheid.doctor.finding import Finding, Level
from cepheid.doctor.gathering import gather
from cepheid.history.in_cluster import connect_to
from tests.cli.conftest import Run
from tests.cluster.progress import ClusterError, wait_for
from tests.doctor.patient import NODES, Patient, words_of
from tests.unit.manifests.files import AGENT, INSTALL, OPERATOR, only

NAME = "ann"


@pytest.fixture(autouse=True)
def _well_again(patient: Patient, cepheid: Run) -> Iterator[None]:
    """Before and after each test nothing is wrong: it cured what it broke."""
    patient.annotate(NODES[0])
    patient.annotate(NODES[1])
    yield
    patient.is_well(cepheid)


def only_trouble(patient: Patient, cepheid: Run, words: str, level: Level) -> Finding:
    """The API server takes a moment until a change of rights or policies holds."""
    found = patient.becomes(cepheid, words)
    assert [one.level for one in found] == [level], words_of(found)
    return found[0]


def test_where_all_is_well_every_line_says_so(patient: Patient, cepheid: Run) -> None:
    patient.is_well(cepheid)
    said = patient.ask(cepheid, "--fail-on", "warn")
    assert said.returncode == 0
    assert {line[:8] for line in said.stdout.splitlines()} == {"  ok    ", " " * 8}
    assert "agent 0.1.0 on 2 of 2 nodes" in said.stdout
    assert "cepheid-operator may do what it must" in said.stdout
    assert "0 warn, 0 fail" in said.stderr
    assert all(len(line) <= 80 for line in said.stdout.splitlines())


@pytest.mark.parametrize("thing", [AGENT, OPERATOR], ids=["agent", "operator"])
def test_a_workload_that_is_not_installed_is_by_the_command(
    patient: Patient, cepheid: Run, thing: dict[str, Any]
) -> None:
    name = thing["metadata"]["name"]
    patient.stage.api.admin.within("cepheid")("delete", thing["kind"], name)
    found = only_trouble(patient, cepheid, "is not installed", Level.FAIL)
    assert patient.ask(cepheid, "--fail-on", "fail").returncode == 1
    patient.type(found.command)
    patient.run_agents()
    patient.run_operator()


def test_agents_that_are_not_ready_are_named_with_the_kubelets_reason(
    patient: Patient, cepheid: Run
) -> None:
    patient.run_agents(ready=1, trouble="ImagePullBackOff")
    found = only_trouble(patient, cepheid, "on 1 of 2 nodes: gpu-b (ImagePull", Level.FAIL)
    patient.type(found.command)  # it describes that pod
    patient.run_agents()


def test_an_operator_that_is_scaled_to_none_is_scaled_again(patient: Patient, cepheid: Run) -> None:
    patient.type("kubectl -n cepheid scale deployment/cepheid-operator --replicas=0")
    patient.run_operator(0)
    found = only_trouble(patient, cepheid, "is scaled to 0", Level.FAIL)
    patient.type(found.command)
    patient.run_operator()


def test_one_of_two_operators_is_a_warning(patient: Patient, cepheid: Run) -> None:
    patient.run_operator(1)
    only_trouble(patient, cepheid, "1 of 2 instances ready", Level.WARN)
    assert patient.ask(cepheid, "--fail-on", "fail").returncode == 0
    assert patient.ask(cepheid, "--fail-on", "warn").returncode == 1
    patient.run_operator()


@pytest.mark.parametrize("tag", ["0.0.9", "latest"])
def test_another_version_is_upgraded_by_the_command(
    patient: Patient, cepheid: Run, tag: str
) -> None:
    image = f"agent=localhost/cepheid/agent:{tag}"
    patient.type(f"kubectl -n cepheid set image daemonset/cepheid-agent {image}")
    found = only_trouble(patient, cepheid, "agent", Level.WARN)
    patient.type(found.command)
    patient.run_agents()


def test_a_right_taken_from_the_agents_comes_back(patient: Patient, cepheid: Run) -> None:
    narrow = '[{"op":"replace","path":"/rules/1/verbs","value":["get"]}]'
    patient.type(f"kubectl patch clusterrole cepheid-agent --type=json -p '{narrow}'")
    found = only_trouble(patient, cepheid, "cepheid-agent may not patch pods", Level.FAIL)
    patient.type(found.command)
    patient.run_agents()
    patient.run_operator()


def test_a_kind_of_job_taken_from_the_operator_is_a_warning(patient: Patient, cepheid: Run) -> None:
    rules = only(INSTALL, "ClusterRole", "cepheid-operator")["rules"]
    left = json.dumps(
        [
            {
                "op": "replace",
                "path": "/rules",
                "value": [rule for rule in rules if rule["apiGroups"] != ["ray.io"]],
            }
        ]
    )
    patient.type(f"kubectl patch clusterrole cepheid-operator --type=json -p '{left}'")
    found = only_trouble(patient, cepheid, "lacks rights on rayclusters.ray.io", Level.WARN)
    patient.type(found.command)
    patient.run_agents()
    patient.run_operator()


def test_a_policy_without_its_binding_is_bound_again(patient: Patient, cepheid: Run) -> None:
    patient.type("kubectl delete validatingadmissionpolicybinding cepheid-agent-nodes")
    found = only_trouble(patient, cepheid, "not bound: cepheid-agent-nodes", Level.FAIL)
    patient.type(found.command)
    patient.run_agents()
    patient.run_operator()


def test_an_older_definition_is_renewed(patient: Patient, cepheid: Run) -> None:
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/verdict"
    old = json.dumps([{"op": "remove", "path": path}])
    name = "jobprofiles.ai.centaurus.io"
    patient.type(f"kubectl patch customresourcedefinition {name} --type=json -p '{old}'")
    found = only_trouble(patient, cepheid, "lacks 1 field of this version, such as", Level.FAIL)
    assert "verdict" in found.words
    patient.type(found.command)
    patient.run_agents()
    patient.run_operator()


def test_a_definition_that_is_gone_comes_back(patient: Patient, cepheid: Run) -> None:
    patient.type("kubectl delete customresourcedefinition placementtrials.ai.centaurus.io")
    found = only_trouble(patient, cepheid, "there is no definition placementtrials", Level.FAIL)
    patient.type(found.command)
    patient.run_agents()
    patient.run_operator()


def test_annotations_that_expired_and_that_never_came(patient: Patient, cepheid: Run) -> None:
    patient.annotate(NODES[0], datetime.now(UTC) - timedelta(minutes=3))
    found = only_trouble(patient, cepheid, "of gpu-a expired, up to 3 min", Level.FAIL)
    assert found.command == "kubectl -n cepheid logs cepheid-agent-gpu-a"
    patient.annotate(NODES[0])
    patient.type("kubectl annotate node gpu-b ai.centaurus.io/valid-until-")
    only_trouble(patient, cepheid, "runs on gpu-b, and wrote nothing", Level.FAIL)
    patient.annotate(NODES[1])


@pytest.fixture
def stranger(patient: Patient, tmp_path: Path) -> Path:
    """A user without any right."""
    api = patient.stage.api
    api.admin.within("research").apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME}}
    )
    token = api.admin.within("research")("create", "token", NAME).strip()
    config = yaml.safe_load(api.admin.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    if "certificate-authority" in cluster:
        authority = Path(cluster.pop("certificate-authority")).read_bytes()
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    config["users"][0]["user"] = {"token": token}
    path = tmp_path / "stranger.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def test_without_rights_it_says_what_it_cannot_see_and_the_grant_opens_it(
    patient: Patient, cepheid: Run, stranger: Path
) -> None:
    found = patient.troubles(cepheid, kubeconfig=stranger)
    assert {one.level for one in found} == {Level.WARN}, words_of(found)
    yours = found[0]
    assert f"system:serviceaccount:research:{NAME}" in yours.words
    blind = [one.words for one in found if "could not be looked at" in one.words]
    for what in ("the agent could", "the operator could", "annotations", "policies", "jobprofiles"):
        assert any(what in words for words in blind), what
    patient.type(yours.command)
    try:
        wait_for(
            "the rights to hold", lambda: not patient.troubles(cepheid, kubeconfig=stranger), 60
        )
    finally:
        for verb in ("create", "get", "list"):
            patient.type(f"kubectl delete clusterrole,clusterrolebinding cepheid-doctor-{verb}")


def test_a_clock_that_is_wrong_is_found_by_both_servers(patient: Patient) -> None:
    def clocks(ahead: float) -> list[Finding]:
        with Server(lambda: connect_to(None)) as server:
            facts = gather(
                server,
                prometheus_url=patient.stage.prometheus.url,
                wanted_period_seconds=45.0,
                environment={},
                clock=lambda: time.time() + ahead,
            )
        return list(of_clocks(facts))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(patient.stage.api.admin.kubeconfig))
        (wrong,) = clocks(ahead=200.0)
        assert wrong.level is Level.FAIL
        assert "this machine is 3 min 2" in wrong.words
        assert "ahead of that of the cluster" in wrong.words
        (right,) = clocks(ahead=0.0)
        assert right.level is Level.OK


def test_an_api_server_that_is_away_is_one_failure(
    patient: Patient, cepheid: Run, tmp_path: Path
) -> None:
    config = yaml.safe_load(patient.stage.api.admin.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    path = tmp_path / "nowhere"
    path.write_text(yaml.safe_dump(config))
    (found,) = patient.troubles(cepheid, kubeconfig=path)
    assert (found.area, found.level) == ("api-server", Level.FAIL)


def test_what_is_asked_wrongly_is_refused(patient: Patient, cepheid: Run) -> None:
    assert patient.ask(cepheid, "--period", "soon").returncode == 2
    assert patient.ask(cepheid, "--fail-on", "ever").returncode == 2
    with pytest.raises(ClusterError):
        patient.stage.api.admin("get", "no-such-kind")
