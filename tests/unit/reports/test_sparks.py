"""A time series in a dozen characters."""

from cepheid.history import TimeSeries
from cepheid.reports.sparks import in_cells, spark
from tests.unit.reports.runs import series


def test_a_rise_is_seen_to_rise() -> None:
    drawn = spark(in_cells(series(), "cpu_cores", added=True), 8.0)
    assert drawn == "".join(sorted(drawn))
    assert (drawn[0], drawn[-1], len(drawn)) == ("▁", "█", 12)


def test_heights_are_shares_of_the_limit() -> None:
    assert spark([25.0, 50.0, 100.0], 100.0) == "▃▅█"
    assert spark([1.0, 1.0], 100.0) == "▁▁"
    assert spark([0.0, 0.0]) == "▁▁"


def test_gaps_are_gaps_and_nothing_is_nothing() -> None:
    assert spark([1.0, None, 1.0], 1.0) == "█ █"
    assert spark([None, None]) == ""
    assert in_cells(series(), "uss_bytes", added=True) == []


def test_workers_are_added_up_or_averaged() -> None:
    assert set(in_cells(series(), "power_watts", added=True)) == {150.0}
    assert set(in_cells(series(), "gpu_util_percent", added=False)) == {50.0}


def test_what_was_kept_of_the_whole_job_counts_before_its_workers() -> None:
    kept = [TimeSeries("cpu_cores", [0.0, 1.0], [4.0, 4.0]), *_worker()]
    assert set(in_cells(kept, "cpu_cores", added=True, cells=2)) == {4.0}


def test_a_single_sample_is_no_reason_to_fail() -> None:
    one = [TimeSeries("cpu_cores", [5.0], [None])]
    assert spark(in_cells(one, "cpu_cores", added=True)) == ""


def _worker() -> list[TimeSeries]:
    return [TimeSeries("cpu_cores", [0.0, 1.0], [1.0, 1.0], "a")]
