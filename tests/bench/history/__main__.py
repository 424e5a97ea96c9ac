"""`make bench-history`: one command, one machine, one run, one table of Markdown on stdout."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.history import figures
from tests.bench.history.measure import LISTED, in_postgresql, in_sqlite

JOBS = 100_000
FEWEST = 200 * LISTED * 2
"""So that each user has more than are listed."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-history", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"{JOBS:,} by default")
    jobs = parser.parse_args().jobs
    if jobs < FEWEST:
        print(f"error: {jobs:,} jobs are too few to list", file=sys.stderr)
        print(f"hint: at least {FEWEST:,}", file=sys.stderr)
        return 2
    begin = time.monotonic()

    def talk(words: str) -> None:
        print(f"{time.monotonic() - begin:5.0f} s  {words}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as folder:
        measured = [in_sqlite(Path(folder), jobs, talk), in_postgresql(jobs, talk)]
    print("## The history against its targets\n")
    print(figures.against_targets(measured))
    talk("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
