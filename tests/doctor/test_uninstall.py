"""An uninstall shows first what goes, and then that goes, and nothing else."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cepheid.annotations.api import ApiServer as Server
from cepheid.doctor.belongings import LABEL, NAMESPACES, plan
from cepheid.doctor.removing import carry_out
from cepheid.doctor.rights import NEEDED, YOU, grants
from cepheid.history.in_cluster import connect_to
from cepheid.jobprofile import to_document
from cepheid.jobs.kinds import KINDS
from tests import REPOSITORY
from tests.cli.conftest import Run
from tests.cluster.progress import wait_for
from tests.cluster.rendered import PROMETHEUS
from tests.stage.api_server import ApiServer
from tests.unit.manifests.files import INSTALL, LOGS, SCHEDULER, UNINSTALL, Object, objects
from tests.unit.reports.runs import pod_job

OURS = {"app.kubernetes.io/part-of": "cepheid"}
NODE = "gpu-a"
ANNOTATION = "ai.centaurus.io/free-gpu-score"


@pytest.fixture
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """With everything of ours, and what others have."""
    with ApiServer(tmp_path_factory.mktemp("uninstall")) as server:
        server.admin.apply(*(one for one in objects(INSTALL)))
        server.node(NODE)
        server.admin("annotate", "node", NODE, f"{ANNOTATION}=3", "example.org/theirs=stays")
        server.admin.apply(
            _of("Namespace", "monitoring"),
            _of("ClusterRole", "monitoring") | {"rules": []},
            _of("ConfigMap", "mine", "monitoring"),
        )
        yield server


def _of(kind: str, name: str, namespace: str | None = None) -> Object:
    """What somebody else gave our label: so that our NetworkPolicies let it in."""
    version = "rbac.authorization.k8s.io/v1" if kind == "ClusterRole" else "v1"
    within = {} if namespace is None else {"namespace": namespace}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "labels": OURS, **within},
    }


def rows(said: Any) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(said.stdout)
    return found


def left(api: ApiServer) -> set[str]:
    """Of the kinds that we install, by our label; what is being deleted is gone."""
    kinds = sorted({one["kind"] for one in objects(INSTALL)})
    found = set()
    for kind in kinds:
        for one in api.admin.items(kind, "--all-namespaces", "--selector", _selector()):
            if "deletionTimestamp" not in one["metadata"]:
                found.add(f"{kind}/{one['metadata']['name']}")
    return found


def _selector() -> str:
    return ",".join(f"{key}={value}" for key, value in LABEL.items())


def test_it_shows_what_goes_does_nothing_and_then_does_it(cepheid: Run, api: ApiServer) -> None:
    config = str(api.admin.kubeconfig)
    before = left(api)
    shown = cepheid("uninstall", "-o", "json", KUBECONFIG=config)
    assert shown.returncode == 0
    assert "nothing was done" in shown.stderr
    assert "--yes does it" in shown.stderr
    assert cepheid("uninstall", "--dry-run", "-o", "json", KUBECONFIG=config) == shown
    assert left(api) == before
    assert api.annotations("node", NODE)[ANNOTATION] == "3"
    installed = {f"{one['kind']}/{one['metadata']['name']}" for one in objects(INSTALL)}
    named = [f"{row['kind']}/{row['name']}" for row in rows(shown) if row["action"] == "delete"]
    assert set(named) == installed
    assert [row["name"] for row in rows(shown) if row["action"] == "clear"] == [NODE]
    assert named.index("DaemonSet/cepheid-agent") < named.index("ClusterRole/cepheid-agent")
    assert named[-1] == "Namespace/cepheid"

    done = cepheid("uninstall", "--yes", KUBECONFIG=config)
    assert done.returncode == 0, done.stderr
    assert f"{len(installed)} objects were deleted, 1 had annotations" in done.stderr
    assert left(api) == {"Namespace/monitoring", "ClusterRole/monitoring"}
    kept = api.annotations("node", NODE)
    assert ANNOTATION not in kept
    assert kept["example.org/theirs"] == "stays"
    api.admin.within("monitoring").get("configmap", "mine")


EVERYTHING = (INSTALL, LOGS, UNINSTALL, PROMETHEUS, SCHEDULER)
PASSING = ("events", "events.events.k8s.io", "componentstatuses", "leases.coordination.k8s.io")
"""Kinds whose objects come and go with the API server's own work; our Lease is looked at."""


OUR_LEASES = ("cepheid-operator", "kube-scheduler")


def made_there() -> list[dict[str, Any]]:
    """By who runs in our namespace, and by the command that makes certificates."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {}}
    leases = [lease | {"metadata": {"name": name, "namespace": "cepheid"}} for name in OUR_LEASES]
    script = REPOSITORY / "manifests" / "scheduler" / "certificates"
    made = subprocess.run([script], capture_output=True, check=True)
    return [*leases, yaml.safe_load(made.stdout)]


def standing(api: ApiServer) -> dict[str, dict[str, str]]:
    """All objects of all kinds with their annotations; what is being deleted is gone."""
    kinds = api.admin("api-resources", "--verbs=list,get", "--output=name").split()
    found = api.admin.items(
        ",".join(kind for kind in kinds if kind not in PASSING), "--all-namespaces"
    )
    return {
        f"{one['kind']} {one['metadata'].get('namespace', '')}/{one['metadata']['name']}": one[
            "metadata"
        ].get("annotations", {})
        for one in found
        if "deletionTimestamp" not in one["metadata"]
    }


def test_all_that_was_ever_installed_written_or_granted_is_gone_and_nothing_else(
    cepheid: Run, tmp_path: Path
) -> None:
    """The whole API server is as it was before."""
    with ApiServer(tmp_path / "api") as api:
        api.node(NODE)
        api.pod("team", "notebook", NODE)
        within = api.admin.within("team")
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}}
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "work"}]}
        within.apply(
            job | {"spec": {"suspend": True, "template": {"spec": pod}}},
            _of("ConfigMap", "cepheid-notes"),
            {**_of("ClusterRole", ""), "metadata": {"name": "cepheid-like"}, "rules": []},
        )
        theirs = ("example.org/theirs=stays", "ai.centaurus.io.example.org/like=ours")
        for kind, name in (("node", NODE), ("pod", "notebook"), ("job", "train")):
            within("annotate", kind, name, *theirs)
        before = standing(api)

        api.admin.apply(*(one for path in EVERYTHING for one in objects(path)))
        for kind, name in (("node", NODE), ("pod", "notebook"), ("job", "train")):
            within("annotate", kind, name, f"{ANNOTATION}=3", "ai.centaurus.io/advice=less")
        profile = pod_job()
        bert = {"name": "bert", "namespace": "team"}
        made = {"apiVersion": "ai.centaurus.io/v1alpha1", "kind": "JobProfile", "metadata": bert}
        api.admin.apply(made | to_document(profile), *made_there())
        for command in grants("ann", NEEDED[YOU]).split(" && "):
            program, *typed = command.split()
            assert program == "kubectl"
            api.admin(*typed)

        done = cepheid("uninstall", "--yes", KUBECONFIG=str(api.admin.kubeconfig))
        assert done.returncode == 0, done.stderr
        assert "3 had annotations" in done.stderr
        leases = api.admin.within("cepheid").items("leases")
        assert [one for one in leases if one["metadata"]["name"] in OUR_LEASES] == []

        def differ() -> set[str]:
            """The API server takes a moment to forget a definition."""
            after = standing(api)
            return {name for name in {*before, *after} if before.get(name) != after.get(name)} - {
                f"ServiceAccount {space}/default" for space in NAMESPACES
            }

        wait_for("that all is as it was", lambda: not differ(), 60, every_seconds=1)


def test_a_table_of_it_fits_80_columns(cepheid: Run, api: ApiServer) -> None:
    shown = cepheid("uninstall", KUBECONFIG=str(api.admin.kubeconfig))
    lines = shown.stdout.splitlines()
    assert lines[0].split()[:2] == ["ACTION", "KIND"]
    assert max(map(len, lines)) <= 80
    assert "kubectl get jobprofiles,placementtrials -A -o json" in shown.stderr


def test_annotations_alone_go_at_once_as_the_job_in_the_manifests_asks(
    cepheid: Run, api: ApiServer
) -> None:
    (job,) = [one for one in objects(UNINSTALL) if one["kind"] == "Job"]
    program, *arguments = job["spec"]["template"]["spec"]["containers"][0]["command"]
    assert program == "cepheid"
    config = str(api.admin.kubeconfig)
    before = left(api)
    dry = cepheid(*arguments, "--dry-run", KUBECONFIG=config)
    assert dry.stdout == f"Node {NODE}\n"
    assert "1 objects have annotations" in dry.stderr
    done = cepheid(*arguments, KUBECONFIG=config)
    assert (done.returncode, done.stdout) == (0, f"Node {NODE}\n")
    assert "1 objects had annotations" in done.stderr
    assert ANNOTATION not in api.annotations("node", NODE)
    assert left(api) == before


def test_a_namespace_with_somebody_elses_pod_stays(cepheid: Run, api: ApiServer) -> None:
    api.pod("cepheid", "theirs", NODE)  # which applies the namespace without its label
    api.admin("label", "namespace", "cepheid", _selector())
    api.admin.apply(*made_there())
    config = str(api.admin.kubeconfig)
    shown = cepheid("uninstall", "-o", "json", KUBECONFIG=config)
    assert "stays: Namespace cepheid: Pod cepheid/theirs" in shown.stderr
    assert "Namespace" not in {row["kind"] for row in rows(shown)}
    assert cepheid("uninstall", "--yes", KUBECONFIG=config).returncode == 0
    assert "Namespace/cepheid" in left(api)
    assert not {one for one in left(api) if one.startswith("DaemonSet")}
    within = api.admin.within("cepheid")
    assert within.get("pod", "theirs")
    assert within.items("secrets") == within.items("leases") == []  # nobody has our keys


def test_pods_that_do_not_end_are_named(api: ApiServer) -> None:
    """There is no controller here that deletes the pods of a DaemonSet."""
    api.agent_kubeconfig(NODE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(api.admin.kubeconfig))
        with Server(lambda: connect_to(None)) as server:
            done = carry_out(server, plan(server), KINDS.keys(), pods_seconds=0)
    assert done.still_there == [f"cepheid/cepheid-agent-{NODE}"]
    assert done.failed == []


def test_without_rights_nothing_goes_and_it_says_so(
    cepheid: Run, api: ApiServer, tmp_path: Any
) -> None:
    config = yaml.safe_load(api.operator_kubeconfig("operator").read_text())
    path = tmp_path / "operator.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    before = left(api)
    said = cepheid("uninstall", "--yes", KUBECONFIG=str(path))
    assert said.returncode == 1
    assert "not looked at: reading Namespace cepheid: 403" in said.stderr
    assert left(api) == before


def test_a_second_time_there_is_nothing(cepheid: Run, api: ApiServer) -> None:
    config = str(api.admin.kubeconfig)
    assert cepheid("uninstall", "--yes", KUBECONFIG=config).returncode == 0
    again = cepheid("uninstall", "-o", "json", KUBECONFIG=config)
    spaces = [row for row in rows(again) if row["kind"] != "Namespace"]
    assert spaces == []


def test_both_words_at_once_are_refused(cepheid: Run) -> None:
    said = cepheid("uninstall", "--dry-run", "--yes")
    assert (said.returncode, said.stdout) == (2, "")
