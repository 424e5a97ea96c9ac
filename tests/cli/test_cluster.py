"""JobProfiles of a real API server, with the rights that a user has there."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from cepheid.jobprofile import JobProfile, from_document, to_document
from cepheid.jobs.names import profile_name
from tests.cli.conftest import Run
from tests.stage.api_server import ApiServer
from tests.unit.reports.runs import pod_job

TEAMS = ("research", "secret", "vision")
MANY = 300
"""More than a page."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("api")) as api:
        api.install()
        spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in TEAMS]
        api.admin.apply(*spaces)
        for number, team in enumerate(TEAMS):
            for run in range(3):
                api.admin.apply(_object(_job(team, 3 * number + run, run)))
        yield api


def _job(team: str, number: int, run: int) -> JobProfile:
    made = pod_job(run, uid=f"{number}f2b8c1e-0000-4000-8000-{number:012d}")
    return replace(made, job=replace(made.job, namespace=team), user=f"user-of-{team}")


def _object(profile: JobProfile) -> dict[str, Any]:
    name = profile_name(profile.job.name, profile.job.uid)
    return {
        "apiVersion": "ai.centaurus.io/v1alpha1",
        "kind": "JobProfile",
        "metadata": {"name": name, "namespace": profile.job.namespace},
        **to_document(profile),
    }


@pytest.fixture
def admin(server: ApiServer) -> str:
    return str(server.admin.kubeconfig)


@pytest.fixture
def viewer(server: ApiServer, tmp_path: Path) -> str:
    """Who may look at research and vision; list namespaces, too."""
    return _kubeconfig(server, tmp_path, "ann", can_list=True)


@pytest.fixture
def stranger(server: ApiServer, tmp_path: Path) -> str:
    """Who may look at research alone, and does not know which namespaces there are."""
    return _kubeconfig(server, tmp_path, "ben", can_list=False)


def _kubeconfig(server: ApiServer, folder: Path, user: str, *, can_list: bool) -> str:
    account = {"kind": "ServiceAccount", "name": user, "namespace": "research"}
    rights: list[dict[str, Any]] = [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": f"{user}-views", "namespace": team},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cepheid-jobprofiles-view",
            },
            "subjects": [account],
        }
        for team in (("research", "vision") if can_list else ("research",))
    ]
    if can_list:
        rights += [
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "lists-namespaces"},
                "rules": [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]}],
            },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"{user}-lists"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "lists-namespaces",
                },
                "subjects": [account],
            },
        ]
    server.admin.apply(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": user, "namespace": "research"},
        },
        *rights,
    )
    token = server.admin.within("research")("create", "token", user).strip()
    config = yaml.safe_load(server.admin.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    authority = cluster.get("certificate-authority")
    if authority is not None:
        text = base64.b64encode(Path(authority).read_bytes()).decode()
        cluster = {"server": cluster["server"], "certificate-authority-data": text}
    contexts = [
        {"name": "lab", "context": {"cluster": "lab", "user": user, "namespace": "research"}},
        {"name": "empty", "context": {"cluster": "lab", "user": user}},
    ]
    path = folder / f"{user}.kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "lab", "cluster": cluster}],
                "users": [{"name": user, "user": {"token": token}}],
                "contexts": contexts,
                "current-context": "lab",
            }
        )
    )
    return str(path)


def names(result: Any) -> set[str]:
    return {f"{row['namespace']}/{row['name']}" for row in json.loads(result.stdout)}


def test_a_namespace_of_the_cluster_is_listed_as_the_laptop_is(cepheid: Run, admin: str) -> None:
    result = cepheid("jobs", "--namespace", "research", KUBECONFIG=admin)
    assert (result.returncode, result.stderr) == (0, "")
    title, first, *others = result.stdout.splitlines()
    assert title.split()[:3] == ["ID", "NAME", "STATUS"]
    assert first.split()[1:3] == ["bert-nightly-28", "success"]
    assert len(others) == 2


def test_all_namespaces_are_read_at_once_where_that_is_allowed(cepheid: Run, admin: str) -> None:
    result = cepheid("jobs", "--all-namespaces", "-o", "json", KUBECONFIG=admin)
    assert {name.partition("/")[0] for name in names(result)} == set(TEAMS)
    assert result.stderr == ""


def test_without_rights_on_some_the_rest_is_shown_and_what_is_missing_said(
    cepheid: Run, viewer: str
) -> None:
    result = cepheid("jobs", "--all-namespaces", "-o", "json", KUBECONFIG=viewer)
    assert result.returncode == 0
    assert {name.partition("/")[0] for name in names(result)} == {"research", "vision"}
    assert "you may not read the jobs of" in result.stderr
    assert "secret" in result.stderr


REPORTS = {
    "check": ["check", "--all"],
    "rightsize": ["rightsize"],
    "hogs": ["hogs", "--since", "2026-01-01"],
    "scale": ["scale", "bert-nightly-28"],
    "usage": ["usage", "--by", "namespace", "--since", "2026-01-01"],
    "stats": ["stats", "--by", "namespace"],
    "report": ["report", "--since", "2026-01-01"],
}


@pytest.mark.parametrize("report", REPORTS)
def test_every_report_shows_what_may_be_read_and_says_what_may_not(
    cepheid: Run, viewer: str, tmp_path: Path, report: str
) -> None:
    page = ["-o", str(tmp_path / "fleet.html")] if report == "report" else []
    result = cepheid(*REPORTS[report], "-A", *page, KUBECONFIG=viewer)
    assert result.returncode == 0, result.stderr
    (note,) = [line for line in result.stderr.splitlines() if "you may not read the jobs" in line]
    assert "secret" in note
    told = (tmp_path / "fleet.html").read_text() if page else result.stdout
    assert "secret" not in told
    if report in {"usage", "stats", "report"}:
        assert "research" in told
        assert "vision" in told


@pytest.mark.parametrize("report", [*REPORTS, "jobs"])
def test_every_report_says_what_to_do_where_a_cluster_has_no_profiles(
    cepheid: Run, server: ApiServer, admin: str, tmp_path: Path, report: str
) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "empty"}}
    server.admin.apply(space)
    page = ["-o", str(tmp_path / "fleet.html")] if report == "report" else []
    result = cepheid(*REPORTS.get(report, [report]), *page, "-n", "empty", KUBECONFIG=admin)
    assert "hint: " in result.stderr
    assert "--all-namespaces" in result.stderr or "--namespace" in result.stderr


@pytest.mark.parametrize("report", REPORTS)
def test_every_report_reads_profiles_of_an_older_version(
    cepheid: Run, server: ApiServer, admin: str, tmp_path: Path, report: str
) -> None:
    """Which kept little more than when a job ran, beside those of today."""
    name = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "older"}}
    made = _object(_job("older", 70, 0))
    old = _object(_job("older", 71, 1))
    needed = ("apiVersion", "kind", "metadata", "job", "series", "created", "ended", "outcome")
    server.admin.apply(name, made, {key: old[key] for key in needed})
    page = ["-o", str(tmp_path / "fleet.html")] if report == "report" else []
    result = cepheid(*REPORTS[report], *page, "-n", "older", KUBECONFIG=admin)
    server.admin.within("older")("delete", "jobprofiles", "--all")
    assert result.returncode == 0, result.stderr
    assert "cannot be read" not in result.stderr
    if report in {"check", "stats", "usage"}:
        assert "older" in result.stdout or "tly-28" in result.stdout


def test_who_may_not_even_list_namespaces_sees_his_own(cepheid: Run, stranger: str) -> None:
    result = cepheid("jobs", "--all-namespaces", "-o", "json", KUBECONFIG=stranger)
    assert {name.partition("/")[0] for name in names(result)} == {"research"}
    assert "you may not list namespaces" in result.stderr


def test_a_forbidden_namespace_is_an_error_and_no_empty_list(cepheid: Run, viewer: str) -> None:
    result = cepheid("jobs", "--namespace", "secret", KUBECONFIG=viewer)
    assert (result.returncode, result.stdout) == (1, "")
    assert "403" in result.stderr


def test_as_kubectls_plugin_the_contexts_own_namespace_is_read(cepheid: Run, viewer: str) -> None:
    program = "/usr/local/bin/kubectl-cepheid"
    result = cepheid("jobs", "-o", "json", program=program, KUBECONFIG=viewer)
    assert {name.partition("/")[0] for name in names(result)} == {"research"}
    local = cepheid("jobs", "--local", program=program, KUBECONFIG=viewer)
    assert "no job is kept yet" in local.stderr


def test_a_context_is_chosen_by_name_and_an_unknown_one_is_told_which_there_are(
    cepheid: Run, viewer: str
) -> None:
    assert names(cepheid("jobs", "--context", "lab", "-o", "json", KUBECONFIG=viewer))
    result = cepheid("jobs", "--context", "prod", KUBECONFIG=viewer)
    assert result.returncode == 1
    assert "no context 'prod', but empty, lab" in result.stderr


def test_several_kubeconfigs_are_one(cepheid: Run, viewer: str, tmp_path: Path) -> None:
    other = tmp_path / "other.kubeconfig"
    other.write_text("{apiVersion: v1, kind: Config, clusters: [], contexts: []}")
    both = f"{other}:{tmp_path / 'none'}:{viewer}"
    assert names(cepheid("jobs", "--context", "lab", "-o", "json", KUBECONFIG=both))


@pytest.mark.parametrize("wanted", ["bert-nightly-28", "0f2b8c1e", "by its object", None])
def test_a_job_of_the_cluster_is_told_whole(cepheid: Run, admin: str, wanted: str | None) -> None:
    if wanted == "by its object":
        wanted = profile_name("bert-nightly-28", _job("research", 0, 0).job.uid)
    asked = [] if wanted is None else [wanted]
    told = cepheid("job", *asked, "--namespace", "research", KUBECONFIG=admin)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("bert-nightly-28 succeeded in 2 h 14 min on 4 x A100-80")
    assert "resources.limits.memory: 44Gi" in told.stdout
    whole = cepheid("job", *asked, "-o", "json", "-n", "research", KUBECONFIG=admin)
    assert from_document(json.loads(whole.stdout)) == _job("research", 0, 0)


def test_stats_compare_and_export_read_the_cluster_too(cepheid: Run, admin: str) -> None:
    rows = cepheid("stats", "--by", "namespace", "-A", "-o", "json", KUBECONFIG=admin).stdout
    assert {row["group"]: row["jobs"] for row in json.loads(rows)} == dict.fromkeys(TEAMS, 3)
    compared = cepheid("compare", "bert-nightly-28", "-n", "research", KUBECONFIG=admin)
    assert "bert-nightly-28 is like bert-nightly-27" in compared.stdout
    exported = cepheid("export", "-A", "--user", "user-of-vision", KUBECONFIG=admin)
    assert len(exported.stdout.splitlines()) == 3


def test_a_job_that_is_not_there_names_the_namespace(cepheid: Run, admin: str) -> None:
    result = cepheid("job", "nothing-like-it", "-n", "research", KUBECONFIG=admin)
    assert result.returncode == 1
    assert "research" in result.stderr
    assert "--namespace" in result.stderr


def test_many_profiles_come_page_by_page(cepheid: Run, server: ApiServer, admin: str) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "busy"}}
    made = [replace(_job("busy", 100 + n, 0), series=f"s{n}") for n in range(MANY)]
    server.admin.apply(namespace, *map(_object, made))
    try:
        asked = ("jobs", "-n", "busy", "--limit", "1000", "-o", "json")
        assert len(json.loads(cepheid(*asked, KUBECONFIG=admin).stdout)) == MANY
    finally:
        server.admin.within("busy")("delete", "jobprofiles", "--all")


def test_no_cluster_and_no_definition_are_said_with_a_hint(
    cepheid: Run, server: ApiServer, admin: str, tmp_path: Path
) -> None:
    nowhere = yaml.safe_load(Path(admin).read_text())
    nowhere["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    path = tmp_path / "nowhere.kubeconfig"
    path.write_text(yaml.safe_dump(nowhere))
    away = cepheid("jobs", "-A", KUBECONFIG=str(path))
    none = cepheid("jobs", "-A", KUBECONFIG=str(tmp_path / "none"))
    for result in (away, none):
        assert result.returncode == 1
        assert "Traceback" not in result.stderr
    assert "hint: " in none.stderr
    assert server.running
