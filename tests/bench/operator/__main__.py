"""`make bench-operator`: one command, one machine, one run, one page of Markdown on stdout."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.operator import figures
from tests.bench.operator.jobs import END_EVERY, JOBS, MPI_EVERY
from tests.bench.operator.measure import STEADY_SECONDS, run

FEWEST = END_EVERY * MPI_EVERY
"""So that some of both kinds end, and some do not."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-operator", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"{JOBS:,} by default")
    parser.add_argument(
        "--seconds",
        type=float,
        default=STEADY_SECONDS,
        help=f"of the steady state, {STEADY_SECONDS:.0f} by default",
    )
    given = parser.parse_args()
    if not FEWEST <= given.jobs <= JOBS:
        print(f"error: {given.jobs:,} jobs", file=sys.stderr)
        print(f"hint: from {FEWEST} to {JOBS:,}", file=sys.stderr)
        return 2
    begin = time.monotonic()

    def talk(words: str) -> None:
        print(f"{time.monotonic() - begin:5.0f} s  {words}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as folder:
        measured = run(Path(folder), given.jobs, given.seconds, talk)
    for trouble in measured.troubles:
        talk(f"the operator said: {trouble}")
    print("## The operator against its targets\n")
    print(figures.against_targets(measured))
    print(figures.of_start(measured))
    print(figures.of_steady(measured))
    print(figures.of_ends(measured.ends))
    talk("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
