"""`make bench-agent`: one command, one machine, one run, one page of Markdown on stdout."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from cepheid.annotations.codec import is_ours
from tests.bench.agent import cluster, figures, hour, live
from tests.stage.api_server import ApiServer

PARTS = ("live", "hours", "cluster")
INDEXED = (1, 50)
"""Nodes whose series are in Prometheus: more of them than 50 take gigabytes to write."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-agent", description=__doc__)
    parser.add_argument(
        "--parts",
        default=",".join(PARTS),
        help=f"of {', '.join(PARTS)}; the last needs the one before it",
    )
    parts = parser.parse_args().parts.split(",")
    if unknown := set(parts) - set(PARTS):
        print(f"error: no part {', '.join(sorted(unknown))}", file=sys.stderr)
        print(f"hint: there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as folder:
        run(Path(folder), parts)
    return 0


def run(folder: Path, parts: list[str]) -> None:
    begin = time.monotonic()

    def talk(words: str) -> None:
        print(f"{time.monotonic() - begin:5.0f} s  {words}", file=sys.stderr, flush=True)

    seen = live.run(folder / "live", talk) if "live" in parts else None
    hours: dict[str, hour.Hour] = {}
    thousand = ""
    if "hours" in parts:
        with ApiServer(folder / "api") as server:
            server.install()
            for scene in hour.SCENES:
                talk(f"an hour: {scene}")
                with hour.play(folder, server, scene) as played:
                    hours[scene] = hour.run(played, server)
            if "cluster" in parts:
                talk(f"{cluster.NODES:,} nodes: writes")
                found = server.annotations("node", hour.name_of("changing"))
                ours = {key: text for key, text in found.items() if is_ours(key)}
                write = cluster.write_cost(server, ours)
                queries = []
                for nodes in INDEXED:
                    talk(f"{nodes} nodes: queries")
                    queries.append(cluster.query_cost(folder, nodes, hour.GPUS, hour.PODS))
                thousand = figures.scaled(hours, write, queries)
    print("## The agent against its targets\n")
    print(figures.against_targets(seen, hours))
    if seen is not None:
        print(figures.by_size(seen.costs))
        print(figures.by_job(seen.delays))
    if hours:
        print(figures.by_scene(hours))
        print(figures.by_period(hours["starts"].cycles))
    if thousand:
        print(f"## {cluster.NODES:,} nodes, on paper\n")
        print(thousand)
    talk("done")


if __name__ == "__main__":
    sys.exit(main())
