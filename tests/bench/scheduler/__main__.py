"""`make bench-scheduler`: one command, one core, one page of Markdown on stdout."""

import argparse
import sys
import time

from tests.bench.scheduler import figures
from tests.bench.scheduler.families import FAMILIES
from tests.bench.scheduler.policies import EXTENDER_WEIGHT
from tests.bench.scheduler.scores import Score, scored

SEEDS = (201, 202, 203, 204, 205)
"""Never those that the extender was tuned on."""
TUNED_ON = "1 to 8 and 11 to 16"
QUICK_JOBS = 60


def main() -> int:
    names = [family.name for family in FAMILIES]
    parser = argparse.ArgumentParser(prog="make bench-scheduler", description=__doc__)
    parser.add_argument("--jobs", type=int, default=800, help="of each seed; 800 by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--family", choices=names, action="append", help="all by default")
    parser.add_argument("--weight", type=int, default=EXTENDER_WEIGHT, help="of the extender")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_JOBS} jobs, one seed")
    options = parser.parse_args()
    if options.jobs < 1:
        print(f"error: {options.jobs} jobs are too few", file=sys.stderr)
        print("hint: at least 1; with 800 seeds differ by a tenth or two", file=sys.stderr)
        return 2
    if options.quick:
        options.jobs, options.seeds = QUICK_JOBS, options.seeds[:1]
    begin = time.monotonic()
    scores: list[Score] = []
    for family in FAMILIES:
        if options.family and family.name not in options.family:
            continue
        for seed in options.seeds:
            scores += scored(family, seed, options.jobs, options.weight)
        print(f"{time.monotonic() - begin:5.0f} s  {family.name}", file=sys.stderr, flush=True)
    print_all(scores, options.seeds)
    return 0


def print_all(scores: list[Score], seeds: list[int]) -> None:
    mixed = [family.name for family in FAMILIES if family.heterogeneous]
    print("## What the extender is worth\n")
    numbers = ", ".join(map(str, seeds))
    print(f"{scores[0].jobs:,} jobs each; seeds {numbers}; tuned on {TUNED_ON}.\n")
    print(figures.against_targets(scores, mixed))
    print("### Mean completion time, beside the default scheduler\n")
    print(figures.overview(scores, mixed))
    for name in dict.fromkeys(one.family for one in scores):
        print(f"### {name}\n")
        print(figures.of_family([one for one in scores if one.family == name]))


if __name__ == "__main__":
    sys.exit(main())
