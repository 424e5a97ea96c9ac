"""Each forecaster against its own definition, written out sample by sample."""

import math
import statistics
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.forecasters import Past, names_of, predict
from cepheid.model import FloatArray

SIZE = 140
SEASONS: list[tuple[float, ...]] = [(), (7.0,), (8.0,), (6.4,), (12.3, 30.0), (5.0, 31.7)]
HORIZONS = np.array([1, 2, 5, 9, 14, 33])


def series(seed: int = 1, size: int = SIZE) -> FloatArray:
    """With its largest value first, so that what follows does not change the scale."""
    random = np.random.default_rng(seed)
    values: FloatArray = np.cumsum(random.standard_normal(size)) + 5 * np.sin(np.arange(size))
    values[0] = 100.0
    return values


def past_of(values: FloatArray) -> Past:
    return Past.of(values)[0]


def guesses_of(past: Past, origin: int, seasons: tuple[float, ...]) -> dict[str, list[float]]:
    rows = predict(past, np.array([origin]), HORIZONS, seasons)
    assert rows.shape == (len(names_of(seasons)), 1, len(HORIZONS))
    return {name: row[0].tolist() for name, row in zip(names_of(seasons), rows, strict=True)}


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def plain(x: list[float], fading: float, name: str, h: int) -> float:
    """From the last of `x`, `h` steps ahead."""
    exponential = [0.7**i for i in range(15)]
    stride = max((len(x) - 1) // 49, 1)
    every = [x[max(len(x) - 1 - stride * i, 0)] for i in range(49)]
    slope = (mean(x[-8:]) - mean(x[-24:-16])) / 16
    usual = {"mean": mean(x[-120:]), "median": statistics.median(every)}
    answers: dict[str, Callable[[], float]] = {
        "last value": lambda: x[-1],
        "median of 5": lambda: statistics.median(x[-5:]),
        "median of 15": lambda: statistics.median(x[-15:]),
        "exponential mean": lambda: (
            math.fsum(w * v for w, v in zip(exponential, reversed(x), strict=False))
            / sum(exponential)
        ),
        "mean of 30": lambda: mean(x[-30:]),
        "mean of 120": lambda: mean(x[-120:]),
        "median of all": lambda: usual["median"],
        "fading to the mean": lambda: usual["mean"] + fading**h * (x[-1] - usual["mean"]),
        "fading to the median": lambda: usual["median"] + fading**h * (x[-1] - usual["median"]),
        # From the middle of the eight to the last one, then nine tenths of each step before.
        "damped trend": lambda: mean(x[-8:]) + slope * (3.5 + sum(0.9**i for i in range(1, h + 1))),
    }
    return answers[name]()


def seasonal(x: list[float], season: float, cycles: int, name: str, h: int) -> float:
    """From the last of `x`, `h` steps ahead, by the same point of so many cycles."""
    ahead = math.ceil(h / season)
    same = [x[len(x) - 1 + h - round((ahead + i) * season)] for i in range(cycles)]
    weights = [0.6**i for i in range(cycles)]

    def weighted(values: list[float]) -> float:
        return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)

    def at_level(length: int) -> float:
        """The season, moved by how much the last samples differ from those a cycle ago."""
        ends = [len(x) - round((i + 1) * season) for i in range(cycles)]
        return mean(x[-length:]) - weighted([mean(x[end - length : end]) for end in ends])

    short = max(1, round(season) // 8)
    answers: dict[str, Callable[[], float]] = {
        "seasonal naive": lambda: same[0],
        "seasonal mean": lambda: weighted(same),
        "season at the last cycle's level": lambda: weighted(same) + at_level(round(season)),
        "season at the recent level": lambda: weighted(same) + at_level(short),
        "season with fading deviation": lambda: (
            weighted(same) + at_level(short) * 0.8 ** (h / short)
        ),
        "seasonal median": lambda: statistics.median(same),
        "seasonal mean of all": lambda: mean(same),
    }
    return answers[name]()


@pytest.mark.parametrize("origin", [48, 98, 139])
@pytest.mark.parametrize("name", names_of(()))
def test_plain_forecasters_are_their_definitions(name: str, origin: int) -> None:
    past = past_of(series())
    x = past.filled[: origin + 1].tolist()
    expected = [plain(x, past.fading, name, h) for h in HORIZONS.tolist()]
    assert guesses_of(past, origin, ())[name] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("origin", [130, 139])
@pytest.mark.parametrize("seasons", SEASONS[1:])
def test_seasonal_forecasters_are_their_definitions(
    seasons: tuple[float, ...], origin: int
) -> None:
    past = past_of(series())
    x = past.filled[: origin + 1].tolist()
    found = guesses_of(past, origin, seasons)
    for name in names_of(seasons)[len(names_of(())) :]:
        longer = name.startswith("longer ")
        season, cycles = (seasons[1], 2) if longer else (seasons[0], 4)
        expected = [
            seasonal(x, season, cycles, name.removeprefix("longer "), h) for h in HORIZONS.tolist()
        ]
        assert found[name] == pytest.approx(expected, abs=1e-9), name


def test_by_hand() -> None:
    """0 1 2 3 0 1 2 3 ... of period 4, in units of its largest."""
    values = np.tile([0.0, 1.0, 2.0, 3.0], 8)
    past, missing = Past.of(values)
    assert (past.scale, missing) == (3.0, 0)
    found = predict(past, np.array([len(values) - 1]), np.array([1, 2, 3, 4, 5]), (4.0,))
    guesses = dict(zip(names_of((4.0,)), 3 * found[:, 0], strict=True))
    for name in names_of((4.0,))[10:]:
        np.testing.assert_allclose(guesses[name], [0, 1, 2, 3, 0], atol=1e-12, err_msg=name)
    np.testing.assert_allclose(guesses["last value"], 3)
    np.testing.assert_allclose(guesses["median of 5"], 2)  # of 3 0 1 2 3
    np.testing.assert_allclose(guesses["mean of 120"], 1.5)
    np.testing.assert_allclose(guesses["damped trend"], 1.5)  # both eights are alike


@pytest.mark.parametrize("name", ["season at the last cycle's level", "season at the recent level"])
def test_seasons_at_a_level_go_on_with_a_trend(name: str) -> None:
    values = np.tile([0.0, 1.0, 2.0, 3.0], 9) + 0.5 * np.arange(36)
    past = past_of(values[:32])
    found = predict(past, np.array([31]), np.array([1, 2, 3, 4]), (4.0,))
    row = past.scale * found[names_of((4.0,)).index(name), 0]
    np.testing.assert_allclose(row, values[32:], atol=1e-9)


@pytest.mark.parametrize("seasons", SEASONS)
def test_as_many_names_as_rows_and_none_twice(seasons: tuple[float, ...]) -> None:
    names = names_of(seasons)
    assert len(set(names)) == len(names) == (10, 17, 22)[len(seasons)]
    rows = predict(past_of(series()), np.array([100, 120]), HORIZONS, seasons)
    assert rows.shape == (len(names), 2, len(HORIZONS))
    assert np.isfinite(rows).all()


@given(
    seed=st.integers(0, 1000),
    origin=st.integers(70, SIZE - 2),
    seasons=st.sampled_from(SEASONS),
    missing=st.sampled_from([0.0, 0.2, 0.6]),
)
def test_no_forecaster_looks_ahead(
    seed: int, origin: int, seasons: tuple[float, ...], missing: float
) -> None:
    """From a sample that was measured: the forecast's own origin always is."""
    random = np.random.default_rng(seed)
    values = np.where(random.random(SIZE) < missing, np.nan, series(seed))
    values[[0, origin, -1]] = 100.0, 1.0, 2.0
    other = values.copy()
    other[origin + 1 :] = random.uniform(-90, 90, SIZE - origin - 1)
    one, two = past_of(values), past_of(other)
    assert one.scale == two.scale
    origins = np.array([o for o in range(60, origin + 1) if np.isfinite(values[o])])
    before = predict(one, origins, HORIZONS, seasons)
    # How fast deviations fade is estimated once, from all of the series.
    after = predict(two._replace(fading=one.fading), origins, HORIZONS, seasons)
    np.testing.assert_array_equal(before, after)
    after = predict(two, origins, HORIZONS, seasons)
    changed = (before != after).any(axis=(1, 2))
    names = np.array(names_of(seasons))
    assert set(names[changed]) <= {"fading to the mean", "fading to the median"}


@pytest.mark.parametrize("seasons", SEASONS)
def test_many_origins_at_once_are_each_by_itself(seasons: tuple[float, ...]) -> None:
    past = past_of(series())
    origins = np.arange(0, SIZE, 7)
    together = predict(past, origins, HORIZONS, seasons)
    for number, origin in enumerate(origins):
        alone = predict(past, np.array([origin]), HORIZONS, seasons)
        np.testing.assert_allclose(together[:, number], alone[:, 0], atol=1e-12)


def test_a_season_whose_cycles_are_not_all_there_takes_the_newer_ones() -> None:
    x = series(size=30)
    past = past_of(x)
    found = predict(past, np.array([22]), np.array([1]), (10.0,))
    same = past.filled[[13, 3, 3, 3]]
    rows = dict(zip(names_of((10.0,)), found[:, 0, 0], strict=True))
    assert rows["seasonal mean of all"] == pytest.approx(same.mean())
    assert rows["seasonal median"] == pytest.approx(past.filled[3])
    assert rows["seasonal naive"] == past.filled[13]
    # Of the cycles before, only the last one is there as a whole.
    level = past.filled[13:23].mean() - past.filled[3:13].mean()
    at_level = rows["season at the last cycle's level"]
    assert at_level - rows["seasonal mean"] == pytest.approx(level)


def test_the_past_ends_with_its_last_sample_and_starts_with_its_first() -> None:
    values = np.array([np.nan, 2.0, np.nan, np.nan, -8.0, 4.0, np.inf, 0.0, np.nan, np.nan])
    past, missing = Past.of(values)
    assert missing == 2
    assert past.scale == 8.0
    np.testing.assert_array_equal(past.measured, [0.25, np.nan, np.nan, -1, 0.5, np.nan, 0])
    filled = [0.25, 0.25 - 1.25 / 3, 0.25 - 2.5 / 3, -1, 0.5, 0.25, 0]
    np.testing.assert_allclose(past.filled, filled)
    np.testing.assert_allclose(past.sums, np.concatenate(([0], np.cumsum(filled))))


def test_mean_is_over_the_samples_up_to_each_end_or_as_many_as_there_are() -> None:
    past = past_of(np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(4 * past.mean(np.array([0, 1, 2, 3]), 3), [1, 1.5, 2, 3])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.full(50, 3.0), 0.0),
        (np.zeros(50), 0.0),
        (np.arange(50) % 2.0, 0.0),
        (np.arange(5000) // 2500, 0.99),
        (np.array([1.0, 0.0, 0.0]), 0.0),
    ],
)
def test_fading_lies_between_0_and_99_hundredths(values: FloatArray, expected: float) -> None:
    assert past_of(values.astype(np.float64)).fading == expected


def test_fading_is_the_correlation_of_neighbours() -> None:
    random = np.random.default_rng(3)
    values = np.zeros(20_000)
    for i, shock in enumerate(random.standard_normal(len(values) - 1), 1):
        values[i] = 0.8 * values[i - 1] + shock
    assert past_of(values).fading == pytest.approx(0.8, abs=0.02)
