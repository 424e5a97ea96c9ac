"""A recording outlives whoever writes it, and tells what it is."""

import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import CepheidError
from cepheid.laptop.recording import (
    MOST_PENDING_BYTES,
    RecordingError,
    Trailer,
    Writer,
    boot_id,
    has_lost_its_recorder,
    parse,
    read,
    started_of,
    waiting,
)
from tests.unit.laptop.recordings import START, header

COLUMNS = {"cpu_seconds": 0, "rss_bytes": 0}
TRAILER = Trailer(ended_seconds=START + 2, outcome="failed", exit_code=3, skipped={"gpu": "none"})


def written(folder: Path, rows: int = 4) -> Writer:
    writer = Writer(folder, header(COLUMNS, tags={"a": "b"}))
    for row in range(rows):
        writer.append(START + row, [row / 2, math.nan if row == 1 else 1e9])
    return writer


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    writer = written(tmp_path)
    assert writer.close(TRAILER) == b""
    writer.release()
    found = read(writer.path)
    assert found.header == header(COLUMNS, tags={"a": "b"})
    assert len(found.rows) == 4 * 3 * 8
    assert found.trailer == TRAILER


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    writer = written(tmp_path_factory.mktemp("whole"))
    writer.close(TRAILER)
    writer.release()
    return writer.path.read_bytes()


@given(st.data())
def test_cut_anywhere_it_gives_the_rows_that_were_whole(whole: bytes, data: st.DataObject) -> None:
    begin = whole.index(b"\n") + 1
    rows = 4 * 24
    size = data.draw(st.integers(begin, len(whole)))
    found = parse(whole[:size])
    assert found.rows == whole[begin : begin + min(rows, (size - begin) // 24 * 24)]
    assert (found.trailer is None) == (size < len(whole))


@given(st.binary(max_size=300))
def test_what_is_no_recording_is_refused_and_nothing_else_happens(data: bytes) -> None:
    with pytest.raises(RecordingError) as problem:
        parse(data)
    assert problem.value.hint


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    writer = Writer(tmp_path, replace(header(COLUMNS), version=2))
    writer.close(TRAILER)
    with pytest.raises(RecordingError, match="version 2"):
        read(writer.path)
    writer.release()


def test_a_sample_of_another_shape_is_refused(tmp_path: Path) -> None:
    writer = written(tmp_path)
    with pytest.raises(CepheidError, match="3 values, 2 columns"):
        writer.append(START, [1.0, 2.0, 3.0])
    writer.release()


def test_without_a_disk_it_is_held_in_memory(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    writer = written(tmp_path / "taken/recordings")
    assert isinstance(writer.problem, OSError)
    unwritten = writer.close(TRAILER)
    found = read(writer.path, unwritten)
    assert (len(found.rows), found.trailer) == (4 * 24, TRAILER)


def test_memory_is_not_filled_instead_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    writer = Writer(tmp_path / "taken/recordings", header({f"c{n}": 0 for n in range(10_000)}))
    row = [0.0] * 10_000
    for at in range(MOST_PENDING_BYTES // (8 * 10_001) + 20):
        writer.append(START + at, row)
    assert writer.dropped > 10
    assert len(writer.close(TRAILER)) < MOST_PENDING_BYTES + 200_000


def test_whoever_writes_holds_it_until_it_dies(tmp_path: Path) -> None:
    writer = written(tmp_path)
    mine = read(writer.path).header
    assert not has_lost_its_recorder(writer.path, mine, boot_id())
    writer.release()
    assert has_lost_its_recorder(writer.path, mine, boot_id())


HOLDER = """
import sys, time
from pathlib import Path
from tests.unit.laptop.test_recording import written
writer = written(Path(sys.argv[1]))
print("there", flush=True)
time.sleep(60)
"""


def test_one_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "there\n"
        (path,) = waiting(tmp_path)
        found = read(path)
        assert not has_lost_its_recorder(path, found.header, boot_id())
        holder.send_signal(signal.SIGKILL)
    assert has_lost_its_recorder(path, found.header, boot_id())
    assert len(found.rows) == 4 * 24


def test_a_process_is_told_from_a_later_one_of_its_number(tmp_path: Path) -> None:
    assert started_of(os.getpid()) is not None
    (tmp_path / "7").mkdir()
    fields = " ".join(str(n) for n in range(4, 53))
    (tmp_path / "7/stat").write_text(f"7 (evil) name) S {fields}\n")
    assert started_of(7, tmp_path) == 22
    assert started_of(8, tmp_path) is None


def test_arguments_that_are_no_text_are_kept_as_well_as_they_can_be(tmp_path: Path) -> None:
    writer = Writer(tmp_path, header(COLUMNS, command="cat '\udcff'"))
    writer.close(TRAILER)
    writer.release()
    assert read(writer.path).header.command == "cat '?'"
