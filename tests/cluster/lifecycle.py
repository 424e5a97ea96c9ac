"""Up, down, and what is left."""

import fcntl
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster import addons, cgroups, control_plane, network, node
from tests.cluster.binaries import binaries
from tests.cluster.images import image_archive
from tests.cluster.imagestore import copy_store, image_store
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import (
    Cluster,
    cache_directory,
    check_name,
    cluster_names,
    state_directory,
)
from tests.cluster.pki import Authority
from tests.cluster.progress import ClusterError, run, say, wait_for
from tests.cluster.rootfs import node_rootfs

READY = "ready"  # the file that says that `up` came to its end


def up(cluster: Cluster) -> Cluster:
    """Starts the cluster, or finds it running as asked. Returns it with its network."""
    built, rootfs = binaries(), node_rootfs()
    images = image_store(image_archive(), rootfs, built / "bin")
    with _exclusive(f"cluster-{cluster.name}"):
        running = _running(cluster)
        if running:
            say(f"cluster {cluster.name} is up already")
            return running
        _remove(cluster.name)
        say(f"starting cluster {cluster.name}: {len(cluster.nodes)} nodes")
        cluster = _start(cluster, built / "bin", rootfs, images)
        addons.install_base(kubectl(cluster))
        addons.install(kubectl(cluster), built / "share")
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
            hint=f"python -m tests.cluster down --name {cluster.name}, or give another --name",
        )
    return running


def _start(cluster: Cluster, programs: Path, rootfs: Path, images: Path) -> Cluster:
    with _exclusive("network"):  # two clusters that start at once must not choose the same
        cluster = cluster.on_network(network.free_index())
        cluster.directory.mkdir(parents=True)
        cluster.save()
        cluster.programs.symlink_to(programs)
        authority = Authority(cluster.pki)
        services = control_plane.prepare(cluster, authority)
        if cluster.kwok_nodes:
            addons.write_kwok_stages(programs, cluster)
        cluster.control_plane.boot(rootfs, programs, services)
        network.reserve(cluster)
    for each in cluster.nodes:
        daemons = node.prepare(cluster, each, authority)
        machine = cluster.machine(each.name)
        copy_store(images, machine.directory / "var/lib/containerd")
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
    with _exclusive(f"cluster-{name}"):
        _remove(name)


def _remove(name: str) -> None:
    directory = state_directory() / name
    interface = None
    if (directory / "cluster.json").exists():
        interface = Cluster.load(name).host_interface
    cgroups.remove(cgroups.group_of(name))
    deadline = time.monotonic() + 30
    while directory.exists() and (held := _mounts_below(directory)):
        if time.monotonic() > deadline:
            raise ClusterError(
                f"still mounted: {held}", hint=f"umount -R {held[0]}, then run `down` again"
            )
        time.sleep(0.05)
    if directory.exists():
        shutil.rmtree(directory)
    if state_directory().exists() and not any(state_directory().iterdir()):
        state_directory().rmdir()
    # The kernel removes a namespace's interfaces a moment after its last process.
    while interface and interface in _interfaces():
        if time.monotonic() > deadline:
            run(["ip", "link", "delete", interface])
        time.sleep(0.05)


def _mounts_below(directory: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [point for line in lines if (point := line.split()[4]).startswith(f"{directory}/")]


def _interfaces() -> set[str]:
    return {link["ifname"] for link in json.loads(run(["ip", "-j", "link"]))}


def describe(name: str) -> list[str]:
    """What runs of a cluster, a line a daemon, for a person."""
    group = cgroups.group_of(name)
    memory = sum(map(_resident_mib, cgroups.members(group)))
    lines = [f"cluster {name}: {len(cgroups.members(group))} processes, {memory:,.0f} MiB"]
    try:
        cluster = Cluster.load(name)
    except ClusterError:
        return [*lines, f"  left over from a start that failed; `down --name {name}` removes it"]
    lines.append(f"  API server {cluster.api_url}  Prometheus {cluster.prometheus_url}")
    lines.append(f"  kubeconfig {cluster.kubeconfig}")
    for machine in cluster.machines:
        try:
            daemons = machine.services().items()
        except ClusterError as problem:
            lines.append(f"  {machine.name:15} {str(problem).splitlines()[0]}")
            continue
        lines += [f"  {machine.name:15} {daemon:25} {state}" for daemon, state in daemons]
    return lines


def _resident_mib(pid: int) -> float:
    """What the process alone holds: pages shared by several are counted in parts."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it ended meanwhile
    sizes = [int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")]
    return sum(sizes) / 1024


def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(binaries() / "bin/kubectl", cluster.kubeconfig)


def all_names() -> list[str]:
    """Clusters that run or that left something behind."""
    prefix = cgroups.group_of("")
    groups = {d.name for root in cgroups.hierarchies() for d in root.glob(f"{prefix}*")}
    return sorted({*cluster_names(), *(group.removeprefix(prefix) for group in groups)})


@contextmanager
def _exclusive(name: str) -> Iterator[None]:
    """One at a time, across processes. In the cache, for `down` leaves nothing elsewhere."""
    path = cache_directory() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
