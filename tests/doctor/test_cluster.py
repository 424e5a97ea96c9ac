"""What is wrong in the cluster is found, and what the finding says to type cures it."""

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cepheid.annotations.api import ApiServer as Server
from cepheid.doctor.clocks import findings as of_clocks
from cepheid.doctor.diagnosis import examine
from cepheid.doctor.facts import Facts
from cepheid.doctor.finding import INSTALL as APPLY
from cepheid.doctor.finding import Finding, Level, Rule
from cepheid.doctor.gathering import gather
from cepheid.history.in_cluster import connect_to
from tests.cli.conftest import Run
from tests.cluster.progress import ClusterError
from tests.doctor.conftest import STRANGER
from tests.doctor.patient import NODES, Patient, words_of
from tests.unit.manifests.files import AGENT, INSTALL, OPERATOR, only

PROFILES, TRIALS = "jobprofiles.ai.centaurus.io", "placementtrials.ai.centaurus.io"
pytestmark = pytest.mark.usefixtures("well_again")
cures, provokes = pytest.mark.cures, pytest.mark.provokes


def run_all(patient: Patient) -> None:
    """What controllers and kubelets do when a manifest is applied."""
    patient.run_agents()
    patient.run_operator()


def edit_definition(patient: Patient, name: str, *operations: dict[str, object]) -> None:
    edit = json.dumps(operations)
    patient.stage.api.admin(
        "patch", "customresourcedefinition", name, "--type=json", f"--patch={edit}"
    )


def test_where_all_is_well_every_line_says_so(patient: Patient, cepheid: Run) -> None:
    patient.is_well(cepheid)
    said = patient.ask(cepheid, "--fail-on", "warn")
    assert said.returncode == 0
    assert {line[:8] for line in said.stdout.splitlines()} == {"  ok    ", " " * 8}
    assert "agent 0.1.0 on 2 of 2 nodes" in said.stdout
    assert "cepheid-operator may do what it must" in said.stdout
    assert "0 warn, 0 fail" in said.stderr
    assert all(len(line) <= 80 for line in said.stdout.splitlines())


@cures(Rule.NOT_INSTALLED)
@pytest.mark.parametrize("thing", [AGENT, OPERATOR], ids=["agent", "operator"])
def test_a_workload_that_is_not_installed_is_by_the_command(
    patient: Patient, cepheid: Run, thing: dict[str, Any]
) -> None:
    name = thing["metadata"]["name"]
    patient.stage.api.admin.within("cepheid")("delete", thing["kind"], name)
    found = patient.finds(cepheid, Rule.NOT_INSTALLED, f"cepheid-{name.rpartition('-')[2]}")
    assert patient.ask(cepheid, "--fail-on", "fail").returncode == 1
    patient.type(found.command)
    run_all(patient)


@cures(Rule.AGENTS_NOT_READY)
def test_agents_that_are_not_ready_are_named_with_the_kubelets_reason(
    patient: Patient, cepheid: Run
) -> None:
    patient.run_agents(ready=1, trouble="ImagePullBackOff")
    found = patient.finds(cepheid, Rule.AGENTS_NOT_READY, "on 1 of 2 nodes: gpu-b (ImagePull")
    patient.type(found.command)  # it describes that pod
    patient.run_agents()


@cures(Rule.AGENTS_NOWHERE)
def test_agents_that_no_node_is_fit_for(patient: Patient, cepheid: Run) -> None:
    patient.run_agents(wanted=0, ready=0)
    found = patient.finds(cepheid, Rule.AGENTS_NOWHERE, "agent 0.1.0 is wanted on no node")
    patient.type(found.command)  # it lists the nodes and their labels
    patient.run_agents()


@cures(Rule.OPERATOR_AT_ZERO)
def test_an_operator_that_is_scaled_to_none_is_scaled_again(patient: Patient, cepheid: Run) -> None:
    patient.type("kubectl -n cepheid scale deployment/cepheid-operator --replicas=0")
    patient.run_operator(0)
    found = patient.finds(cepheid, Rule.OPERATOR_AT_ZERO, "is scaled to 0")
    patient.type(found.command)
    patient.run_operator()


@cures(Rule.OPERATOR_ALONE, Rule.OPERATOR_NOT_READY)
def test_one_of_two_operators_is_a_warning_and_none_a_failure(
    patient: Patient, cepheid: Run
) -> None:
    patient.run_operator(1)
    patient.finds(cepheid, Rule.OPERATOR_ALONE, "1 of 2 instances ready")
    assert patient.ask(cepheid, "--fail-on", "fail").returncode == 0
    assert patient.ask(cepheid, "--fail-on", "warn").returncode == 1
    patient.run_operator(0)
    found = patient.finds(cepheid, Rule.OPERATOR_NOT_READY, "0 of 2 instances ready")
    patient.type(found.command)  # it describes its pods
    patient.run_operator()


@pytest.mark.parametrize(
    ("tag", "rule"),
    [
        pytest.param("0.0.9", Rule.OLDER, marks=cures(Rule.OLDER)),
        pytest.param("latest", Rule.NO_VERSION, marks=cures(Rule.NO_VERSION)),
    ],
)
def test_another_version_is_upgraded_by_the_command(
    patient: Patient, cepheid: Run, tag: str, rule: Rule
) -> None:
    set_image(patient, tag)
    found = patient.finds(cepheid, rule, "agent")
    patient.type(found.command)
    run_all(patient)


def set_image(patient: Patient, tag: str) -> None:
    image = f"agent=localhost/cepheid/agent:{tag}"
    patient.type(f"kubectl -n cepheid set image daemonset/cepheid-agent {image}")


@provokes(Rule.NEWER)
def test_a_newer_agent_asks_for_a_newer_command(patient: Patient, cepheid: Run) -> None:
    """Which is not published: what one would say is told by the rules, of the same facts."""
    set_image(patient, "0.10.0")
    found = patient.finds(cepheid, Rule.NEWER, "the agent is 0.10.0, this command 0.1.0")
    assert found.command == "pip install 'cepheid[laptop]==0.10.0'"
    upgraded = replace(gathered(patient), own_version="0.10.0")
    assert Rule.NEWER not in {one.rule for one in examine(upgraded)}
    patient.type(APPLY)
    run_all(patient)


@cures(Rule.ACCOUNT_RIGHTS)
def test_a_right_taken_from_the_agents_comes_back(patient: Patient, cepheid: Run) -> None:
    narrow = '[{"op":"replace","path":"/rules/1/verbs","value":["get"]}]'
    patient.type(f"kubectl patch clusterrole cepheid-agent --type=json -p '{narrow}'")
    found = patient.finds(cepheid, Rule.ACCOUNT_RIGHTS, "cepheid-agent may not patch pods")
    patient.type(found.command)
    run_all(patient)


@cures(Rule.KINDS_LEFT_ALONE)
def test_a_kind_of_job_taken_from_the_operator_is_a_warning(patient: Patient, cepheid: Run) -> None:
    rules = only(INSTALL, "ClusterRole", "cepheid-operator")["rules"]
    left = [rule for rule in rules if rule["apiGroups"] != ["ray.io"]]
    edit = json.dumps([{"op": "replace", "path": "/rules", "value": left}])
    patient.type(f"kubectl patch clusterrole cepheid-operator --type=json -p '{edit}'")
    found = patient.finds(cepheid, Rule.KINDS_LEFT_ALONE, "lacks rights on rayclusters.ray.io")
    patient.type(found.command)
    run_all(patient)


@cures(Rule.NO_POLICY)
def test_a_policy_without_its_binding_is_bound_again(patient: Patient, cepheid: Run) -> None:
    patient.type("kubectl delete validatingadmissionpolicybinding cepheid-agent-nodes")
    found = patient.finds(cepheid, Rule.NO_POLICY, "not bound: cepheid-agent-nodes")
    patient.type(found.command)
    run_all(patient)


@cures(Rule.OLD_DEFINITION)
def test_an_older_definition_is_renewed(patient: Patient, cepheid: Run) -> None:
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/verdict"
    edit_definition(patient, PROFILES, {"op": "remove", "path": path})
    found = patient.finds(
        cepheid, Rule.OLD_DEFINITION, "lacks 1 field of this version, such as verdict"
    )
    patient.type(found.command)
    run_all(patient)


@provokes(Rule.NEW_DEFINITION)
def test_a_newer_definition_asks_for_a_newer_command(patient: Patient, cepheid: Run) -> None:
    """Which is not published: the definition goes back instead."""
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/mood"
    edit_definition(patient, PROFILES, {"op": "add", "path": path, "value": {"type": "string"}})
    found = patient.finds(
        cepheid, Rule.NEW_DEFINITION, "1 field that this version does not know, such as mood"
    )
    assert found.command.startswith("pip install --upgrade")
    patient.type(APPLY)
    run_all(patient)


@cures(Rule.NOT_SERVED)
def test_a_definition_of_another_version_only_is_served_again(
    patient: Patient, cepheid: Run
) -> None:
    (version,) = only(INSTALL, "CustomResourceDefinition", TRIALS)["spec"]["versions"]
    later = version | {"name": "v1", "storage": False}
    edit_definition(
        patient,
        TRIALS,
        {"op": "replace", "path": "/spec/versions/0/served", "value": False},
        {"op": "add", "path": "/spec/versions/-", "value": later},
    )
    found = patient.finds(cepheid, Rule.NOT_SERVED, "is served as v1, this version needs v1alpha1")
    patient.type(found.command)
    run_all(patient)


@cures(Rule.NO_DEFINITION)
def test_a_definition_that_is_gone_comes_back(patient: Patient, cepheid: Run) -> None:
    patient.type(f"kubectl delete customresourcedefinition {TRIALS}")
    found = patient.finds(cepheid, Rule.NO_DEFINITION, "there is no definition placementtrials")
    patient.type(found.command)
    run_all(patient)


@cures(Rule.NOT_ESTABLISHED)
def test_a_definition_whose_names_another_has_says_so_in_its_conditions(
    patient: Patient, cepheid: Run
) -> None:
    ours = only(INSTALL, "CustomResourceDefinition", TRIALS)
    names = {"plural": "tests", "singular": "test", "kind": "PlacementTrial", "listKind": "Tests"}
    other = ours | {
        "metadata": {"name": "tests.ai.centaurus.io"},
        "spec": ours["spec"] | {"names": names},
    }
    patient.type(f"kubectl delete customresourcedefinition {TRIALS}")
    patient.stage.api.admin.apply(other)
    patient.stage.api.admin(
        "wait", "--for=condition=Established", "customresourcedefinition/tests.ai.centaurus.io"
    )
    try:
        patient.type(APPLY)
        run_all(patient)
        found = patient.finds(cepheid, Rule.NOT_ESTABLISHED, "another may have its names")
        assert '"PlacementTrial" is already in use' in patient.type(found.command)
    finally:
        patient.type("kubectl delete customresourcedefinition tests.ai.centaurus.io")


@cures(Rule.EXPIRED, Rule.NOT_ANNOTATED)
def test_annotations_that_expired_or_never_came_are_written_by_an_agent_that_runs(
    patient: Patient, cepheid: Run
) -> None:
    patient.annotate(NODES[0], datetime.now(UTC) - timedelta(minutes=3))
    found = patient.finds(cepheid, Rule.EXPIRED, "of gpu-a expired, up to 3 min")
    assert found.command == "kubectl -n cepheid logs cepheid-agent-gpu-a"
    with patient.stage.agent(NODES[0], pass_seconds=1):
        patient.is_well(cepheid)
    patient.type("kubectl annotate node gpu-b ai.centaurus.io/valid-until-")
    patient.finds(cepheid, Rule.NOT_ANNOTATED, "runs on gpu-b, and wrote nothing")
    with patient.stage.agent(NODES[1], pass_seconds=1):
        patient.is_well(cepheid)


@cures(Rule.NO_ANNOTATIONS)
def test_where_no_agent_ever_ran_one_is_missed(patient: Patient, cepheid: Run) -> None:
    patient.type("kubectl -n cepheid delete pods --all --force --grace-period=0")
    patient.type("kubectl annotate nodes --all ai.centaurus.io/valid-until-")
    found = patient.finds(cepheid, Rule.NO_ANNOTATIONS, "no node has annotations")
    patient.type(found.command)  # it lists the agents' pods
    patient.run_agents()
    with (
        patient.stage.agent(NODES[0], pass_seconds=1),
        patient.stage.agent(NODES[1], pass_seconds=1),
    ):
        patient.is_well(cepheid)


@cures(Rule.LEFT_BEHIND)
def test_what_an_agent_left_behind_is_taken_away(patient: Patient, cepheid: Run) -> None:
    """By the command, first as it is printed, and then without --dry-run."""
    patient.annotate(NODES[0], datetime.now(UTC) - timedelta(minutes=3))
    patient.stage.api.delete_pod("cepheid", f"cepheid-agent-{NODES[0]}")
    found = patient.finds(cepheid, Rule.LEFT_BEHIND, "of gpu-a expired")
    assert "no agent runs there" in found.remedy
    program, *typed = found.command.split()
    assert (program, typed[-1]) == ("cepheid", "--dry-run")
    config = str(patient.stage.api.admin.kubeconfig)
    shown = cepheid(*typed, KUBECONFIG=config)
    assert "Node gpu-a" in shown.stdout
    assert cepheid(*typed[:-1], KUBECONFIG=config).stdout == shown.stdout
    patient.annotate(NODES[1])  # whose agent writes again
    patient.is_well(cepheid)
    patient.run_agents()


@cures(Rule.YOUR_RIGHTS, Rule.NOT_SEEN)
def test_without_rights_it_says_what_it_cannot_see_and_the_grant_opens_it(
    patient: Patient, cepheid: Run, stranger: Path
) -> None:
    blind = ["the rights of cepheid-agent", "the rights of cepheid-operator", "the agent"]
    blind += ["the operator", "the admission policies", f"the definition {PROFILES}"]
    blind += [f"the definition {TRIALS}", "the annotations of nodes"]
    beside = [Rule.NOT_SEEN] * len(blind)
    name = f"system:serviceaccount:research:{STRANGER}"
    yours = patient.finds(cepheid, Rule.YOUR_RIGHTS, name, beside=beside, kubeconfig=stranger)
    found = patient.troubles(cepheid, kubeconfig=stranger)
    assert {one.level for one in found} == {Level.WARN}, words_of(found)
    for what in blind:
        assert any(f"{what} could not be looked at" in one.words for one in found), what
    patient.found.add(Rule.NOT_SEEN)
    patient.type(yours.command)
    try:
        patient.is_well(cepheid, kubeconfig=stranger)
    finally:
        patient.take_grants_back()


@provokes(Rule.CLOCK_OFF, Rule.CLOCK_FAR_OFF)
def test_a_clock_that_is_wrong_is_found_by_both_servers(patient: Patient) -> None:
    """This machine's, which no test sets."""

    def clocks(ahead: float) -> Finding:
        (found,) = of_clocks(gathered(patient, ahead))
        if found.rule is not None:
            patient.found.add(found.rule)
        return found

    wrong = clocks(ahead=200.0)
    assert (wrong.level, wrong.rule) == (Level.FAIL, Rule.CLOCK_FAR_OFF)
    assert "this machine is 3 min 2" in wrong.words
    assert "ahead of that of the cluster" in wrong.words
    slow = clocks(ahead=-20.0)
    assert (slow.level, slow.rule) == (Level.WARN, Rule.CLOCK_OFF)
    assert "behind that of the cluster" in slow.words
    assert clocks(ahead=0.0).level is Level.OK


def gathered(patient: Patient, ahead_seconds: float = 0.0) -> Facts:
    """By a machine whose clock is ahead."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(patient.stage.api.admin.kubeconfig))
        with Server(lambda: connect_to(None)) as server:
            return gather(
                server,
                prometheus_url=patient.stage.prometheus.url,
                wanted_period_seconds=45.0,
                environment={},
                clock=lambda: time.time() + ahead_seconds,
            )


@cures(Rule.API_SERVER_AWAY, Rule.PROMETHEUS_BEHIND_API_SERVER)
def test_an_api_server_that_is_away_is_one_failure_and_hides_what_is_behind_it(
    patient: Patient, cepheid: Run
) -> None:
    inside = ("--prometheus", "http://prometheus.watching.svc:9090")
    patient.stage.api.stop()
    try:
        patient.finds(cepheid, Rule.API_SERVER_AWAY, "cannot be asked")
        hidden = patient.finds(
            cepheid,
            Rule.PROMETHEUS_BEHIND_API_SERVER,
            "the API server leads to it (watching/prometheus:9090)",
            *inside,
            beside=[Rule.API_SERVER_AWAY],
        )
        # Forwarded is what `ask` gives it unless told otherwise.
        assert hidden.command == "cepheid doctor --prometheus http://127.0.0.1:9090"
    finally:
        patient.stage.api.start()


def test_what_is_asked_wrongly_is_refused(patient: Patient, cepheid: Run) -> None:
    assert patient.ask(cepheid, "--period", "soon").returncode == 2
    assert patient.ask(cepheid, "--fail-on", "ever").returncode == 2
    with pytest.raises(ClusterError):
        patient.stage.api.admin("get", "no-such-kind")
