"""`make bench-trials`: one command, one machine, one run, one page of Markdown on stdout."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.bench.trials import figures
from tests.bench.trials.scores import Score, score
from tests.bench.trials.truth import Job, jobs

SEEDS = (101, 102, 103)
"""Never those that the search was tuned on: 1, 2 and 3."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-trials", description=__doc__)
    parser.add_argument("--jobs", type=int, default=80, help="of each seed; 80 by default")
    parser.add_argument("--wide", type=int, default=40, help="with about a hundred placements each")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    options = parser.parse_args()
    if options.jobs < 1:
        print(f"error: {options.jobs} jobs are too few", file=sys.stderr)
        print("hint: at least 1; 20 have every family with every goal", file=sys.stderr)
        return 2
    begin = time.monotonic()

    def talk(words: str) -> None:
        print(f"{time.monotonic() - begin:5.0f} s  {words}", file=sys.stderr, flush=True)

    plain = [job for seed in options.seeds for job in jobs(options.jobs, seed)]
    wide = list(jobs(options.wide, options.seeds[0], wide=True))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        talk(f"{len(plain)} jobs of 32 placements")
        print_plain(list(_scored(pool, plain)), options.seeds)
        if wide:
            talk(f"{len(wide)} jobs of {len(wide[0].candidates)} placements")
            print_wide(list(_scored(pool, wide)))
    talk("done")
    return 0


def _scored(pool: ProcessPoolExecutor, some: list[Job]) -> Iterator[Score]:
    yield from pool.map(score, some, chunksize=4)


def print_plain(scores: list[Score], seeds: list[int]) -> None:
    print("## The search against its targets\n")
    print(f"4 types x 8 counts; seeds {', '.join(map(str, seeds))}; tuned on 1, 2 and 3.\n")
    print(figures.against_targets(scores))
    print(figures.beside_others(scores))
    print(figures.by(scores, lambda one: one.family, "within 5 %, by family"))
    print(figures.by(scores, lambda one: one.goal, "within 5 %, by goal"))
    print("### With a small budget, one to four trials at a time\n")
    print(figures.with_little(scores))
    print("### What else\n")
    print(figures.what_else(scores))


def print_wide(scores: list[Score]) -> None:
    print(f"## With {scores[0].placements} placements: also packed or spread, two layouts\n")
    print(figures.against_targets(scores))
    print(figures.beside_others(scores))


if __name__ == "__main__":
    sys.exit(main())
