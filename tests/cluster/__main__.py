"""The cluster from the command line."""

import argparse
import sys
from pathlib import Path

from tests.cluster import demo, layout, lifecycle
from tests.cluster.binaries import binaries
from tests.cluster.checkers import checkers
from tests.cluster.images import image_archive
from tests.cluster.progress import ClusterError
from tests.cluster.rendered import render
from tests.simgpu.errors import SimgpuError


def main() -> int:
    options = _parser().parse_args()
    try:
        options.command(options)
    except PermissionError as problem:
        print(f"error: {problem}\nhint: a cluster is root's: sudo", file=sys.stderr)
        return 1
    except (ClusterError, SimgpuError, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; `down` removes what was started", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tests.cluster", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    up = commands.add_parser("up", help="start a cluster, or find it running")
    up.add_argument(
        "--node",
        action="append",
        metavar="NAME=INVENTORY.json",
        help="a node and its simulated GPUs; repeatable (default: two, 4 x A100 and 4 x T4)",
    )
    up.add_argument(
        "--kwok-nodes", type=int, default=0, metavar="N", help="simulated nodes besides"
    )
    up.set_defaults(command=_up)

    down = commands.add_parser("down", help="take a cluster away, whatever is left of it")
    down.add_argument("--all", action="store_true", help="every cluster on this machine")
    down.set_defaults(command=_down)

    status = commands.add_parser("status", help="which clusters run, their daemons and memory")
    status.set_defaults(command=_status)

    logs = commands.add_parser("logs", help="print a daemon's log, or list the logs")
    logs.add_argument("machine", nargs="?", help="for instance control-plane or gpu-a")
    logs.add_argument("daemon", nargs="?", help="for instance kubelet")
    logs.set_defaults(command=_logs)

    with_jobs = commands.add_parser("demo", help="up, and three sample jobs on it")
    with_jobs.set_defaults(command=_demo)

    programs = commands.add_parser("binaries", help="build all binaries; print their folder")
    programs.set_defaults(command=_binaries)

    archive = commands.add_parser("images", help="build all images and print their archive's path")
    archive.set_defaults(command=_images)

    manifests = commands.add_parser("render", help="write anew the manifests that are rendered")
    manifests.set_defaults(command=_render)

    cache = commands.add_parser("prepare", help="make what the cache lacks; minutes the first time")
    cache.set_defaults(command=_prepare)

    for command in (up, down, logs, with_jobs):
        command.add_argument("--name", default=layout.DEFAULT_NAME, help="default: %(default)s")
    return parser


def _up(options: argparse.Namespace) -> None:
    nodes = dict(layout.DEFAULT_NODES)
    if options.node:
        nodes = {name: Path(path) for name, _, path in (n.partition("=") for n in options.node)}
        if len(nodes) < len(options.node):
            raise ClusterError(f"two nodes have the same name: {', '.join(options.node)}")
    cluster = lifecycle.up(layout.Cluster.of(options.name, nodes, options.kwok_nodes))
    print(f"API server   {cluster.api_url}")
    print(f"Prometheus   {cluster.prometheus_url}")
    print(f"kubeconfig   {cluster.kubeconfig}")


def _demo(options: argparse.Namespace) -> None:
    print(demo.demo(options.name))


def _binaries(_: argparse.Namespace) -> None:
    checkers()
    print(binaries())


def _render(_: argparse.Namespace) -> None:
    print("\n".join(map(str, render())))


def _images(_: argparse.Namespace) -> None:
    print(image_archive())


def _prepare(_: argparse.Namespace) -> None:
    checkers()
    lifecycle.prepare()


def _down(options: argparse.Namespace) -> None:
    for name in lifecycle.all_names() if options.all else [options.name]:
        lifecycle.down(name)


def _status(_: argparse.Namespace) -> None:
    names = lifecycle.all_names()
    for name in names:
        print("\n".join(lifecycle.describe(name)))
    if not names:
        print("no cluster runs on this machine")


def _logs(options: argparse.Namespace) -> None:
    machines = layout.Cluster.load(options.name).machines
    if options.machine and options.machine not in [m.name for m in machines]:
        raise ClusterError(
            f"cluster {options.name} has no machine {options.machine!r}",
            hint="one of " + ", ".join(m.name for m in machines),
        )
    for machine in machines:
        if options.machine not in (None, machine.name):
            continue
        for log in sorted(machine.log_directory.glob("*.log")):
            if options.daemon is None:
                print(f"{machine.name:15} {log.stem:25} {log}")
            elif options.daemon == log.stem:
                sys.stdout.write(log.read_text(errors="replace"))
                return
    if options.daemon:
        raise ClusterError(
            f"{options.machine} has no log of {options.daemon!r}",
            hint=f".venv/bin/python -m tests.cluster logs --name {options.name} {options.machine}",
        )


if __name__ == "__main__":
    sys.exit(main())
