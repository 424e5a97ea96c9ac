"""Out of one history and into another: everything, once, and nothing that a spreadsheet runs."""

import csv
import io
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cepheid.errors import HistoryRefusedError, ImportBrokenError
from cepheid.history import History, Kept
from cepheid.history.exchange import READERS, WRITERS, Form, export_jobs, import_jobs
from cepheid.history.lines import MOST_BYTES, from_line
from cepheid.history.sheet import COLUMNS, FORMULAS, PROFILE, cells
from cepheid.jobprofile import JobProfile, Worker, from_json
from tests.unit.history.strategies import ATTACKS, PROFILES, WORKERS, profile, several

FORMS = pytest.mark.parametrize("form", list(Form))
MANY = tuple(Worker(name=f"w-{number}") for number in range(20))
JOBS = st.lists(st.builds(Kept, PROFILES, st.lists(WORKERS, max_size=3).map(tuple)), max_size=5)


def written(form: Form, jobs: list[Kept]) -> io.BytesIO:
    stream = io.BytesIO()
    assert WRITERS[form](jobs, stream) == len(jobs)
    stream.seek(0)
    return stream


@FORMS
@given(JOBS)
@settings(max_examples=40)
def test_every_form_brings_every_field_back(form: Form, jobs: list[Kept]) -> None:
    stream = written(form, jobs)
    assert [from_line(text, number) for number, text in READERS[form](stream)] == jobs
    assert not stream.closed


@FORMS
@given(several())
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_history_imported_twice_is_the_same_history(
    tmp_path_factory: pytest.TempPathFactory, form: Form, profiles: list[JobProfile]
) -> None:
    folder = tmp_path_factory.mktemp("exchange")
    with History.open(folder / "one.db") as one, History.open(folder / "two.db") as two:
        one.keep(profiles, {kept.job.uid: MANY for kept in profiles})
        stream = io.BytesIO()
        assert export_jobs(one, stream, form) == len(profiles)
        for _ in range(2):
            stream.seek(0)
            assert import_jobs(two, stream, form) == len(profiles)
        assert list(two.each()) == list(one.each())
        assert [kept.workers for kept in two.each()] == [MANY] * len(profiles)


def test_a_line_is_the_profile_and_nothing_else() -> None:
    (line,) = written(Form.JSON_LINES, [Kept(profile(), MANY)]).read().splitlines()
    assert from_json(line) == profile()
    assert len(json.loads(line)["allWorkers"]) == 20


@given(PROFILES)
def test_no_cell_is_a_formula(kept: JobProfile) -> None:
    text = written(Form.CSV, [Kept(kept)]).read().decode()
    header, row = csv.reader(io.StringIO(text, newline=""))
    assert header == [*(column.name for column in COLUMNS), PROFILE]
    for cell, value in zip(row, [*cells(kept), None], strict=True):
        if isinstance(value, str):
            assert not cell.startswith(FORMULAS)
            assert cell in (value, f"'{value}")


@pytest.mark.parametrize("text", ATTACKS)
def test_only_what_would_be_computed_gets_an_apostrophe(text: str) -> None:
    stream = written(Form.CSV, [Kept(profile(name=text))])
    (row,) = csv.DictReader(io.TextIOWrapper(stream, "utf-8", newline=""))
    assert row["name"] == (f"'{text}" if text[0] in FORMULAS else text)


def test_a_negative_number_stays_a_number() -> None:
    stream = written(Form.CSV, [Kept(profile(exit_code=-9))])
    (row,) = csv.DictReader(io.TextIOWrapper(stream, "utf-8", newline=""))
    assert row["exit_code"] == "-9"
    assert row["ended"] == "2026-03-01T00:00:00+00:00"


def test_every_figure_of_the_usage_has_its_columns() -> None:
    names = {column.name for column in COLUMNS}
    assert {"memory_bytes_max", "gpu_util_percent_p95", "energy_joules", "cpu_cores_mean"} <= names
    assert len(names) == len(COLUMNS)


def _with_a_broken_one(form: Form) -> io.BytesIO:
    """The second of three."""
    good = [written(form, [Kept(profile(number))]).read() for number in range(3)]
    if form is Form.JSON_LINES:
        return io.BytesIO(good[0] + good[1][:40] + b"\n" + good[2])
    header, first = good[0].split(b"\n", 1)
    third = good[2].split(b"\n", 1)[1]
    return io.BytesIO(header + b"\n" + first + b"a,\xff\r\n" + third)


@pytest.mark.parametrize(("form", "number"), [(Form.JSON_LINES, 2), (Form.CSV, 3)])
def test_a_broken_line_is_named_and_ends_the_import(
    tmp_path: Path, form: Form, number: int
) -> None:
    with History.open(tmp_path / "h.db") as history:
        with pytest.raises(ImportBrokenError, match=f"line {number} ") as broken:
            import_jobs(history, _with_a_broken_one(form), form)
        assert broken.value.hint is not None


@pytest.mark.parametrize(("form", "number"), [(Form.JSON_LINES, 2), (Form.CSV, 3)])
def test_a_broken_line_is_skipped_for_who_is_told_of_it(
    tmp_path: Path, form: Form, number: int
) -> None:
    told: list[ImportBrokenError] = []
    with History.open(tmp_path / "h.db") as history:
        assert import_jobs(history, _with_a_broken_one(form), form, told.append) == 2
        assert history.find() == [profile(2), profile(0)]
    assert [f"line {number} " in problem.message for problem in told] == [True]


@pytest.mark.parametrize(
    ("form", "content"),
    [
        (Form.JSON_LINES, b"x" * (MOST_BYTES + 1)),
        (Form.CSV, b"profile\r\n" + b"x" * (MOST_BYTES + 1)),
        (Form.CSV, b"name,user\r\na,b\r\n"),
        (Form.CSV, b""),
        (Form.PARQUET, b"PAR1 not Parquet PAR1"),
        (Form.PARQUET, b""),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, form: Form, content: bytes) -> None:
    with History.open(tmp_path / "h.db") as history:
        with pytest.raises(ImportBrokenError) as broken:
            import_jobs(history, io.BytesIO(content), form, lambda _: None)
        assert broken.value.hint is not None
        assert history.count() == 0


def test_without_pyarrow_the_hint_says_how_to_get_it() -> None:
    program = (
        "import io, sys; sys.modules['pyarrow'] = None\n"
        "from cepheid.history.parquet import write_parquet\n"
        "write_parquet([], io.BytesIO())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert HistoryRefusedError.__name__ in done.stderr
    assert "cepheid[parquet]" in done.stderr


@FORMS
def test_a_large_history_never_sits_in_memory(tmp_path: Path, form: Form) -> None:
    """Ten times as many jobs do not take ten times the memory."""
    words = ("x" * 280,) * 40
    most = []
    for count in (600, 6000):
        path = tmp_path / f"{count}.{form}"
        with History.open(tmp_path / f"{count}.db") as history:
            history.keep(profile(number, advice=words) for number in range(count))
            tracemalloc.start()
            with path.open("wb") as stream:
                export_jobs(history, stream, form)
            with path.open("rb") as stream:
                import_jobs(history, stream, form)
            most.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert most[1] < 4 * most[0]
