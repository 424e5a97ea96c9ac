"""The same commands on a real PostgreSQL, by its URL."""

import json
from collections.abc import Iterator

import pytest

from cepheid.history import History
from tests.cli.conftest import Run
from tests.stage.postgres import PASSWORD, Postgres
from tests.unit.reports.runs import pod_job, process


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.database() as address:
        with History.open(address) as history:
            history.keep([process(number) for number in range(4)])
            history.keep([pod_job(number) for number in range(5)])
        yield address


def test_every_command_reads_a_database_by_its_url(cepheid: Run, url: str) -> None:
    rows = json.loads(cepheid("jobs", "--history", url, "-o", "json").stdout)
    assert len(rows) == 9
    told = cepheid("job", "bert-nightly-28", "--history", url)
    assert "yes: 2 h 14 min in the last 4 runs" in told.stdout
    assert "breaks 0 of the last 4 runs" in told.stdout.replace("\n", " ")
    groups = json.loads(cepheid("stats", "--by", "kind", "--history", url, "-o", "json").stdout)
    assert {row["group"]: row["jobs"] for row in groups} == {"MPIJob": 5, "Process": 4}
    assert "is like" in cepheid("compare", "train.py", "--history", url).stdout
    assert len(cepheid("export", "--history", url).stdout.splitlines()) == 9


def test_of_a_database_a_namespace_is_a_filter(cepheid: Run, url: str) -> None:
    rows = json.loads(cepheid("jobs", "-n", "research", "--history", url, "-o", "json").stdout)
    assert {row["namespace"] for row in rows} == {"research"}


def test_a_dry_run_of_pruning_takes_all_of_it_back(cepheid: Run, url: str) -> None:
    asked = ("prune", "--keep", "1", "--history", url)
    assert "7 jobs would be deleted" in cepheid(*asked, "--dry-run").stderr
    assert "7 jobs were deleted" in cepheid(*asked).stderr
    assert "0 jobs were deleted" in cepheid(*asked).stderr


def test_its_address_may_be_a_variable_and_its_password_is_said_nowhere(
    cepheid: Run, url: str
) -> None:
    assert len(json.loads(cepheid("jobs", "-o", "json", CEPHEID_HISTORY=url).stdout)) == 9
    wrong = url.replace(PASSWORD, "S3CRET")
    for result in (
        cepheid("jobs", "--history", wrong),
        cepheid("prune", "--keep", "9", "--history", url),
    ):
        assert PASSWORD not in result.stderr + result.stdout
        assert "S3CRET" not in result.stderr + result.stdout
    assert cepheid("jobs", "--history", wrong).returncode == 1


def test_a_server_that_is_away_is_said_with_a_hint(cepheid: Run) -> None:
    result = cepheid("jobs", "--history", "postgresql://ann@127.0.0.1:9/none")
    assert result.returncode == 1
    assert "hint: " in result.stderr
    assert "Traceback" not in result.stderr
