"""`make bench-cli`: `cepheid run` against its targets and beside other tools, in one run."""

import argparse
import sys
import time

from tests.bench.laptop import figures
from tests.bench.laptop.measure import measure

SECONDS, JOBS = 30.0, 100_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-cli", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="a tool is watched for")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"{JOBS:,} by default")
    given = parser.parse_args()
    begin = time.monotonic()

    def talk(words: str) -> None:
        print(f"{time.monotonic() - begin:5.0f} s  {words}", file=sys.stderr, flush=True)

    found = measure(given.seconds, given.jobs, talk)
    print("## The laptop's profiler against its targets\n")
    print(figures.against_targets(found))
    print("\n## Beside other tools\n")
    print(figures.beside_others(found))
    talk("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
