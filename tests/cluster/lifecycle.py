"""Up, down, and what is left."""

import errno
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import addons, cgroups, control_plane, network, node
from tests.cluster.binaries import binaries
from tests.cluster.images import image_archive
from tests.cluster.imagestore import clear_orphan, copy_store, image_store
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import (
    Cluster,
    check_name,
    cluster_names,
    interface_of,
    state_directory,
)
from tests.cluster.pki import Authority
from tests.cluster.progress import ClusterError, run, say, wait_for
from tests.cluster.rootfs import node_rootfs

REMOVE_SECONDS = 30
READY = "ready"  # the file that says that `up` came to its end


@dataclass(frozen=True)
class Parts:
    """What a cluster is made of, in the cache."""

    binaries: Path
    rootfs: Path
    images: Path


def prepare() -> Parts:
    """Makes whatever is not in the cache yet; the first time that takes minutes."""
    built, rootfs = binaries(), node_rootfs()
    return Parts(built, rootfs, image_store(image_archive(), rootfs, built / "bin"))


def _check_machine() -> None:
    if os.geteuid() != 0:
        raise ClusterError("a cluster needs root", hint="sudo, or `make e2e KUBECONFIG=...`")
    # Without it a pod gets no answer from a service whose pod is on the same node.
    if not Path("/proc/sys/net/bridge").exists():
        try:
            run(["modprobe", "br_netfilter"])
        except ClusterError as problem:
            raise ClusterError(
                f"the kernel has no br_netfilter: {problem}",
                hint="modprobe br_netfilter, on the host if this is a container",
            ) from problem


def up(cluster: Cluster) -> Cluster:
    """Starts the cluster, or finds it running as asked. Returns it with its network."""
    _check_machine()
    parts = prepare()
    with _exclusive(cluster.name):
        running = _running(cluster)
        if running:
            say(f"cluster {cluster.name} is up already")
            if (running.uses / "images").resolve() != parts.images:
                say("  with older images: `down`, then `up`, renews them")
            return running
        _remove(cluster.name)
        say(f"starting cluster {cluster.name}: {len(cluster.nodes)} nodes")
        cluster = _start(cluster, parts)
        addons.install_base(kubectl(cluster))
        addons.install(kubectl(cluster), parts.binaries / "share")
        addons.wait_for_base(kubectl(cluster))
        if cluster.kwok_nodes:
            addons.add_kwok_nodes(kubectl(cluster), cluster.kwok_nodes)
        (cluster.directory / READY).touch()
    return cluster


def _running(cluster: Cluster) -> Cluster | None:
    """The cluster of that name, where it is whole; a different one is not replaced silently."""
    if not (cluster.directory / READY).exists():
        return None
    running = Cluster.load(cluster.name)
    try:
        for machine in running.machines:
            machine.run("true")
    except ClusterError:
        return None
    if (running.nodes, running.kwok_nodes) != (cluster.nodes, cluster.kwok_nodes):
        raise ClusterError(
            f"cluster {cluster.name} is up with other nodes than asked for",
            hint=f"`down --name {cluster.name}` first, or give another --name",
        )
    return running


def _start(cluster: Cluster, parts: Parts) -> Cluster:
    programs, rootfs = parts.binaries / "bin", parts.rootfs
    with _exclusive(".network"):  # two clusters that start at once must not choose the same
        cluster = cluster.on_network(network.free_index())
        cluster.directory.mkdir(parents=True, mode=0o700)  # keys are in it
        cluster.uses.mkdir()
        for kind, path in vars(parts).items():
            (cluster.uses / kind).symlink_to(path)
        cluster.programs.symlink_to(programs)
        cluster.save()
        authority = Authority(cluster.pki)
        services = control_plane.prepare(cluster, authority)
        if cluster.kwok_nodes:
            addons.write_kwok_stages(programs, cluster)
        cluster.control_plane.boot(rootfs, programs, services)
        network.reserve(cluster)
    for each in cluster.nodes:
        daemons = node.prepare(cluster, each, authority)
        machine = cluster.machine(each.name)
        copy_store(parts.images, machine.directory / "var/lib/containerd")
        machine.boot(rootfs, programs, daemons)
    network.connect_nodes(cluster)
    control_plane.wait_until_ready(cluster)
    control_plane.start_controllers(cluster)
    node.join(cluster)
    ask = kubectl(cluster)
    wait_for("all nodes joined", lambda: len(ask.items("nodes")) == len(cluster.nodes))
    ask("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s")
    say("nodes are ready")
    return cluster


def down(name: str) -> None:
    """Takes everything of a cluster away, also of one that never came up."""
    check_name("cluster", name)  # it is about to become a path that is deleted
    with _exclusive(name):
        _remove(name)
    clear_orphan()


def _remove(name: str) -> None:
    directory = state_directory() / name
    cgroups.remove(cgroups.group_of(name))
    deadline = time.monotonic() + REMOVE_SECONDS
    while directory.exists():
        held = _mounts_below(directory)
        if not held:
            # A copy that `up` was making when it was killed may still add to it.
            shutil.rmtree(directory, ignore_errors=True)
        if directory.exists() and time.monotonic() > deadline:
            raise ClusterError(
                f"{directory} cannot be removed; mounted in it: {held or 'nothing'}",
                hint=f"umount -R {held[0]}, then `down` again" if held else f"rm -r {directory}",
            )
        time.sleep(0.05)
    if state_directory().exists() and not any(state_directory().iterdir()):
        state_directory().rmdir()
    # The kernel removes a namespace's interfaces a moment after its last process.
    while interface_of(name) in _interfaces():
        if time.monotonic() > deadline:
            run(["ip", "link", "delete", interface_of(name)])
        time.sleep(0.05)


def _mounts_below(directory: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [point for line in lines if (point := line.split()[4]).startswith(f"{directory}/")]


def _interfaces() -> set[str]:
    return {link["ifname"] for link in json.loads(run(["ip", "-j", "link"]))}


def describe(name: str) -> list[str]:
    """What runs of a cluster, a line a daemon, for a person."""
    pids = cgroups.members(cgroups.group_of(name))
    memory = sum(map(_memory_mib, pids))
    lines = [f"cluster {name}: {len(pids)} processes, {memory:,.0f} MiB"]
    try:
        cluster = Cluster.load(name)
    except ClusterError:
        return [*lines, f"  left over from a start that failed; `down --name {name}` removes it"]
    lines.append(f"  API server {cluster.api_url}  Prometheus {cluster.prometheus_url}")
    lines.append(f"  kubeconfig {cluster.kubeconfig}")
    for machine in cluster.machines:
        try:
            daemons = machine.services().items()
        except (ClusterError, OSError) as problem:  # it comes up, or goes, while we look
            lines.append(f"  {machine.name:15} {str(problem).splitlines()[0]}")
            continue
        lines += [f"  {machine.name:15} {daemon:25} {state}" for daemon, state in daemons]
    return lines


def _memory_mib(pid: int) -> float:
    """Its share of memory: a page that several processes use is counted in parts (Pss)."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it ended meanwhile
    sizes = [int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")]
    return sum(sizes) / 1024


def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster.programs / "kubectl", cluster.kubeconfig)


def all_names() -> list[str]:
    """Clusters that run or that left something behind."""
    prefix = cgroups.group_of("")
    groups = {d.name for root in cgroups.hierarchies() for d in root.glob(f"{prefix}[a-z]*")}
    return sorted({*cluster_names(), *(group.removeprefix(prefix) for group in groups)})


@contextmanager
def _exclusive(name: str) -> Iterator[None]:
    """One at a time on this machine.

    The name of an abstract socket is the machine's, whoever the user is; it leaves no file and
    goes with its process.
    """
    with socket.socket(socket.AF_UNIX) as lock:
        while True:
            try:
                lock.bind(f"\0cepheid-cluster-{name}")
                break
            except OSError as problem:
                if problem.errno != errno.EADDRINUSE:
                    raise
            time.sleep(0.1)
        yield
