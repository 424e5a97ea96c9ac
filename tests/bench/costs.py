"""What the answers cost: CPU as a multiple of two FFTs in the same run, and memory to import."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tests.bench.detectors import Detector
from tests.bench.families import sample
from tests.bench.predictors import Predictor
from tests.bench.scores import task

LENGTHS = (128, 1024, 4096, 20160)
FAMILIES = (
    "sine",
    "square",
    "jittered iterations",
    "gaps",
    "clipped",
    "white noise",
    "random walk",
    "irregular bursts",
)


def _cpu_seconds(
    calls: Mapping[str, Callable[[], object]], budget_seconds: float
) -> dict[str, float]:
    """Of one call each: the lower quartile of rounds in which all take turns.

    Turns, since a machine is slow for all of them at once; the quartile, since what disturbs
    only ever adds; many calls a turn, since to read the clock costs too.
    """
    turns = {name: _calls_a_turn(call) for name, call in calls.items()}
    rounds: dict[str, list[float]] = {name: [] for name in calls}
    deadline = time.process_time() + budget_seconds
    while not all(rounds.values()) or time.process_time() < deadline:
        for name, call in calls.items():
            begin = time.process_time()
            for _ in range(turns[name]):
                call()
            rounds[name].append((time.process_time() - begin) / turns[name])
    return {name: float(np.quantile(times, 0.25)) for name, times in rounds.items()}


_TURN_SECONDS = 0.02


def _calls_a_turn(call: Callable[[], object]) -> int:
    call()
    begin = time.process_time()
    calls = 0
    while time.process_time() - begin < _TURN_SECONDS:
        call()
        calls += 1
    return calls


def two_ffts(length: int) -> Callable[[], object]:
    """The unit: of twice the length, forth and back, as any autocorrelation needs them."""
    values = np.random.default_rng(0).standard_normal(2 * length)
    return lambda: np.fft.irfft(np.fft.rfft(values), 2 * length)


def of_detection(
    detectors: Mapping[str, Detector], length: int, budget_seconds: float
) -> tuple[float, dict[str, float]]:
    """Milliseconds of the unit, and by detector the mean multiple of it over the families."""
    series = [sample(family, 0, 1, length).values for family in FAMILIES]
    multiples: dict[str, list[float]] = {name: [] for name in detectors}
    units = []
    for values in series:
        calls: dict[str, Callable[[], object]] = {"unit": two_ffts(length)}
        calls |= {name: partial(detect, values) for name, detect in detectors.items()}
        seconds = _cpu_seconds(calls, budget_seconds / len(series))
        units.append(seconds["unit"])
        for name in detectors:
            multiples[name].append(seconds[name] / seconds["unit"])
    return 1e3 * float(np.mean(units)), {n: float(np.mean(m)) for n, m in multiples.items()}


def of_forecasts(
    predictors: Mapping[str, Predictor], length: int, budget_seconds: float
) -> dict[str, float]:
    """Milliseconds a series, the mean over the families."""
    tasks = [task(sample(family, 0, 1, length)) for family in FAMILIES]
    spent: dict[str, list[float]] = {name: [] for name in predictors}
    for work in tasks:
        calls: dict[str, Callable[[], object]] = {
            name: partial(predict, work.past, len(work.future), work.period)
            for name, predict in predictors.items()
        }
        for name, seconds in _cpu_seconds(calls, budget_seconds / len(tasks)).items():
            spent[name].append(1e3 * seconds)
    return {name: float(np.mean(times)) for name, times in spent.items()}


_IMPORT = """
import sys, time
begin = time.process_time()
import {modules}
cpu = time.process_time() - begin
# Not getrusage: that remembers the size of the process which started this one.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
heavy = [m for m in ("scipy", "pandas", "statsmodels") if m in sys.modules]
print(int(peak.split()[1]) / 1024, cpu, *heavy)
"""


def of_import(modules: str) -> tuple[float, float, list[str]]:
    """MiB of a process that did nothing else, CPU seconds, and heavy libraries it brought along.

    The best of five: the first has cold files.
    """
    code = _IMPORT.format(modules=modules)
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    words = [run.stdout.split() for run in runs]
    return min(float(w[0]) for w in words), min(float(w[1]) for w in words), words[0][2:]
