"""How exactly is a job's pace known? Simulated jobs, their true iterations beside what is read off.

    python -m tests.bench.pace [--jobs=200]

Each job has a duty, a phase and a jitter of its own; what a scrape sees is exact but for 1 % of
noise. `seen` is the share of jobs that show a period at all, `error` the root mean square of what
was wrong with it, `claimed` that of the standard errors that were given with it, `held` the share
within twice its standard error, and `false` how many were off by more than a fifth.
"""

import argparse
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cepheid.jobs.pulse import Pace, pace_of
from cepheid.model import FloatArray
from tests.unit.jobs.pulsing import START, Job

SCRAPES = (3.6, 4.0, 5.3, 7.0, 10.0, 14.0, 20.0)
"""In a period."""
CYCLES = (3.4, 5.0, 7.0, 10.0, 20.0)
SAMPLES = (8, 12, 24, 48)
JITTERS = (0.005, 0.02, 0.05)
FALSE = 0.2


class Row(NamedTuple):
    jobs: int
    seen: int
    false: int
    error_percent: float
    claimed_percent: float
    held: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=200, help="of each kind")
    jobs = parser.parse_args().jobs
    print("period\nscrapes  cycles  jitter   seen  false   error  claimed   held")
    for jitter in JITTERS:
        for scrapes in SCRAPES:
            for cycles in CYCLES:
                row = periods(scrapes, cycles, jitter, jobs)
                print(f"{scrapes:7g} {cycles:7g} {jitter:7.1%} {_line(row)}", flush=True)
    print("\nwork, of iterations of a tenth of a scrape and of 1.3 scrapes")
    print("samples  scrapes  jitter   seen  false   error  claimed   held")
    for scrapes in (0.1, 1.3):
        for samples in SAMPLES:
            row = work(scrapes, samples, 0.02, jobs)
            print(f"{samples:7} {scrapes:8g} {0.02:7.1%} {_line(row)}")


def periods(scrapes: float, cycles: float, jitter: float, jobs: int) -> Row:
    found = []
    for seed in range(jobs):
        true = scrapes * (0.97 + 0.06 * (seed % 31) / 30)
        pace = _pace(true, int(np.ceil(scrapes * cycles)) + 1, jitter, seed)
        if pace is not None and pace.period_seconds and pace.period_error_ratio:
            found.append((pace.period_seconds / true - 1, pace.period_error_ratio))
    return _row(found, jobs)


def work(scrapes: float, samples: int, jitter: float, jobs: int) -> Row:
    found = []
    for seed in range(jobs):
        pace = _pace(scrapes, samples + 1, jitter, seed)
        true = 312 * 0.5 * _duty(seed)
        if pace is not None and pace.teraflops and pace.teraflops_error_ratio:
            found.append((pace.teraflops / true - 1, pace.teraflops_error_ratio))
    return _row(found, jobs)


def _pace(scrapes: float, slots: int, jitter: float, seed: int) -> Pace | None:
    job = Job(scrapes, slots, step_seconds=1.0, jitter=jitter, duty=_duty(seed), seed=seed)
    return pace_of(job.series(), from_seconds=START - 1, workers=job.names)


def _duty(seed: int) -> float:
    return 0.3 + 0.6 * (seed * 0.618 % 1)


def _row(found: Iterable[tuple[float, float]], jobs: int) -> Row:
    every = list(found)
    true = np.array([one for one in every if abs(one[0]) < FALSE]).reshape(-1, 2)
    if not len(true):
        return Row(jobs, len(every), len(every), np.nan, np.nan, np.nan)
    off, claimed = true.T
    return Row(
        jobs,
        len(every),
        len(every) - len(true),
        100 * _root_mean_square(off),
        100 * _root_mean_square(claimed),
        float(np.mean(np.abs(off) < 2 * claimed)),
    )


def _root_mean_square(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _line(row: Row) -> str:
    return (
        f"{row.seen / row.jobs:6.0%} {row.false:6} {row.error_percent:6.2f}%"
        f" {row.claimed_percent:7.2f}% {row.held:6.0%}"
    )


if __name__ == "__main__":
    main()
