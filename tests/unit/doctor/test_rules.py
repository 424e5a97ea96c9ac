"""Each rule: what it says of what is wrong, that it names a command, and that well is well."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.cli.doctor import lines
from cepheid.doctor.definitions import NAMES, expected
from cepheid.doctor.diagnosis import examine, worst
from cepheid.doctor.exporter import ENERGY
from cepheid.doctor.facts import AgentPod, Definition, NodeSeen, Pace, Right, Source, Unseen
from cepheid.doctor.finding import Finding, Level
from cepheid.doctor.installed import POLICIES, shown_version, version_of
from cepheid.doctor.rights import JOBS, grants
from tests.unit.doctor.seen import (
    AGENTS,
    ANNOTATED,
    AWAY,
    INSTANCES,
    NODES,
    NOW,
    cluster,
    facts,
    labels,
    lacking,
    metrics,
    of_cluster,
    of_metrics,
    one,
    troubles,
)

FAIL, WARN = Level.FAIL, Level.WARN
NODE = NodeSeen("gpu-a", 4, (), NOW + timedelta(minutes=1))


def definition(name: str, **changed: Any) -> dict[str, Any]:
    made = dict(cluster().definitions)
    held = made[name]
    assert isinstance(held, Definition)
    made[name] = replace(held, **changed)
    return made


WANTED = expected()
OLD = WANTED[NAMES[0]] - {"verdict", "usage.gpu"}
HELD = {"exported_namespace": "research", "exported_pod": "train-0", "exported_container": "main"}
MOVED = labels("gpu-a", "dcgm-exporter-x7k2p", **HELD)
POD_NAME = {"Hostname": "nvidia-dcgm-exporter-x7k2p", "node": ""}
NO_PROF = frozenset(name for name in metrics().dcgm if not name.startswith("DCGM_FI_PROF_"))

CLUSTER_CASES: dict[str, tuple[dict[str, Any], Level, str, str]] = {
    "no agent": ({"agent": None}, FAIL, "the agent is not installed", "kubectl apply"),
    "no operator": ({"operator": None}, FAIL, "the operator is not installed", "kubectl apply"),
    "agent on one of two": (
        {"agent": replace(AGENTS, ready=1)},
        FAIL,
        "agent 0.1.0 on 1 of 2 nodes",
        "get pods -l app.kubernetes.io/name=cepheid-agent",
    ),
    "agent on none": (
        {"agent": replace(AGENTS, wanted=0, ready=0)},
        FAIL,
        "agent 0.1.0 is wanted on no node",
        "kubectl get nodes",
    ),
    "older agent": (
        {"agent": replace(AGENTS, image="r.example.org:5000/agent:0.0.9")},
        WARN,
        "the agent is 0.0.9, this command 0.1.0",
        "set image daemonset/cepheid-agent agent=r.example.org:5000/agent:0.1.0",
    ),
    "newer agent": (
        {"agent": replace(AGENTS, image="localhost/cepheid/agent:0.10.0")},
        WARN,
        "the agent is 0.10.0, this command 0.1.0",
        "pip install 'cepheid[laptop]==0.10.0'",
    ),
    "older operator": (
        {"operator": replace(INSTANCES, image="localhost/cepheid/operator:0.0.9")},
        WARN,
        "the operator is 0.0.9",
        "set image deployment/cepheid-operator operator=localhost/cepheid/operator:0.1.0",
    ),
    "agent of a digest": (
        {"agent": replace(AGENTS, image=f"localhost/cepheid/agent@sha256:{'0' * 64}")},
        WARN,
        "names no version",
        "agent=localhost/cepheid/agent:0.1.0",
    ),
    "operator at 0": (
        {"operator": replace(INSTANCES, wanted=0, ready=0)},
        FAIL,
        "is scaled to 0",
        "scale deployment/cepheid-operator --replicas=2",
    ),
    "one operator": (
        {"operator": replace(INSTANCES, ready=1)},
        WARN,
        "1 of 2 instances ready",
        "describe pods",
    ),
    "no operator ready": (
        {"operator": replace(INSTANCES, ready=0)},
        FAIL,
        "0 of 2 instances ready",
        "describe pods",
    ),
    "a policy is missing": (
        {"policies": POLICIES - {"cepheid-agent-pods"}},
        FAIL,
        "missing or not bound: cepheid-agent-pods",
        "kubectl apply",
    ),
    "no definition": (
        {"definitions": {**cluster().definitions, NAMES[1]: None}},
        FAIL,
        f"there is no definition {NAMES[1]}",
        "kubectl apply",
    ),
    "another version is served": (
        {"definitions": definition(NAMES[0], served=("v1",), fields=frozenset())},
        FAIL,
        "is served as v1, this version needs v1alpha1",
        "kubectl apply",
    ),
    "an older definition": (
        {"definitions": definition(NAMES[0], fields=OLD)},
        FAIL,
        "dropped without a word",
        "kubectl apply",
    ),
    "a newer definition": (
        {"definitions": definition(NAMES[1], fields=WANTED[NAMES[1]] | {"spec.new"})},
        WARN,
        "has 1 field that this version does not know, such as spec.new",
        "pip install --upgrade",
    ),
    "not established": (
        {"definitions": definition(NAMES[0], is_established=False)},
        FAIL,
        "is not established",
        f"kubectl describe customresourcedefinition {NAMES[0]}",
    ),
    "your rights": (
        {"missing": lacking(you=(Right("list", "", "nodes"),))},
        WARN,
        "you (ann) may not list nodes",
        "--verb=list --resource=nodes",
    ),
    "the agent's rights": (
        {"missing": lacking(agent=(Right("patch", "", "pods"),))},
        FAIL,
        "cepheid-agent may not patch pods",
        "kubectl apply",
    ),
    "a kind that the operator leaves alone": (
        {"missing": lacking(operator=JOBS[-1:])},
        WARN,
        "lacks rights on rayclusters.ray.io",
        "kubectl apply",
    ),
    "expired": (
        {"nodes": (replace(NODE, valid_until=NOW - timedelta(minutes=3)), ANNOTATED[1])},
        FAIL,
        "the annotations of gpu-a expired, up to 3 min ago",
        "logs cepheid-agent-gpu-a",
    ),
    "never written": (
        {"nodes": (replace(NODE, valid_until=None), NodeSeen("gpu-b", 4, (), NODE.valid_until))},
        FAIL,
        "runs on gpu-a, and wrote nothing",
        "logs cepheid-agent-gpu-a",
    ),
    "no annotations at all": (
        {"agent_pods": (), "nodes": tuple(NodeSeen(name, 4) for name in NODES)},
        FAIL,
        "no node has annotations",
        "get pods",
    ),
    "a GPU node without series": (
        {"nodes": (*ANNOTATED, NodeSeen("gpu-c", 2, (), NODE.valid_until))},
        FAIL,
        "no cAdvisor series name gpu-c",
        "kubectl get --raw",
    ),
}
RELATED = {"a GPU node without series": ["no series of the GPUs of gpu-c"]}
"""What is wrong then as well."""
METRICS_CASES: dict[str, tuple[dict[str, Any], Level, str, str]] = {
    "honor_labels": (
        {"devices": (MOVED, labels("gpu-b"))},
        FAIL,
        "carry the exporter's own pod, not the workload's (1 of 2)",
        "kubectl apply -f prometheus/prometheus.yaml",
    ),
    "no pod labels": (
        {"devices": tuple(labels(node, "") for node in NODES)},
        FAIL,
        "no series names a pod, though research/train-0 holds a GPU",
        "set env daemonset/nvidia-dcgm-exporter DCGM_EXPORTER_KUBERNETES=true",
    ),
    "the exporter's own pod alone": (
        {"devices": tuple(labels(node, "nvidia-dcgm-exporter-x7k2p") for node in NODES)},
        FAIL,
        "no series names a pod",
        "DCGM_EXPORTER_KUBERNETES=true",
    ),
    "Hostname is the pod's name and nothing else tells": (
        {"devices": (labels("gpu-a", **POD_NAME), labels("gpu-b"))},
        FAIL,
        "Hostname is nvidia-dcgm-exporter-x7k2p, its pod's name",
        "patch daemonset nvidia-dcgm-exporter",
    ),
    "Hostname is the pod's name": (
        {"devices": (labels("gpu-a", Hostname="dcgm-exporter-x7k2p"), labels("gpu-b"))},
        WARN,
        "Hostname is dcgm-exporter-x7k2p, its pod's name: the agents find",
        "NODE_NAME",
    ),
    "no PROF": ({"dcgm": NO_PROF}, WARN, "no PROF metrics", "dcp-metrics-included.csv"),
    "no energy": (
        {"dcgm": metrics().dcgm - {ENERGY}},
        WARN,
        f"no {ENERGY}",
        "dcp-metrics-included.csv",
    ),
    "blanks": (
        {"blanks": {"DCGM_FI_DEV_FB_USED": 3}},
        WARN,
        "blank values, as 9.2e18, of DCGM_FI_DEV_FB_USED (3)",
        "set image daemonset/nvidia-dcgm-exporter",
    ),
    "a GPU node in the dark": (
        {"devices": (labels("gpu-a"),)},
        FAIL,
        "no series of the GPUs of gpu-b",
        "spec.nodeName=gpu-b",
    ),
    "scraped every 30 s": (
        {"gpu_pace": Pace(30.0, 30.0)},
        WARN,
        "GPUs are scraped every 30 s: cycles of 1 min 27 s to 20 min 41 s can be seen, not of 45 s",
        "prometheus.yaml",
    ),
    "measured every 30 s": (
        {"gpu_pace": Pace(15.0, 30.0)},
        WARN,
        "scraped every 15 s, but measured only every 30 s",
        "DCGM_EXPORTER_INTERVAL=15517",
    ),
    "too young": ({"gpu_pace": None}, WARN, "too few samples", "cepheid doctor"),
    "GPUs not scraped any more": (
        {"gpu_age_seconds": 1234.0},
        FAIL,
        "the newest sample of dcgm-exporter is 20 min 34 s old",
        "port-forward",
    ),
    "no GPU series": (
        {"gpu_age_seconds": None, "dcgm": frozenset(), "devices": ()},
        FAIL,
        "no series of any GPU, though gpu-a, gpu-b have some",
        "kubectl get pods -A",
    ),
    "no cAdvisor": (
        {"cadvisor_age_seconds": None, "cadvisor_nodes": frozenset()},
        FAIL,
        "no container_* series",
        "prometheus.yaml",
    ),
    "cAdvisor not scraped any more": (
        {"cadvisor_age_seconds": 130.0},
        FAIL,
        "the newest sample of cAdvisor is 2 min 10 s old",
        "port-forward",
    ),
    "Prometheus ahead": (
        {"ahead_seconds": 90.0},
        FAIL,
        "the clock of Prometheus is 1 min 30 s ahead of that of the API server",
        "timedatectl",
    ),
    "Prometheus a little behind": (
        {"ahead_seconds": -9.0},
        WARN,
        "the clock of Prometheus is 9 s behind that of the API server",
        "timedatectl",
    ),
}


def test_where_all_is_well_nothing_is_said_against_it() -> None:
    found = examine(facts())
    assert {one.level for one in found} == {Level.OK}
    said = "\n".join(one.words for one in found)
    for words in ("agent 0.1.0 on 2 of 2 nodes", "they count for 12 min more", "9 s old"):
        assert words in said
    assert "through the API server (cepheid-monitoring/prometheus:9090), as the agent says" in said
    assert worst(found) is Level.OK


@pytest.mark.parametrize("case", CLUSTER_CASES)
def test_what_is_wrong_in_the_cluster_is_said_once(case: str) -> None:
    changed, level, words, command = CLUSTER_CASES[case]
    first, *others = of_cluster(**changed)
    check(first, level, words, command)
    assert [one.words for one in others] == RELATED.get(case, [])


@pytest.mark.parametrize("case", METRICS_CASES)
def test_what_is_wrong_with_metrics_is_said_once(case: str) -> None:
    changed, level, words, command = METRICS_CASES[case]
    check(one(of_metrics(**changed)), level, words, command)


def every_trouble() -> list[Finding]:
    """Of all cases."""
    of = [of_cluster(**changed) for changed, *_ in CLUSTER_CASES.values()]
    of += [of_metrics(**changed) for changed, *_ in METRICS_CASES.values()]
    return [found for case in of for found in case]


def check(found: Finding, level: Level, words: str, command: str) -> None:
    assert found.level is level
    assert words in found.words
    assert found.remedy
    assert command in found.command


def test_a_pod_that_is_not_ready_is_named_with_its_reason() -> None:
    pods = (AgentPod("cepheid-agent-x", "gpu-b", False, "ImagePullBackOff"),)
    found = one(of_cluster(agent=replace(AGENTS, ready=1), agent_pods=pods))
    assert "gpu-b (ImagePullBackOff)" in found.words
    assert "see images/README.md" in found.remedy
    assert found.command == "kubectl -n cepheid describe pod cepheid-agent-x"
    crash = (replace(pods[0], trouble="CrashLoopBackOff"),)
    found = one(of_cluster(agent=replace(AGENTS, ready=1), agent_pods=crash))
    assert found.command == "kubectl -n cepheid logs --previous cepheid-agent-x"


def test_a_node_is_not_missed_twice_where_its_agent_is_not_ready() -> None:
    pods = (
        AgentPod("cepheid-agent-x", "gpu-a", False, "Pending"),
        AgentPod("cepheid-agent-y", "gpu-b", True),
    )
    bare = (replace(NODE, valid_until=None), ANNOTATED[1])
    found = one(of_cluster(agent=replace(AGENTS, ready=1), agent_pods=pods, nodes=bare))
    assert "gpu-a (Pending)" in found.words


def test_nobody_holds_a_gpu_so_no_pod_is_missed() -> None:
    bare = metrics(devices=tuple(labels(node, "") for node in NODES))
    assert troubles(metrics=bare, cluster=cluster(gpu_pod=None)) == []
    unknown = one(troubles(metrics=bare, cluster=cluster(gpu_pod=AWAY)))
    assert unknown.level is WARN


def test_without_rights_every_look_is_a_warning_and_none_a_failure() -> None:
    unseen = dict.fromkeys(
        ("agent", "operator", "agent_pods", "nodes", "policies", "exporters", "gpu_pod"), AWAY
    )
    blind = cluster(
        **unseen,
        definitions=dict.fromkeys(NAMES, AWAY),
        missing={
            "you": (Right("list", "", "nodes"),),
            "cepheid-agent": AWAY,
            "cepheid-operator": AWAY,
        },
    )
    found = troubles(cluster=blind)
    assert {one.level for one in found} == {WARN}
    assert sum("could not be looked at" in one.words for one in found) == 8


def test_prometheus_away_is_a_failure_and_forbidden_a_warning_with_the_grant() -> None:
    away = one(troubles(metrics=Unseen("no connection: refused", "is it running?")))
    assert (away.level, away.remedy) == (FAIL, "is it running?")
    assert "no connection: refused" in away.words
    forbidden = one(troubles(metrics=Unseen("you may not", is_forbidden=True)))
    assert forbidden.level is WARN
    assert "--verb=get --resource=services/proxy" in forbidden.command


def test_without_an_api_server_prometheus_is_looked_at_all_the_same() -> None:
    gone = Unseen("no connection")
    direct = Source(url="http://127.0.0.1:9090", told_by="--prometheus")
    found = one(troubles(cluster=gone, source=direct))
    assert (found.area, found.level) == ("api-server", FAIL)
    both = troubles(cluster=gone, metrics=gone)
    assert [one.level for one in both] == [FAIL, WARN]


def test_where_both_are_off_alike_it_is_this_machines_clock() -> None:
    wrong = facts(cluster=cluster(ahead_seconds=-300.0), metrics=metrics(ahead_seconds=-301.0))
    (found,) = [one for one in examine(wrong) if one.area == "clocks"]
    assert "the clock of this machine is 5 min ahead of that of the cluster" in found.words


def test_a_longer_period_is_enough_for_a_slower_scrape() -> None:
    slow = metrics(gpu_pace=Pace(30.0, 30.0))
    assert troubles(metrics=slow, wanted_period_seconds=90.0) == []
    window = cluster(agent=replace(AGENTS, settings={"CEPHEID_WINDOW_SECONDS": "nan"}))
    assert troubles(cluster=window) == []


def test_amd_alone_is_fine() -> None:
    assert of_metrics(gpu_age_seconds=None, dcgm=frozenset(), devices=(), has_amd=True) == []


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("localhost/cepheid/agent:0.1.0", (0, 1, 0)),
        ("registry:5000/agent:v1.2.3-rc1", (1, 2, 3)),
        ("registry:5000/agent", None),
        ("agent:latest", None),
        ("agent@sha256:00", None),
        ("", None),
    ],
)
def test_the_version_is_that_of_the_tag(image: str, version: tuple[int, ...] | None) -> None:
    assert version_of(image) == version
    assert ("." in shown_version(image)) == (version is not None)


def test_grants_are_a_role_and_a_binding_for_each_verb() -> None:
    wanted = [Right("list", "apps", "daemonsets"), Right("get", "", "services/proxy", "monitoring")]
    get, listing = "cepheid-doctor-get-fd433dfb", "cepheid-doctor-list-f9ec5ff4"
    bound = "--clusterrole={} --user='a b'\"'\"'; rm'"
    assert grants("a b'; rm", wanted).split(" && ") == [
        f"kubectl create clusterrole {get} --verb=get --resource=services/proxy",
        f"kubectl create clusterrolebinding {get} {bound.format(get)}",
        f"kubectl create clusterrole {listing} --verb=list --resource=daemonsets.apps",
        f"kubectl create clusterrolebinding {listing} {bound.format(listing)}",
    ]


def test_grants_of_two_users_and_of_two_rights_do_not_meet() -> None:
    """A second `kubectl create` of the same name would fail."""
    list_pods, list_nodes = Right("list", "", "pods"), Right("list", "", "nodes")
    given = [
        grants(user, [right]).split()[3]
        for user in ("ann", "bob")
        for right in (list_pods, list_nodes)
    ]
    assert len(set(given)) == 4


def test_a_finding_fits_80_columns_but_for_what_is_to_be_copied() -> None:
    found = examine(facts(cluster=cluster(agent=None, policies=frozenset())))
    for finding in found:
        for line in lines(finding, 80):
            assert len(line) <= 80 or line.strip().startswith("$ "), line
    shown = [line for finding in found for line in lines(finding, 80)]
    assert "  FAIL  the agent is not installed: there is no daemonset cepheid-agent in" in shown
    assert (
        "        $ kubectl apply --server-side --force-conflicts -f manifests/cepheid.yaml" in shown
    )


TEXT = st.text(max_size=30)
LABELS = st.dictionaries(
    st.sampled_from(
        ["pod", "namespace", "container", "exported_pod", "Hostname", "node", "instance", "gpu"]
    ),
    TEXT,
)
AGES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
PACES = st.none() | st.builds(Pace, st.floats(0, 1e300), st.none() | st.floats(0, 1e300))


@given(
    devices=st.lists(LABELS, max_size=4),
    age=AGES,
    pace=PACES,
    ahead=st.floats(allow_nan=False, allow_infinity=False),
    name=TEXT,
    image=TEXT,
    ready=st.integers(-5, 5),
)
def test_whatever_a_cluster_says_of_itself_findings_come_of_it(
    devices: list[dict[str, str]],
    age: float | None,
    pace: Pace | None,
    ahead: float,
    name: str,
    image: str,
    ready: int,
) -> None:
    odd = facts(
        cluster=cluster(
            ahead_seconds=ahead,
            user=name,
            agent=replace(AGENTS, image=image, ready=ready),
            nodes=(NodeSeen(name, 3), *ANNOTATED),
            missing=lacking(you=(Right("list", "", "nodes"),)),
        ),
        metrics=metrics(
            devices=tuple(devices), gpu_age_seconds=age, gpu_pace=pace, ahead_seconds=-ahead
        ),
    )
    found = examine(odd)
    assert all(one.remedy for one in found if one.level is not Level.OK)
    json.dumps([one.words for one in found], allow_nan=False)
    for finding in found:
        assert all(line.isprintable() for line in lines(finding, 80))
