"""The manifest of the scheduler that listens: current, bounded, and of one piece with the rest."""

import base64
import re
import ssl
import subprocess
from pathlib import Path

import pytest
import yaml

from cepheid import __version__
from cepheid.settings import ExtenderSettings, read
from tests.cluster.binaries import VERSIONS
from tests.cluster.rendered import scheduler_manifest
from tests.unit.manifests.files import (
    EXTENDER,
    LISTENER,
    MANIFESTS,
    SCHEDULER,
    Object,
    objects,
    of_kind,
    only,
)
from tests.unit.manifests.test_install import JOBS

BOTH = pytest.mark.parametrize("deployment", [EXTENDER, LISTENER], ids=["extender", "scheduler"])
LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/part-of")


def container(deployment: Object) -> Object:
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(found)


def configuration() -> Object:
    return dict(yaml.safe_load(only(SCHEDULER, "ConfigMap")["data"]["configuration.yaml"]))


def test_the_committed_manifest_is_what_its_parts_give() -> None:
    assert SCHEDULER.read_text() == scheduler_manifest(), "hint: `make manifests`"


def test_every_object_says_whose_it_is() -> None:
    for thing in objects(SCHEDULER):
        assert all(label in thing["metadata"]["labels"] for label in LABELS)


def test_the_extender_reads_and_tells_and_has_no_other_right() -> None:
    rules = only(SCHEDULER, "ClusterRole", "cepheid-extender")["rules"]
    found = {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    read_only = JOBS | {
        ("", "nodes"),
        ("", "pods"),
        ("ray.io", "rayclusters"),
        ("ai.centaurus.io", "jobprofiles"),
    }
    assert found == {(*kind, verb) for kind in read_only for verb in ("list", "watch")} | {
        ("", "events", "create")
    }


def test_every_verb_has_its_reason() -> None:
    text = (MANIFESTS / "scheduler/rbac.yaml").read_text()
    verbs = re.findall(r"(?m)^      - (list|watch|create|get|patch|update|delete)\b(.*)$", text)
    assert verbs
    assert all(re.match(r" # \S", reason) for _, reason in verbs)
    assert not re.search(r"verbs: \[", text)


def test_the_scheduler_has_the_rights_that_kubernetes_gives_one() -> None:
    account = {"kind": "ServiceAccount", "name": "cepheid-scheduler", "namespace": "cepheid"}
    given = {
        binding["roleRef"]["name"]
        for binding in of_kind(SCHEDULER, "ClusterRoleBinding")
        if binding["subjects"] == [account]
    }
    assert given == {"system:kube-scheduler", "system:volume-scheduler"}


def test_the_scheduler_is_of_the_version_that_the_tests_run() -> None:
    text = (VERSIONS / "kubernetes/go.mod").read_text()
    pinned = re.search(r"k8s\.io/kubernetes (v[\d.]+)", text)
    assert pinned
    assert container(LISTENER)["image"] == f"registry.k8s.io/kube-scheduler:{pinned[1]}"
    assert container(EXTENDER)["image"] == f"localhost/cepheid/operator:{__version__}"


def test_nothing_about_the_extender_can_stop_the_scheduler() -> None:
    (extender,) = configuration()["extenders"]
    assert extender["ignorable"] is True
    assert extender["nodeCacheCapable"] is True
    assert extender["managedResources"] == [{"name": "nvidia.com/gpu", "ignoredByScheduler": False}]
    assert extender["httpTimeout"] == "500ms"


def test_the_profile_that_pods_name_is_the_one_that_the_extender_judges() -> None:
    (profile,) = configuration()["profiles"]
    assert profile["schedulerName"] == ExtenderSettings().profiles


def test_the_scheduler_asks_where_the_extender_answers() -> None:
    (asked,) = configuration()["extenders"]
    service = only(SCHEDULER, "Service")
    metadata = service["metadata"]
    assert asked["urlPrefix"] == f"https://{metadata['name']}.{metadata['namespace']}.svc"
    (port,) = service["spec"]["ports"]
    assert port["port"] == 443
    ports = {one["name"]: one["containerPort"] for one in container(EXTENDER)["ports"]}
    settings = read(
        ExtenderSettings, {}, {one["name"]: one["value"] for one in container(EXTENDER)["env"]}
    )
    assert ports[port["targetPort"]] == settings.serve_address[1]
    assert ports["metrics"] == settings.listen_address[1]
    labels = EXTENDER["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()


@BOTH
def test_a_pod_keeps_the_restricted_pod_security_standard(deployment: Object) -> None:
    spec, one = deployment["spec"]["template"]["spec"], container(deployment)
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(spec)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert one["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["automountServiceAccountToken"] is False
    assert all(mount["readOnly"] for mount in one["volumeMounts"])


@BOTH
def test_each_holds_no_more_keys_than_it_needs(deployment: Object, tmp_path: Path) -> None:
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    (secret,) = (volume["secret"] for volume in volumes if "secret" in volume)
    keys = {item["key"] for item in secret["items"]}
    own, other = ("tls", "client") if deployment is EXTENDER else ("client", "tls")
    assert keys == {"ca.crt", f"{own}.crt", f"{own}.key"}
    assert f"{other}.key" not in keys
    made = certificates(tmp_path)
    assert keys <= made.keys()


def certificates(folder: Path) -> dict[str, Path]:
    script = MANIFESTS / "scheduler/certificates"
    made = subprocess.run([script], check=True, capture_output=True, text=True, cwd=folder).stdout
    secret = yaml.safe_load(made)
    (volume,) = (
        volume["secret"]
        for volume in EXTENDER["spec"]["template"]["spec"]["volumes"]
        if "secret" in volume
    )
    assert secret["metadata"]["name"] == volume["secretName"]
    assert list(folder.iterdir()) == []  # no key is left lying about
    for name, text in secret["data"].items():
        (folder / name).write_bytes(base64.b64decode(text))
    return {name: folder / name for name in secret["data"]}


def test_each_trusts_the_other_by_these_certificates_and_nobody_else(tmp_path: Path) -> None:
    mine, others = tmp_path / "mine", tmp_path / "others"
    mine.mkdir()
    others.mkdir()
    files, foreign = certificates(mine), certificates(others)
    assert _shake_hands(files, files)
    with pytest.raises(ssl.SSLError):
        _shake_hands(files, files | {"ca.crt": foreign["ca.crt"]})


def _shake_hands(server: dict[str, Path], client: dict[str, Path]) -> bool:
    """In memory, as the two would over a wire."""
    one, other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    one.load_cert_chain(server["tls.crt"], server["tls.key"])
    one.load_verify_locations(server["ca.crt"])
    one.verify_mode = ssl.CERT_REQUIRED
    other.load_verify_locations(client["ca.crt"])
    other.load_cert_chain(client["client.crt"], client["client.key"])
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        other.wrap_bio(back, there, server_hostname="cepheid-extender.cepheid.svc"),
        one.wrap_bio(there, back, server_side=True),
    ]
    waiting = list(ends)
    for _ in range(10):
        for end in list(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                continue
        if not waiting:
            return True
    return False


@BOTH
def test_the_network_policy_is_of_its_pods_and_lets_the_two_meet(deployment: Object) -> None:
    name = deployment["metadata"]["name"]
    policy = only(SCHEDULER, "NetworkPolicy", name)["spec"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    other = LISTENER if deployment is EXTENDER else EXTENDER
    theirs = other["spec"]["template"]["metadata"]["labels"]
    key, word = ("ingress", "from") if deployment is EXTENDER else ("egress", "to")
    peers = [peer for entry in policy[key] for peer in entry.get(word, ())]
    assert {"podSelector": {"matchLabels": theirs}} in peers
