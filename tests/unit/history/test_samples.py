"""Time series in a few bytes."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import HistoryBrokenError
from cepheid.history.samples import (
    CHUNK_SAMPLES,
    TimeSeries,
    chunks,
    joined,
    pack,
    unpack,
)

RELATIVE = 2**-13
VALUES = st.none() | st.floats(width=32)
TIMES = st.floats(-1e11, 1e11)


def there_and_back(series: TimeSeries, interval_seconds: float | None = None) -> TimeSeries:
    return joined("m", None, [chunk for _, chunk in chunks(series, interval_seconds)])


@given(st.dictionaries(st.integers(-(10**14), 10**14), VALUES, max_size=50))
def test_what_is_packed_comes_back_within_the_rounding(samples: dict[int, float | None]) -> None:
    found = unpack(pack(sorted(samples.items())))
    assert [time for time, _ in found] == sorted(samples)
    for time, value in found:
        given_value = samples[time]
        if given_value is None or not math.isfinite(given_value) or value is None:
            # Rounded, the largest of all 32 bit floats are infinite.
            assert value is None
            assert given_value is None or not abs(given_value) < 3.4e38
        elif abs(given_value) > 1e-30:
            assert value == pytest.approx(given_value, rel=RELATIVE)


@given(st.lists(st.tuples(st.floats(), st.none() | st.floats()), max_size=30))
def test_no_time_and_no_value_breaks_it(samples: list[tuple[float, float | None]]) -> None:
    times = [time for time, _ in samples]
    values = [value for _, value in samples]
    for interval_seconds in (None, 60.0):
        back = there_and_back(TimeSeries("m", times, values), interval_seconds)
        assert list(back.times_seconds) == sorted(set(back.times_seconds))
        assert all(value is None or math.isfinite(value) for value in back.values)


def test_whole_percents_and_half_cores_are_exact() -> None:
    values = [*map(float, range(101)), 0.5, 0.25, 12.5, 1024.0 * 2**20]
    series = TimeSeries("gpu_util_percent", [15.0 * n for n in range(len(values))], values)
    assert there_and_back(series).values == values


def test_a_long_series_is_several_chunks_and_comes_back_as_one() -> None:
    count = 2 * CHUNK_SAMPLES + 1
    times = [1.7e9 + 15 * n for n in range(count)]
    series = TimeSeries("m", times, [float(n % 7) for n in range(count)])
    packed = list(chunks(series, None))
    assert [begin for begin, _ in packed] == [round(1000 * t) for t in times[::CHUNK_SAMPLES]]
    assert there_and_back(series) == TimeSeries("m", times, series.values, None)


def test_the_mean_of_an_interval_stands_at_its_beginning_and_a_gap_stays_one() -> None:
    series = TimeSeries("m", [0, 15, 30, 45, 60, 75, 130], [1, 3, None, 8, None, math.nan, 5])
    thin = there_and_back(series, 60.0)
    assert (thin.times_seconds, thin.values) == ([0, 60, 120], [4, None, 5])


def test_of_chunks_that_overlap_the_later_one_is_right() -> None:
    early, late = pack([(0, 1.0), (1000, 2.0)]), pack([(1000, 3.0), (2000, 4.0)])
    assert joined("m", "w", [early, late]) == TimeSeries("m", [0, 1, 2], [1, 3, 4], "w")


@pytest.mark.parametrize("packed", [b"", b"nonsense", pack([(0, 1.0)])[:-3]])
def test_what_is_no_chunk_is_told(packed: bytes) -> None:
    with pytest.raises(HistoryBrokenError):
        unpack(packed)


def test_a_sample_of_a_noisy_load_takes_at_most_two_and_a_half_bytes() -> None:
    chance = random.Random(7)  # noqa: S311 - the same noise every time
    times = [1.7e9 + 15 * n + chance.choice((0, 0.001, 0.002)) for n in range(2000)]
    values = [chance.gauss(40e9, 1e9) for _ in times]
    ((_, packed),) = chunks(TimeSeries("memory_bytes", times, values), None)
    assert len(packed) / len(times) <= 2.5
