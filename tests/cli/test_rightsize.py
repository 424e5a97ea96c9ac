"""rightsize: what to ask for, how sure that is, and what applies it."""

import csv
import inspect
import io
import json
import subprocess
from pathlib import Path

import pytest
import yaml

from cepheid.cli.buffers import buffers
from cepheid.history import History
from cepheid.reports.plain import width
from cepheid.reports.sizing.advised import Rules
from tests.cli import sizing
from tests.cli.conftest import Ran, Run
from tests.unit.reports.runs import pod_job


@pytest.fixture
def rightsize(cepheid: Run, tmp_path: Path) -> Run:
    path = sizing.history(tmp_path)

    def run(*arguments: str, **environment: str) -> Ran:
        return cepheid("rightsize", *arguments, "--history", path, **environment)

    return run


def test_a_job_is_told_with_its_risk_and_what_it_frees(rightsize: Run) -> None:
    """33 GiB * 1.15 = 37.95, so 38Gi: 26 less for each of four pods."""
    result = rightsize("bert-nightly")
    title, first, *_ = result.stdout.splitlines()
    assert title.split()[:4] == ["CONTAINER", "FIELD", "NOW", "ASK"]
    assert first.split() == [
        *("Worker/trainer", "requests.memory", "64Gi", "38Gi", "lower"),
        *("0", "of", "4", "104", "GiB"),
    ]
    assert result.stderr == (
        "would have broken 0 of 4 runs, each left out in turn, frees 104 GiB, frees 48 cores\n"
    )
    assert "\nkubectl patch mpijob.v2beta1.kubeflow.org bert-nightly-28 " in result.stdout


def test_buffers_can_be_set(rightsize: Run) -> None:
    asked = ("bert-nightly", "--memory-buffer", "20", "--cpu-step", "5", "--runtime-buffer", "30")
    rows = json.loads(rightsize(*asked, "-o", "json").stdout)
    assert {row["field"]: row["advised_written"] for row in rows} == {
        "requests.memory": "40Gi",
        "limits.memory": "40Gi",
        "requests.cpu": "5",
        "limits.cpu": "5",
        "GPUs": "4",
        "spec.runPolicy.activeDeadlineSeconds": "10500",
    }


def test_the_options_have_the_defaults_of_the_rules() -> None:
    def command(rules: Rules) -> None:
        """Nothing."""

    offered = inspect.signature(buffers(command)).parameters
    default = Rules()
    assert {name: one.default for name, one in offered.items()} == {
        name: getattr(default, name) for name in Rules.__dataclass_fields__
    }


def test_too_few_runs_are_said_with_their_number(rightsize: Run) -> None:
    result = rightsize("bert-nightly", "--min-runs", "5")
    assert result.stdout == ""
    assert "4 runs kept, 4 of them show what it needs, and 5 are asked for" in result.stderr
    assert "hint: cepheid job bert-nightly-28" in result.stderr
    assert rightsize("bert-nightly", "--min-runs", "1").returncode == 2
    few = rightsize("--run", "bert-nightly", "--min-runs", "5")
    assert few.stderr.splitlines()[0] == "note: 1 job has fewer than 5 runs that tell"


def test_all_jobs_are_told_what_breaks_first_and_nothing_that_stays(rightsize: Run) -> None:
    rows = json.loads(rightsize("-o", "json").stdout)
    order = list(dict.fromkeys(row["job"] for row in rows))
    assert order == ["oom", "idle", "bert-nightly", "train.py"]
    assert "keep" not in {row["action"] for row in rows}
    assert {row["job"] for row in json.loads(rightsize("-l", "1", "-o", "json").stdout)} == {"oom"}
    assert {r["job"] for r in json.loads(rightsize("--run", "idle", "-o", "json").stdout)} == {
        "idle"
    }
    assert {r["job"] for r in json.loads(rightsize("--kind", "MPIJob", "-o", "json").stdout)} == {
        "bert-nightly"
    }


def test_a_killed_run_raises(rightsize: Run) -> None:
    rows = json.loads(rightsize("oom", "-o", "json").stdout)
    memory = next(row for row in rows if row["field"] == "limits.memory")
    assert (memory["now_written"], memory["advised_written"]) == ("16Gi", "24Gi")
    assert (memory["broken_runs"], memory["runs"]) == (1, 3)


def test_runs_of_one_job_can_be_chosen_by_when_they_ended(rightsize: Run) -> None:
    rows = json.loads(
        rightsize("oom", "--until", "2026-03-01", "--min-runs", "2", "-o", "json").stdout
    )
    assert {row["runs"] for row in rows} == {2}


def test_runs_of_one_job_can_be_chosen_by_anything_else_too(rightsize: Run) -> None:
    assert rightsize("oom", "--status", "running").stderr == "no job fits\n"
    assert rightsize("oom", "--kind", "MPIJob").stderr == "no job fits\n"
    good = json.loads(
        rightsize("oom", "--status", "success", "--min-runs", "2", "-o", "json").stdout
    )
    assert {row["action"] for row in good} == {"keep", "consider"}


def test_every_form_holds_the_same(rightsize: Run) -> None:
    first = json.loads(rightsize("-o", "json").stdout)
    assert yaml.safe_load(rightsize("-o", "yaml").stdout) == first
    rows = list(csv.DictReader(io.StringIO(rightsize("-o", "csv").stdout)))
    assert [row["field"] for row in rows] == [row["field"] for row in first]


def test_at_80_columns_without_colour(rightsize: Run) -> None:
    result = rightsize(FORCE_COLOR="1", TERM="xterm-256color")
    assert "\x1b" not in result.stdout
    assert max(width(line) for line in result.stdout.splitlines()) <= 80


def test_patches_of_several_jobs_can_be_run_as_they_are_printed(
    rightsize: Run, tmp_path: Path
) -> None:
    """By a shell, with something in kubectl's place that says what it was given."""
    printed = rightsize("--patch").stdout
    (tmp_path / "kubectl").write_text('#!/bin/sh\nprintf "%s|" "$@"\necho\n')
    (tmp_path / "kubectl").chmod(0o755)
    ran = subprocess.run(
        ["/bin/sh"],
        input=printed,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    arguments = ran.stdout.split("|")
    assert arguments[:5] == [
        *("patch", "mpijob.v2beta1.kubeflow.org", "bert-nightly-28"),
        *("--namespace=research", "--type=json"),
    ]
    assert json.loads(arguments[5].removeprefix("--patch="))[0]["value"] == "trainer"
    assert (ran.stderr, arguments[6:]) == ("", ["\n"])


def test_lines_of_a_manifest_alone_are_a_document(rightsize: Run) -> None:
    printed = rightsize("idle", "--patch").stdout
    (container,) = yaml.safe_load(printed)["spec"]["template"]["spec"]["containers"]
    assert container == {"name": "main", "resources": {"limits": {"nvidia.com/gpu": None}}}
    assert printed.startswith("# Job research/idle-0: ")
    both = rightsize("--kind", "Job", "--patch").stdout
    assert [one["kind"] for one in yaml.safe_load_all(both)] == ["Job", "Job"]


def test_patches_for_programs(rightsize: Run) -> None:
    (one,) = json.loads(rightsize("bert-nightly", "--patch", "-o", "json").stdout)
    assert (one["kind"], one["how"], one["patch"][0]["op"]) == ("MPIJob", "json", "test")
    assert one["command"].startswith("kubectl patch mpijob.")
    (lines,) = yaml.safe_load(rightsize("idle", "--patch", "-o", "yaml").stdout)
    assert (lines["how"], lines["command"]) == ("manifest", None)
    assert rightsize("idle", "--patch", "-o", "csv").returncode == 2


def test_names_that_make_no_command_are_said(cepheid: Run, tmp_path: Path) -> None:
    with History.open(tmp_path / "a.db") as history:
        history.keep(sizing.of_series("a; rm -rf $HOME", pod_job(n), n) for n in range(3))
    result = cepheid("rightsize", "--patch", "--history", tmp_path / "a.db")
    assert result.stdout == ""
    assert "no patch can be written" in result.stderr


def test_wrong_use_and_nothing_there(rightsize: Run, cepheid: Run) -> None:
    assert rightsize("idle", "--run", "idle").returncode == 2
    assert rightsize("nobody").returncode == 1
    assert rightsize("--name", "nobody").stderr == "no job fits\n"
    assert rightsize("--run", "honest").stderr == "nothing to change\n"
    assert "cepheid run" in cepheid("rightsize").stderr
