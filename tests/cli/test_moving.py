"""export, import and prune: nothing is lost, nothing is doubled, nothing goes unasked."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cepheid.history import History
from cepheid.jobprofile import JobProfile
from tests.cli.conftest import Run


def profiles(place: Path) -> list[JobProfile]:
    with History.open(place) as history:
        return history.find(limit=1000)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_what_is_exported_is_imported_exactly_and_once(
    cepheid: Run, kept: History, tmp_path: Path, ending: str
) -> None:
    file, other = tmp_path / f"jobs.{ending}", tmp_path / "other.db"
    assert "8 jobs exported" in cepheid("export", file).stderr
    for _ in range(2):
        assert "8 jobs imported" in cepheid("import", file, "--history", other).stderr
    assert profiles(other) == kept.find(limit=1000)


def test_a_pipe_carries_what_was_chosen(full: Run, tmp_path: Path) -> None:
    lines = full("export", "--name", "*.sh", "--user", "ann").stdout
    assert json.loads(lines)["job"]["name"] == "etl.sh"
    other = tmp_path / "other.db"
    result = full("import", "-", "--history", other, stdin=lines)
    assert result.returncode == 0
    assert [one.job.name for one in profiles(other)] == ["etl.sh"]


def test_a_file_that_is_there_is_replaced_only_by_force(
    cepheid: Run, kept: History, tmp_path: Path
) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text("mine")
    refused = cepheid("export", file)
    assert (refused.returncode, file.read_text()) == (2, "mine")
    assert "--force" in refused.stderr
    assert cepheid("export", file, "--force").returncode == 0
    assert len(file.read_text().splitlines()) == kept.count()
    assert not list(tmp_path.glob("*.part"))


def test_where_nothing_can_be_written_that_is_said(full: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    result = full("export", tmp_path / "file/jobs.csv")
    assert result.returncode == 2
    assert "cannot be written" in result.stderr


def test_parquet_needs_a_file(full: Run) -> None:
    result = full("export", "--format", "parquet")
    assert (result.returncode, result.stdout) == (2, "")


def test_a_broken_line_ends_an_import_or_is_skipped_and_counted(
    cepheid: Run, kept: History, tmp_path: Path
) -> None:
    good = cepheid("export").stdout.splitlines()
    file, other = tmp_path / "jobs.jsonl", tmp_path / "other.db"
    file.write_text("\n".join([good[0], "{broken", *good[1:]]))
    stopped = cepheid("import", file, "--history", other)
    assert stopped.returncode == 1
    assert "line 2 of the import is broken" in stopped.stderr
    skipped = cepheid("import", file, "--history", other, "--skip-broken")
    assert skipped.returncode == 1
    assert "skipped: line 2" in skipped.stderr
    assert len(profiles(other)) == kept.count()


def test_prune_says_first_and_does_then(cepheid: Run, kept: History) -> None:
    asked = ("prune", "--keep", "2")
    assert "5 jobs would be deleted" in cepheid(*asked, "--dry-run").stderr
    assert kept.count() == 8
    assert "5 jobs were deleted" in cepheid(*asked).stderr
    assert sorted({one.job.name for one in kept.find()}) == ["bert-nightly-18", "train.py"]
    assert "3 jobs were deleted" in cepheid("prune", "--older-than", "1h").stderr
    assert kept.count() == 0


def test_prune_by_size_keeps_the_newest_that_fit(cepheid: Run, kept: History) -> None:
    result = cepheid("prune", "--max-size", "2KiB")
    assert result.returncode == 0
    assert 0 < kept.count() < 8
    assert kept.find()[0].job.uid.startswith("00000000")


def test_time_series_go_alone_where_that_is_asked(cepheid: Run, kept: History) -> None:
    uid = kept.find(limit=1)[0].job.uid
    assert kept.series(uid)
    cepheid("prune", "--series-older-than", "1h")
    assert not kept.series(uid)
    assert kept.count() == 8


def test_a_cluster_is_neither_imported_into_nor_pruned(full: Run, tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    full("export", file)
    for command in (["import", file], ["prune", "--keep", "1"]):
        result = full(*command, "--namespace", "team")
        assert result.returncode == 2
        assert "operator alone" in result.stderr


@pytest.fixture
def read_only(kept: History, tmp_path: Path) -> Iterator[Path]:
    """The folder of the history, where nothing can be written, not even by root."""
    kept.close()
    folder = tmp_path / ".local/share/cepheid"
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_a_history_that_may_not_be_written_to_can_be_read(cepheid: Run, read_only: Path) -> None:
    before = sorted(path.name for path in read_only.iterdir())
    assert cepheid("job", "train.py").stdout.startswith("train.py succeeded")
    for command in (["jobs", "-o", "csv"], ["export"], ["jobs", "--name", "*", "-o", "csv"]):
        assert len(cepheid(*command).stdout.splitlines()) in (8, 9)
    refused = cepheid("prune", "--keep", "1")
    assert refused.returncode == 1
    assert "are the file and its folder yours to write to?" in refused.stderr
    assert sorted(path.name for path in read_only.iterdir()) == before
