"""`cepheid trial`: alone, and against a real API server in which the test plays the operator."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from cepheid.cli.formats import Output
from cepheid.cli.trial_shown import Look, show_list, show_one
from cepheid.placementtrial import Phase, TrialStatus, spec_from, status_from, to_document
from tests.cli.conftest import Run
from tests.cli.test_cluster import _kubeconfig
from tests.stage.api_server import ApiServer
from tests.unit.reports.test_trials import A100, NOW, SPEC, T4, done

TYPES = f"{A100},{T4}"
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "bert", "namespace": "research"},
    "spec": {
        "suspend": True,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "train", "image": "example.org/train:1"}],
            }
        },
    },
}


def test_help_lists_the_four_commands(cepheid: Run) -> None:
    bare, asked = cepheid("trial"), cepheid("trial", "--help")
    for result in (bare, asked):
        assert (result.returncode, result.stderr) == (0, "")
        assert all(f"  {name} " in result.stdout for name in ("create", "list", "show", "watch"))


def test_a_dry_run_prints_yaml_and_asks_no_cluster(cepheid: Run, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("{A100-80: 3.2, T4: 0.4}")
    result = cepheid(
        *("trial", "create", "--job", "mpijob/bert", "--dry-run", "-n", "research"),
        *("--gpu-types", TYPES, "--workers", "1,2,4", "--gpus", "1,2", "--gpu-hours", "2"),
        *("--goal", "cost", "--prices", prices, "--trial-seconds", "300", "--name", "best"),
        KUBECONFIG=str(tmp_path / "none"),
    )
    assert result.returncode == 0, result.stderr
    document = yaml.safe_load(result.stdout)
    assert document["metadata"] == {"name": "best", "namespace": "research"}
    spec = spec_from(document["spec"])
    assert spec.try_on.workers == (1, 2, 4)
    assert spec.try_on.gpus_per_worker == (1, 2)
    assert dict(spec.optimise.prices) == {A100: 3.2, T4: 0.4}
    assert (spec.limits.gpu_hours, spec.limits.trial_seconds) == (2.0, 300.0)
    assert "--api-version" in result.stderr


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("create",), "--job"),
        (("create", "--job", "bert"), "KIND/NAME"),
        (("create", "--job", "job/bert", "--workers", "two"), "whole numbers"),
        (("create", "--job", "job/bert", "--goal", "cost"), "--prices"),
        (("create", "--job", "job/bert", "--gpu-hours", "0"), "gpuHours"),
        (("list", "-A", "-n", "research"), "exclude"),
        (("show", "bert", "--plot", "bert.png"), ".html"),
        (("watch", "bert", "--timeout", "soon"), "30min"),
        (("wach", "bert"), "watch"),
    ],
)
def test_wrong_use_exits_2_before_a_cluster_is_asked(
    cepheid: Run, tmp_path: Path, wrong: tuple[str, ...], words: str
) -> None:
    result = cepheid("trial", *wrong, KUBECONFIG=str(tmp_path / "none"))
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr


def test_without_a_kubeconfig_there_is_a_hint(cepheid: Run, tmp_path: Path) -> None:
    result = cepheid("trial", "list", KUBECONFIG=str(tmp_path / "none"))
    assert result.returncode == 1
    assert "hint: " in result.stderr


def look(name: str = "bert", status: TrialStatus | None = None) -> Look:
    return Look("research", name, "uid", NOW, SPEC, done() if status is None else status)


def test_a_trial_is_told_answer_first_at_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    best = done().best
    assert best is not None
    patched = replace(done(), best=replace(best, patch="{}"))
    show_one(look(status=patched), Output.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Ask for 1 worker with 1 A100-80")
    assert lines[2].split()[:4] == ["PLACEMENT", "STATE", "PER", "SECOND"]
    assert lines[3].split() == ["1xA100-80", "measured", "0.025", "1.5", "%", "pulse", "3.56"] + [
        "218",
        "best",
    ]
    assert any("●" in line and "├" in line for line in lines)
    assert any(line.startswith("  why") for line in lines)
    assert any("kubectl patch mpijob bert --namespace=research" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("form", ["json", "yaml", "csv"])
def test_programs_get_all_of_it(capsys: pytest.CaptureFixture[str], form: str) -> None:
    show_one(look(), Output(form))
    text = capsys.readouterr().out
    if form == "csv":
        assert len(text.splitlines()) == 1 + 4
        return
    found = json.loads(text) if form == "json" else yaml.safe_load(text)
    assert status_from(found["status"]) == done()
    assert spec_from(found["spec"]) == SPEC


def test_a_hostile_name_hands_a_terminal_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2Jevil"
    status = replace(done(), message=evil, model=evil, phase=Phase.RUNNING)
    show_one(look(evil, status), Output.TABLE)
    show_list([look(evil, status)], NOW, Output.TABLE, has_namespaces=True)
    assert "\x1b" not in capsys.readouterr().out


# From here on with an API server.


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("api")) as api:
        api.install()
        for name in ("research", "secret", "vision"):
            api.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        api.admin.apply(JOB)
        yield api


@pytest.fixture
def admin(server: ApiServer) -> str:
    return str(server.admin.kubeconfig)


@pytest.fixture
def made(server: ApiServer, cepheid: Run, admin: str, request: pytest.FixtureRequest) -> str:
    """The name of a PlacementTrial of the test's own."""
    name: str = request.node.name.removeprefix("test_").replace("_", "-")[:50].strip("-")
    result = cepheid(
        *("trial", "create", "--job", "job/bert", "--name", name, "-n", "research"),
        *("--workers", "1,2", "--gpu-types", TYPES),
        KUBECONFIG=admin,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"research/{name}\n"
    assert server.running
    return name


def write_status(server: ApiServer, name: str, status: TrialStatus) -> None:
    body = json.dumps({"status": json.loads(json.dumps(to_document(status), default=str))})
    server.admin.within("research")(
        "patch", "placementtrial", name, "--subresource=status", "--type=merge", "--patch", body
    )


def test_what_is_made_is_what_a_dry_run_prints(
    server: ApiServer, cepheid: Run, admin: str, made: str
) -> None:
    text = server.admin.within("research")("get", "placementtrial", made, "-o", "json")
    kept = json.loads(text)["spec"]
    dry = cepheid(
        *("trial", "create", "--job", "job/bert", "--name", made, "-n", "research", "--dry-run"),
        *("--workers", "1,2", "--gpu-types", TYPES),
    )
    assert spec_from(kept) == spec_from(yaml.safe_load(dry.stdout)["spec"])
    again = cepheid(
        *("trial", "create", "--job", "job/bert", "--name", made, "-n", "research"),
        KUBECONFIG=admin,
    )
    assert again.returncode == 1
    assert "--name" in again.stderr


def test_a_job_that_is_not_there_is_not_tried(cepheid: Run, admin: str) -> None:
    asked = ("trial", "create", "-n", "research", "--job")
    for job in ("job/none", "mpijob/none"):  # the cluster has no MPIJobs at all
        result = cepheid(*asked, job, KUBECONFIG=admin)
        assert (result.returncode, result.stdout) == (1, "")
        assert "has no" in result.stderr
        assert "hint: " in result.stderr


def test_a_new_one_is_listed_and_shown_before_anybody_looked_at_it(
    cepheid: Run, admin: str, made: str
) -> None:
    rows = json.loads(cepheid("trial", "list", "-A", "-o", "json", KUBECONFIG=admin).stdout)
    (row,) = [one for one in rows if one["name"] == made]
    assert (row["namespace"], row["job"], row["phase"]) == ("research", "Job/bert", None)
    shown = cepheid("trial", "show", made, "-n", "research", KUBECONFIG=admin)
    assert shown.returncode == 0, shown.stderr
    assert "no operator has looked at it yet" in " ".join(shown.stdout.split())
    assert "placements" not in shown.stdout


def test_what_was_found_is_shown_and_drawn(
    server: ApiServer, cepheid: Run, admin: str, made: str, tmp_path: Path
) -> None:
    write_status(server, made, done())
    page = tmp_path / "pages/best.html"
    result = cepheid("trial", "show", made, "-n", "research", "--plot", page, KUBECONFIG=admin)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Ask for 1 worker with 1 A100-80")
    assert "Throughput by the number of GPUs" in page.read_text()
    listed = cepheid("trial", "list", "-n", "research", KUBECONFIG=admin).stdout
    (line,) = [one for one in listed.splitlines() if "Done" in one and "1xA100-80" in one]
    assert "1.8x" in line


@pytest.mark.parametrize(("end", "code"), [(Phase.DONE, 0), (Phase.FAILED, 1), (Phase.ABORTED, 1)])
def test_watch_ends_with_it_and_its_exit_code_says_how(
    server: ApiServer, cepheid: Run, admin: str, end: Phase, code: int
) -> None:
    name = f"watched-{end.value.lower()}"
    asked = ("trial", "create", "--job", "job/bert", "--name", name, "-n", "research")
    assert cepheid(*asked, KUBECONFIG=admin).returncode == 0
    running = replace(done(), phase=Phase.RUNNING, best=None, trials=done().trials[:1])
    write_status(server, name, running)

    def finish() -> None:
        time.sleep(5)
        write_status(server, name, replace(done(), phase=end))

    thread = threading.Thread(target=finish)
    thread.start()
    result = cepheid(
        "trial", "watch", name, "-n", "research", "--timeout", "2min", KUBECONFIG=admin
    )
    thread.join()
    assert result.returncode == code, result.stderr
    said = result.stdout
    assert said.index("1xA100-80: measured") < said.index("4xT4: out-of-memory")
    assert said.count("1xA100-80: measured") == 1
    assert said.splitlines()[-1].startswith("Ask for 1 worker")


def test_watch_gives_up_when_time_is_up_and_when_it_is_deleted(
    server: ApiServer, cepheid: Run, admin: str, made: str
) -> None:
    asked = ("trial", "watch", made, "-n", "research", "--timeout")
    late = cepheid(*asked, "1s", KUBECONFIG=admin)
    assert (late.returncode, "time is up" in late.stderr) == (1, True)

    def delete() -> None:
        time.sleep(3)
        server.admin.within("research")("delete", "placementtrial", made)

    thread = threading.Thread(target=delete)
    thread.start()
    gone = cepheid(*asked, "2min", KUBECONFIG=admin)
    thread.join()
    assert (gone.returncode, "was deleted" in gone.stderr) == (1, True)


def test_one_that_is_not_there_names_the_namespace(cepheid: Run, admin: str) -> None:
    for command in ("show", "watch"):
        result = cepheid("trial", command, "nothing", "-n", "vision", KUBECONFIG=admin)
        assert result.returncode == 1
        assert "namespace vision has no PlacementTrial 'nothing'" in result.stderr
        assert "cepheid trial list -A" in result.stderr


def test_without_rights_the_role_is_named_and_the_rest_shown(
    server: ApiServer, cepheid: Run, made: str, tmp_path: Path
) -> None:
    viewer = _kubeconfig(server, tmp_path, "ann", can_list=True)
    rows = json.loads(cepheid("trial", "list", "-A", "-o", "json", KUBECONFIG=viewer).stdout)
    assert made in {row["name"] for row in rows}
    everywhere = cepheid("trial", "list", "-A", KUBECONFIG=viewer)
    assert "you may not read the trials of" in everywhere.stderr
    for asked in (
        ("list", "-n", "secret"),
        ("create", "--job", "job/bert", "--api-version", "batch/v1", "-n", "research"),
    ):
        refused = cepheid("trial", *asked, KUBECONFIG=viewer)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "403" in refused.stderr
        assert "`edit`" in refused.stderr
    unread = cepheid("trial", "create", "--job", "job/bert", "-n", "research", KUBECONFIG=viewer)
    assert (unread.returncode, "--api-version" in unread.stderr) == (1, True)


def test_a_cluster_without_the_definition_is_told_how_to_install_it(
    tmp_path_factory: pytest.TempPathFactory, cepheid: Run
) -> None:
    with ApiServer(tmp_path_factory.mktemp("bare")) as bare:
        result = cepheid("trial", "list", "-A", KUBECONFIG=str(bare.admin.kubeconfig))
    assert result.returncode == 1
    assert "the cluster has no PlacementTrials" in result.stderr
    assert "kubectl apply -f manifests/cepheid.yaml" in result.stderr


def test_the_gpus_of_the_nodes_bound_the_forecast_of_usage(
    server: ApiServer, cepheid: Run, admin: str
) -> None:
    server.node("gpu-a")
    server.admin(
        *("patch", "node", "gpu-a", "--subresource=status", "--type=merge", "--patch"),
        json.dumps({"status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "4"}}}),
    )
    result = cepheid("usage", "-A", "--forecast", "1d", "-o", "json", KUBECONFIG=admin)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)["forecast"]
    assert (found["gpus"], found["method"]) == (8, None)
    assert "nodes of the cluster" in found["gpus_told_by"]
