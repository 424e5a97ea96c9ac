"""Recorded series are read from a folder with a labels.csv."""

from pathlib import Path

import numpy as np
import pytest

from cepheid.errors import CepheidError
from tests.bench.recordings import recordings, windows

LABELS = """\
file,column,dt,periods_s,kind,truth
days.csv,load,300,86400;604800,pos,by eye
days.csv,noise,300,,neg,"a comma, quoted"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "labels.csv").write_text(LABELS)
    rows = [f"{i},{i % 288},{'' if i in (5, 3999) else 7}" for i in range(4000)]
    (tmp_path / "days.csv").write_text("t,load,noise\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_series_come_with_their_true_periods_in_steps(folder: Path) -> None:
    load, noise = recordings(folder)
    assert (load.name, load.kind) == ("days:load", "pos")
    assert load.series.periods == (288.0, 2016.0)
    assert load.series.values[:3].tolist() == [0, 1, 2]
    assert noise.series.periods == ()
    assert np.isnan(noise.series.values[5])
    assert len(noise.series.values) == 3999  # what is empty at the end is no series


def test_windows_cover_some_cycles_each(folder: Path) -> None:
    load, noise = recordings(folder)
    assert {len(w.values) for w in windows(load)} == {5 * 288, 8 * 288}
    assert {len(w.values) for w in windows(noise)} == {256, 512, 1024}


def test_a_folder_without_labels_is_named(tmp_path: Path) -> None:
    with pytest.raises(CepheidError, match=r"labels\.csv") as problem:
        list(recordings(tmp_path))
    assert "--data" in str(problem.value.hint)
