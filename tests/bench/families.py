"""Synthetic series of which the truth is known, hard on purpose.

A family is a function of a random generator and a length that returns one series; the same seed
gives the same series. Lengths are 128 to 2,048 samples, periods at least four samples and at most
a third of the length, mostly no whole number of samples. Noise is up to as large as the signal, a
tenth of the samples of every third series is missing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheid.model import FloatArray

Generator = np.random.Generator

LENGTHS = (128, 256, 512, 1024, 2048)
LONG = ("iterations in epochs", "resets")
"""Families that need room for what they are: 512 samples at least."""
NOISE = (0.1, 0.3, 0.6, 1.0)
"""Standard deviation of the noise in those of the signal."""
SHORTEST_PERIOD = 4.0
FEWEST_CYCLES = 3.0
MOST_CYCLES = 150.0


@dataclass(frozen=True, slots=True)
class Sample:
    family: str
    values: FloatArray
    periods: tuple[float, ...]
    """In samples; any of them is right as the primary one. None at all: not cyclic."""
    step_seconds: float = 1.0


Make = Callable[[Generator, int], tuple[FloatArray, tuple[float, ...]]]
Shape = Callable[[Generator, FloatArray], FloatArray]
"""From a phase that grows by 1 with every cycle to a signal."""


def _period(rng: Generator, n: int) -> float:
    most = min(n / SHORTEST_PERIOD, MOST_CYCLES)
    return float(n / np.exp(rng.uniform(np.log(FEWEST_CYCLES), np.log(most))))


def _noisy(
    rng: Generator, signal: FloatArray, trend: NDArray[np.floating] | float = 0.0
) -> FloatArray:
    """With noise, an offset and a scale of its own, and here and there without some samples."""
    spread = float(signal.std()) or 1.0  # a pulse may fall between two samples
    noise = rng.choice(NOISE) * rng.standard_normal(len(signal))
    values = signal + spread * (noise + trend)
    values = rng.uniform(-50, 50) + values * 10 ** rng.uniform(-1, 3)
    if rng.random() < 1 / 3:
        values[rng.random(len(values)) < 0.1] = np.nan
    return np.asarray(values)


def _sine(rng: Generator, phase: FloatArray) -> FloatArray:
    return np.sin(2 * np.pi * (phase + rng.random()))


def _square(rng: Generator, phase: FloatArray) -> FloatArray:
    return (phase % 1 < rng.uniform(0.1, 0.9)).astype(float)


def _sawtooth(rng: Generator, phase: FloatArray) -> FloatArray:
    tooth = phase % 1
    return tooth if rng.random() < 0.5 else 1 - tooth


def _bursts(rng: Generator, phase: FloatArray) -> FloatArray:
    """Short peaks, as of a checkpoint or an all-reduce, far from each other."""
    distance = np.abs((phase + rng.random()) % 1 - 0.5)
    return np.exp(-0.5 * (distance / rng.uniform(0.03, 0.08)) ** 2)


def _two_peaks(rng: Generator, phase: FloatArray) -> FloatArray:
    """Forward and backward pass, morning and evening: half the period nearly fits."""
    second = rng.uniform(0.3, 0.8)
    return np.sin(2 * np.pi * phase) + second * np.sin(4 * np.pi * phase + rng.uniform(0, 6))


SHAPES: tuple[Shape, ...] = (_sine, _square, _sawtooth, _bursts, _two_peaks)


def _any_shape(rng: Generator, phase: FloatArray) -> FloatArray:
    return SHAPES[int(rng.integers(len(SHAPES)))](rng, phase)


def _steady(shape: Shape) -> Make:
    def make(rng: Generator, n: int) -> tuple[FloatArray, tuple[float, ...]]:
        period = _period(rng, n)
        return _noisy(rng, shape(rng, np.arange(n) / period + rng.random())), (period,)

    return make


def _jittered(rng: Generator, n: int) -> tuple[FloatArray, tuple[float, ...]]:
    """Every iteration takes 5 to 15 % more or less than the one before; phases drift apart."""
    period = _period(rng, n)
    lengths = period * (1 + rng.uniform(0.05, 0.15) * rng.standard_normal(int(2 * n / period) + 8))
    ends = np.cumsum(np.maximum(lengths, 0.3 * period))
    starts = np.concatenate([[0.0], ends])
    phase = np.interp(np.arange(n), starts, np.arange(len(starts)))
    return _noisy(rng, _any_shape(rng, phase)), (float(n / phase[-1]),)


def _nested(rng: Generator, n: int) -> tuple[FloatArray, tuple[float, ...]]:
    """Iterations, and at the end of every epoch a pause."""
    epoch = n / rng.uniform(3, 8)
    per_epoch = int(rng.integers(5, 13))
    position = (np.arange(n) / epoch + rng.random()) % 1
    pause = rng.uniform(0.15, 0.4)
    working = position < 1 - pause
    iteration = epoch * (1 - pause) / per_epoch
    inside = position / (1 - pause) * per_epoch % 1 < rng.uniform(0.5, 0.8)
    return _noisy(rng, (working & inside) + 0.5 * working), (iteration, epoch)


def _drift(rng: Generator, n: int) -> tuple[FloatArray, tuple[float, ...]]:
    period = _period(rng, n)
    signal = _any_shape(rng, np.arange(n) / period)
    position = np.linspace(0, 1, n)
    trend = rng.uniform(-6, 6) * (position if rng.random() < 0.5 else position * position)
    return _noisy(rng, signal, trend), (period,)


def _level_shift(rng: Generator, n: int) -> tuple[FloatArray, tuple[float, ...]]:
    period = _period(rng, n)
    signal = _any_shape(rng, np.arange(n) / period)
    at = int(rng.uniform(0.2, 0.8) * n)
    shift = rng.uniform(-4, 4) * (np.arange(n) >= at)
    return _noisy(rng, signal, shift), (period,)


def _gaps(rng: Generator, n: int) -> tuple[FloatArray, tuple[float, ...]]:
    """Prometheus was away: whole stretches are missing."""
    period = _period(rng, n)
    values = _noisy(rng, _any_shape(rng, np.arange(n) / period))
    for _ in range(int(rng.integers(1, 4))):
        length = int(n * rng.uniform(0.03, 0.1))
        at = int(rng.integers(0, n - length))
        values[at : at + length] = np.nan
    return values, (period,)


def _resets(rng: Generator, n: int) -> tuple[FloatArray, tuple[float, ...]]:
    """The job is restarted now and then: the phase starts anew, with a quiet time before."""
    period = _period(rng, n // 3)
    phase = np.arange(n) / period
    signal = np.zeros(n)
    marks = np.sort(rng.choice(np.arange(n // 4, 3 * n // 4), 2, replace=False))
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    seed = int(rng.integers(2**32))
    for first, last in zip((0, *marks), (*marks, n), strict=True):
        quiet = int(rng.uniform(0, 0.03) * n)
        begin = min(first + quiet * (first > 0), last)
        again = np.random.default_rng(seed)
        signal[begin:last] = shape(again, phase[: last - begin])
    return _noisy(rng, signal), (period,)


def _quantised(rng: Generator, n: int) -> tuple[FloatArray, tuple[float, ...]]:
    """GPU_UTIL as it often is: 0 or 100, and now and then the wrong one of them."""
    period = _period(rng, n)
    on = (np.arange(n) / period + rng.random()) % 1 < rng.uniform(0.2, 0.8)
    wrong = rng.random(n) < rng.uniform(0, 0.15)
    return 100.0 * (on ^ wrong).astype(np.float64), (period,)


def _clipped(rng: Generator, n: int) -> tuple[FloatArray, tuple[float, ...]]:
    """Cut off at 0 and 100, as every utilisation is."""
    period = _period(rng, n)
    signal = rng.uniform(30, 90) * np.sin(2 * np.pi * (np.arange(n) / period + rng.random()))
    noise = rng.choice(NOISE) * signal.std() * rng.standard_normal(n)
    return np.clip(rng.uniform(20, 80) + signal + noise, 0, 100), (period,)


def _white(rng: Generator, n: int) -> FloatArray:
    return rng.standard_normal(n)


def _autoregressive(rng: Generator, n: int) -> FloatArray:
    memory = rng.uniform(0.5, 0.95)
    values = np.empty(n + 200)
    last = 0.0
    for i, shock in enumerate(rng.standard_normal(n + 200)):
        last = memory * last + shock
        values[i] = last
    return values[200:]


def _random_walk(rng: Generator, n: int) -> FloatArray:
    return np.cumsum(rng.standard_normal(n))


def _shot_noise(rng: Generator, n: int) -> FloatArray:
    """Requests at random moments, each with a tail of work: what serving looks like."""
    arrivals = (rng.random(n) < rng.uniform(0.01, 0.2)) * rng.exponential(1.0, n)
    tail = np.exp(-np.arange(200) / rng.uniform(1, 20))
    return np.convolve(arrivals, tail)[:n] + 0.05 * rng.standard_normal(n)


def _ramp(rng: Generator, n: int) -> FloatArray:
    return rng.uniform(-20, 20) * np.linspace(0, 1, n) + rng.standard_normal(n)


def _levels(rng: Generator, n: int) -> FloatArray:
    values = rng.uniform(0.05, 1) * rng.standard_normal(n)
    for at in rng.integers(0, n, int(rng.integers(1, 7))):
        values[at:] += rng.uniform(-5, 5)
    return values


def _irregular_bursts(rng: Generator, n: int) -> FloatArray:
    """A person at a notebook: work of random length after pauses of random length."""
    busy, pause = n / rng.uniform(20, 80), n / rng.uniform(10, 40)
    ends = np.cumsum(rng.exponential(1.0, 800) * np.tile([pause, busy], 400) + 1)
    on = np.searchsorted(ends, np.arange(n)) % 2
    return 100.0 * on * rng.uniform(0.8, 1) + rng.uniform(0, 3) * rng.standard_normal(n)


POSITIVE: dict[str, Make] = {
    "sine": _steady(_sine),
    "square": _steady(_square),
    "sawtooth": _steady(_sawtooth),
    "bursts": _steady(_bursts),
    "two peaks": _steady(_two_peaks),
    "jittered iterations": _jittered,
    "iterations in epochs": _nested,
    "drift": _drift,
    "level shift": _level_shift,
    "gaps": _gaps,
    "resets": _resets,
    "quantised": _quantised,
    "clipped": _clipped,
}
NEGATIVE: dict[str, Callable[[Generator, int], FloatArray]] = {
    "white noise": _white,
    "AR(1) 0.5-0.95": _autoregressive,
    "random walk": _random_walk,
    "shot noise": _shot_noise,
    "ramps": _ramp,
    "level shifts": _levels,
    "irregular bursts": _irregular_bursts,
}


def samples(each: int, seed: int = 0) -> Iterator[Sample]:
    """`each` series of every family."""
    for family in (*POSITIVE, *NEGATIVE):
        for number in range(each):
            yield sample(family, number, seed)


def sample(family: str, number: int, seed: int = 0, length: int | None = None) -> Sample:
    """The same for the same arguments, whichever others are asked for."""
    rng = np.random.default_rng([seed, number, *family.encode()])
    drawn = int(rng.choice(LENGTHS[2:] if family in LONG else LENGTHS))
    n = drawn if length is None else length
    if family in NEGATIVE:
        return Sample(family, NEGATIVE[family](rng, n), ())
    return Sample(family, *POSITIVE[family](rng, n))
