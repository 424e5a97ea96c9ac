"""`make bench-reports`: every report on a large history, and `cepheid top` on a large cluster."""

import argparse
import sys
import time

from tests.bench.reports import figures
from tests.bench.reports.measure import measure

JOBS, NODES = 10_000, 1_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-reports", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"{JOBS:,} by default")
    parser.add_argument("--nodes", type=int, default=NODES, help=f"{NODES:,} by default")
    given = parser.parse_args()
    begin = time.monotonic()

    def talk(words: str) -> None:
        print(f"{time.monotonic() - begin:5.0f} s  {words}", file=sys.stderr, flush=True)

    found = measure(given.jobs, given.nodes, talk)
    print(f"## Reports on {found.jobs:,} jobs, and {found.nodes:,} nodes\n")
    print(figures.against_targets(found))
    print(f"\n`cepheid top --once` asked the API server for {found.requests} pages.")
    talk("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
