"""Cheap ways to guess the future, each from many moments of a series at once."""

from typing import NamedTuple

import numpy as np

from cepheid.analysis.autocovariance import IntArray, dot
from cepheid.model import FloatArray


class Past(NamedTuple):
    """A series up to its last sample, in units of its largest value."""

    measured: FloatArray
    """NaN in gaps."""
    filled: FloatArray
    """Gaps bridged by straight lines."""
    sums: FloatArray
    """Running sums of it, for means over any stretch."""
    fading: float
    """What a step leaves of a deviation from the usual."""
    scale: float

    @classmethod
    def of(cls, series: FloatArray) -> tuple["Past", int]:
        """And how many samples are missing at the end. At least one has to be finite."""
        known = np.flatnonzero(np.isfinite(series))
        end = int(known[-1]) + 1
        measured = series[known[0] : end]
        scale = float(np.abs(series[known]).max()) or 1.0
        measured = measured / scale
        filled = measured
        if len(known) < len(measured):
            at = known - known[0]
            measured = np.where(np.isfinite(measured), measured, np.nan)
            filled = np.interp(np.arange(len(measured)), at, measured[at])
        sums = np.zeros(len(filled) + 1)
        np.cumsum(filled, out=sums[1:])
        rest = filled - sums[-1] / len(filled)
        energy = dot(rest, rest)
        fading = dot(rest[1:], rest[:-1]) / energy if energy > 0 else 0.0
        past = cls(measured, filled, sums, min(max(fading, 0.0), 0.99), scale)
        return past, len(series) - end

    def mean(self, ends: IntArray, length: int) -> FloatArray:
        """Of the `length` samples up to each end, or as many as there are."""
        starts = np.maximum(ends + 1 - length, 0)
        return (self.sums[ends + 1] - self.sums[starts]) / (ends + 1 - starts)


_PLAIN = (
    "last value",
    "median of 5",
    "median of 15",
    "exponential mean",
    "mean of 30",
    "mean of 120",
    "median of all",
    "fading to the mean",
    "fading to the median",
    "damped trend",
)
_SEASONAL = (
    "seasonal naive",
    "seasonal mean",
    "season at the last cycle's level",
    "season at the recent level",
    "season with fading deviation",
)
_PRIMARY = ("seasonal median", "seasonal mean of all")
_DECAY = 0.6
"""What a cycle further back weighs less."""


def names_of(seasons: tuple[float, ...]) -> list[str]:
    names = list(_PLAIN)
    for number, _ in enumerate(seasons):
        names += [name if number == 0 else f"longer {name}" for name in _SEASONAL]
        names += _PRIMARY if number == 0 else ()
    return names


def predict(
    past: Past, origins: IntArray, horizons: IntArray, seasons: tuple[float, ...]
) -> FloatArray:
    """By forecaster, origin and horizon. `origins` are indices of the last sample known."""
    guesses = np.empty((len(names_of(seasons)), len(origins), len(horizons)))
    _plain(past, origins, horizons, guesses)
    row = len(_PLAIN)
    for number, season in enumerate(seasons):
        row = _seasonal(past, origins, horizons, season, guesses, row, primary=number == 0)
    return guesses


def _plain(past: Past, origins: IntArray, horizons: IntArray, guesses: FloatArray) -> None:
    x = past.filled
    last = x[origins]
    recent = x[np.maximum(origins[:, None] - _LAST_15, 0)]
    # 49 of the last 512: a median costs, and more would say the same.
    stride = np.maximum(np.minimum(origins, 512) // 49, 1)
    long_ago = x[np.maximum(origins[:, None] - stride[:, None] * _LAST_49, 0)]
    usual = np.partition(long_ago, 24, axis=1)[:, 24]
    mean_120 = past.mean(origins, 120)
    mean_8 = past.mean(origins, 8)
    slope = (mean_8 - past.mean(np.maximum(origins - 16, 0), 8)) / 16
    level = (
        last,
        np.sort(recent[:, :5], axis=1)[:, 2],
        np.sort(recent, axis=1)[:, 7],
        recent @ _EXPONENTIAL,
        past.mean(origins, 30),
        mean_120,
        usual,
    )
    for row, values in enumerate(level):
        guesses[row] = values[:, None]
    fading = past.fading**horizons
    guesses[7] = mean_120[:, None] + fading * (last - mean_120)[:, None]
    guesses[8] = usual[:, None] + fading * (last - usual)[:, None]
    # 3.5 steps from the middle of the eight to the last one, then ever less for each step.
    guesses[9] = mean_8[:, None] + (3.5 + 9.0 * (1.0 - 0.9**horizons)) * slope[:, None]


_LAST_15, _LAST_49 = np.arange(15), np.arange(49)
_EXPONENTIAL = 0.7**_LAST_15 / (0.7**_LAST_15).sum()


def _seasonal(
    past: Past,
    origins: IntArray,
    horizons: IntArray,
    season: float,
    guesses: FloatArray,
    row: int,
    *,
    primary: bool,
) -> int:
    """Fills in rows from `row` on; the next free one comes back."""
    cycles = np.arange(4 if primary else 2)
    ahead = np.ceil(horizons / season)
    backs = np.rint((ahead + cycles[:, None]) * season).astype(np.intp)
    at = origins[:, None] + (horizons - backs)[:, None, :]
    for older, newer in zip(at[1:], at[:-1], strict=True):
        np.copyto(older, newer, where=older < 0)  # so long ago there is nothing
    there = past.filled[np.maximum(at, 0)]
    weights = _DECAY**cycles / (_DECAY**cycles).sum()
    mean = np.tensordot(weights, there, 1)
    guesses[row], guesses[row + 1] = there[0], mean
    whole = max(1, round(season))
    short = max(1, whole // 8)
    lags = np.rint((cycles[:, None] + 1) * season).astype(np.intp)
    for offset, length in ((2, whole), (3, short)):
        ends = origins - lags
        ends = np.where(ends - length < 0, ends[0], ends)
        usual = weights @ past.mean(np.maximum(ends, 0), length)
        guesses[row + offset] = mean + (past.mean(origins, length) - usual)[:, None]
    guesses[row + 4] = mean + (guesses[row + 3] - mean) * 0.8 ** (horizons / short)
    if not primary:
        return row + 5
    total = there.sum(axis=0)
    guesses[row + 5] = 0.5 * (total - there.min(axis=0) - there.max(axis=0))  # of four
    guesses[row + 6] = 0.25 * total
    return row + 7
