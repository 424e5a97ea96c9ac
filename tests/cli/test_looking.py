"""jobs, job, stats and compare: what a user sees, and what a program gets."""

import csv
import io
import json
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from cepheid.history import History
from cepheid.jobprofile import JobProfile, Outcome, Reason, from_document, from_json
from cepheid.reports.plain import width
from tests.cli.conftest import Run
from tests.unit.history.strategies import ATTACKS
from tests.unit.reports.runs import pod_job, process

FIRST = "00000000"
TITLES = ["ID", "NAME", "STATUS", "AGE", "TOOK", "CPU", "MEMORY", "GPUS", "GPU"]


def test_jobs_are_listed_newest_first(cepheid: Run, kept: History) -> None:
    result = cepheid("jobs")
    assert (result.returncode, result.stderr) == (0, "")
    title, first, *_ = result.stdout.splitlines()
    assert title.split()[:2] == ["ID", "NAMESPACE"]
    assert first.split()[:3] == [FIRST, "laptop", "train.py"]
    assert len(result.stdout.splitlines()) == 1 + kept.count()


def test_jobs_of_one_kind_show_what_they_used(full: Run) -> None:
    title, first, *_ = full("jobs", "--kind", "Process").stdout.splitlines()
    assert title.split() == TITLES
    assert first.split()[-6:] == ["3.9", "6", "GiB", "1xRTX3090", "71", "%"]


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        (["--name", "train.py"], 6),
        (["--name", "*.sh"], 1),
        (["--status", "failed"], 0),
        (["--user", "lin"], 1),
        (["--kind", "MPIJob"], 1),
        (["--since", "2026-03-01T11:30"], 1),
        (["--until", "2026-03-01T11:30"], 7),
        (["--limit", "3"], 3),
        (["--local", "--namespace", "research"], 1),
    ],
)
def test_jobs_are_chosen(full: Run, asked: list[str], count: int) -> None:
    result = full("jobs", "--output", "json", *asked)
    assert len(json.loads(result.stdout)) == count
    assert result.returncode == 0


def test_every_form_holds_the_same(full: Run) -> None:
    asked = ("jobs", "--limit", "2", "--output")
    first = json.loads(full(*asked, "json").stdout)
    assert yaml.safe_load(full(*asked, "yaml").stdout) == first
    rows = list(csv.DictReader(io.StringIO(full(*asked, "csv").stdout)))
    assert [row["id"] for row in rows] == [one["id"] for one in first]
    assert list(rows[0]) == list(first[0])
    assert float(rows[0]["memory_peak_bytes"]) == first[0]["memory_peak_bytes"]


@pytest.mark.parametrize("command", [["jobs"], ["job"], ["stats"], ["compare", "train.py"]])
def test_at_80_columns_in_a_pipe_nothing_is_wider_and_nothing_is_coloured(
    full: Run, command: list[str]
) -> None:
    result = full(*command, FORCE_COLOR="1", TERM="xterm-256color")
    assert result.returncode == 0
    assert "\x1b" not in result.stdout
    assert max(width(line) for line in result.stdout.splitlines()) <= 80


def test_a_job_is_told_in_words_then_in_figures_then_what_to_do(full: Run) -> None:
    told = full("job", "train.py").stdout
    assert told.startswith("train.py succeeded in 11 min 40 s on 1 x RTX3090 (wolf).\n\n")
    lines = [line.split(maxsplit=1) for line in told.splitlines()]
    labels = [line[0] for line in lines if line]
    assert labels.index("CPU") < labels.index("phases") < labels.index("next")
    assert "▁▁▂▃" in told
    assert "yes: 11 min 47 s to 12 min 15 s in the last 5 runs" in told
    assert 'resources.requests: {cpu: "6.9", memory: 7Gi}' in told


def test_a_clusters_job_from_a_history_says_which_line_of_its_yaml(full: Run) -> None:
    told = full("job", "bert-nightly-18").stdout
    assert "resources.limits.memory: 44Gi" in told
    assert "(Worker, container trainer: frees 81.7 GiB)" in told


def test_without_an_id_it_is_the_latest_and_for_programs_the_whole_profile(
    cepheid: Run, kept: History
) -> None:
    latest = kept.find(limit=1)[0]
    assert from_json(cepheid("job", "-o", "json").stdout) == latest
    assert from_document(yaml.safe_load(cepheid("job", "-o", "yaml").stdout)) == latest
    assert cepheid("job", "-o", "csv").stdout.splitlines()[1].startswith(latest.job.uid)


def test_unknown_and_ambiguous_jobs_are_said_with_a_hint(full: Run) -> None:
    for wanted, said in (("trian.py", "is it train.py?"), ("0000000", "give more of it")):
        result = full("job", wanted)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.splitlines()[1] == f"hint: {said}"


@pytest.mark.parametrize("command", [["jobs"], ["stats"], ["job"], ["compare", "a"]])
def test_an_empty_history_says_what_to_do_first_and_makes_no_file(
    cepheid: Run, tmp_path: Path, command: list[str]
) -> None:
    result = cepheid(*command)
    assert "cepheid run" in result.stderr
    assert result.stdout == ""
    assert not list(tmp_path.rglob("*.db"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["jobs", "--since", "soon"], "--since is 'soon'"),
        (["jobs", "--limit", "0"], "'--limit'"),
        (["jobs", "--status", "great"], "'--status'"),
        (["jobs", "--output", "xml"], "'--output'"),
        (["jobs", "--local", "--context", "x"], "two places"),
        (["stats", "--by", "colour"], "--by is 'colour'"),
        (["stats", "--prices", "/nowhere.json"], "cannot be read"),
        (["prune"], "nothing says which jobs"),
        (["prune", "--older-than", "long"], "--older-than"),
        (["prune", "--max-size", "big"], "--max-size"),
        (["compare"], "Missing argument"),
        (["import", "/nowhere.jsonl"], "cannot be read"),
    ],
)
def test_wrong_use_exits_2_with_a_hint(full: Run, command: list[str], said: str) -> None:
    result = full(*command)
    assert (result.returncode, result.stdout) == (2, "")
    error, hint = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert hint.startswith("hint: ")


def test_a_history_that_is_not_there_is_no_empty_one(cepheid: Run, tmp_path: Path) -> None:
    result = cepheid("jobs", "--history", tmp_path / "typo.db")
    assert result.returncode == 1
    assert "there is no history at" in result.stderr


def test_a_broken_history_is_said_and_not_touched(cepheid: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_text("no database at all" * 500)
    before = broken.read_bytes()
    for command in (["jobs"], ["job"], ["stats"], ["export"]):
        result = cepheid(*command, "--history", broken)
        assert result.returncode == 1
        assert "hint: " in result.stderr
        assert "Traceback" not in result.stderr
    assert broken.read_bytes() == before


def test_hostile_names_reach_no_terminal_raw(cepheid: Run, tmp_path: Path) -> None:
    place = tmp_path / "hostile.db"
    with History.open(place) as history:
        history.keep([_hostile(number, text) for number, text in enumerate(ATTACKS)])
    commands = [["jobs"], ["jobs", "-o", "csv"], ["jobs", "-o", "json"], ["stats"]]
    for number in range(len(ATTACKS)):
        commands += [["job", f"{number:08x}"], ["job", f"{number:08x}", "-o", "yaml"]]
    for command in commands:
        result = cepheid(*command, "--history", place)
        assert result.returncode == 0, result.stderr
        for text in (result.stdout, result.stderr):
            assert all(line.isprintable() for line in text.split("\n")), command


def _hostile(number: int, text: str) -> JobProfile:
    seen = process().process
    assert seen is not None
    return process(
        number,
        name=text,
        series=text,
        user=text,
        message=text,
        verdict=text[:60],
        advice=(text,),
        outcome=Outcome.FAILED,
        reason=Reason.SIGNAL,
        process=replace(seen, command=text, host=text, skipped=(text,)),
    )


def test_stats_add_up_and_cost_by_a_price_list(full: Run, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("{RTX3090: 1.0, currency: EUR}")
    result = full("stats", "--by", "kind", "--prices", prices)
    title, process_row, bert, total = result.stdout.splitlines()
    assert title.split()[-2:] == ["COST", "EUR"]
    assert process_row.split()[:3] == ["Process", "7", "100"]
    assert process_row.split()[-1] == "1.20"
    assert bert.split()[-1] == "-"
    assert total.split()[:2] == ["(all)", "8"]
    assert "1 jobs are without a cost: no price for NVIDIA A100-SXM4-80GB" in result.stderr
    rows = json.loads(full("stats", "--by", "kind", "-o", "json").stdout)
    assert [row["jobs"] for row in rows] == [7, 1]


def test_compare_says_what_differs_and_fails_if_it_is_told_to(cepheid: Run, kept: History) -> None:
    same = cepheid("compare", "train.py", "--fail-on", "different")
    assert same.returncode == 0
    assert "nothing differs more than is usual" in same.stdout.replace("\n", " ")
    slow = process(seconds=1400.0, uid="f" * 32)
    kept.keep([replace(slow, ended=slow.ended and slow.ended.replace(hour=13))])
    worse = cepheid("compare", "ffff", "--fail-on", "worse")
    assert worse.returncode == 1
    assert "worse in duration" in worse.stdout
    other_way = cepheid("compare", "ffff", "00000000c", "--fail-on", "worse")
    assert other_way.returncode == 0
    assert cepheid("job", "ffff", "--fail-on", "worse").returncode == 1
    assert cepheid("job", "ffff", "--fail-on", "failed").returncode == 0
    rows = json.loads(cepheid("compare", "00000000c", "ffff", "-o", "json").stdout)
    assert {"duration": "worse"}.items() <= {row["figure"]: row["verdict"] for row in rows}.items()


def test_a_run_without_one_before_it_cannot_be_compared_alone(full: Run) -> None:
    result = full("compare", "etl.sh")
    assert result.returncode == 1
    assert "cepheid compare A B" in result.stderr


def test_pod_jobs_and_processes_stand_in_one_table(full: Run) -> None:
    names = [row["name"] for row in json.loads(full("jobs", "-o", "json").stdout)]
    assert {pod_job(10).job.name, "train.py", "etl.sh"} == set(names)
