"""`make bench-extender`: one command, one machine, one run, one page of Markdown on stdout."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.extender import figures
from tests.bench.extender.fleet import NODES
from tests.bench.extender.measure import LOAD_SECONDS, run

PODS, ROUNDS = 300, 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-extender", description=__doc__)
    parser.add_argument("--nodes", type=int, default=NODES, help=f"{NODES:,} by default")
    parser.add_argument(
        "--seconds",
        type=float,
        default=LOAD_SECONDS,
        help=f"of each load, {LOAD_SECONDS:.0f} by default",
    )
    parser.add_argument(
        "--pods",
        type=int,
        default=PODS,
        help=f"that are scheduled, of each kind and each way, {PODS} by default; 0 for none",
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"{ROUNDS} by default")
    given = parser.parse_args()
    begin = time.monotonic()

    def talk(words: str) -> None:
        print(f"{time.monotonic() - begin:5.0f} s  {words}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as folder:
        found = run(Path(folder), given.nodes, given.seconds, given.pods, given.rounds, talk)
    for trouble in found.troubles:
        talk(f"the extender said: {trouble}")
    print("## The extender against its targets\n")
    print(figures.against_targets(found))
    print(figures.of_loads(found))
    print(figures.of_process(found))
    if found.scheduled is not None:
        print(figures.of_scheduling(found.scheduled))
    talk("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
