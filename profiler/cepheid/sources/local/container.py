"""Whose container it is: from the path of its control group, or what its runtime left in it. Pure,
but for the two marks that Docker and Podman leave at the top of the file system."""

import os
import re
from collections.abc import Iterable, Mapping

from cepheid.sources.local.facts import Container, printable

_ID = r"(?P<id>[0-9a-f]{64})"
_NAME = r"(?P<id>[^/]+?)"
_END = r"(?:\.scope)?(?=/|$)"
# Of nested ones the innermost counts, so each looks at the last place where it fits.
_PATHS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (runtime, re.compile(pattern))
    for runtime, pattern in (
        ("docker", rf"/docker[-/]{_ID}{_END}"),
        ("containerd", rf"[/:](?:cri-containerd|nerdctl)[-:]{_ID}{_END}"),
        ("cri-o", rf"[/:]crio[-:]{_ID}{_END}"),
        ("podman", rf"/libpod-{_ID}{_END}"),
        ("lxc", rf"/lxc(?:/|\.payload[./]){_NAME}(?=/|$)"),
        ("systemd-nspawn", rf"/systemd-nspawn@{_NAME}\.service(?=/|$)"),
        ("systemd-nspawn", rf"/machine-{_NAME}\.scope/payload(?=/|$)"),
        # What drives it is not told: the kubelet's own folders, AWS' and others'.
        ("kubernetes", rf"/kubepods.*?/{_ID}{_END}"),
        ("container", rf"/{_ID}{_END}"),
    )
)
# In a namespace of its own a container's path is "/"; then the files that the runtime mounts over
# some in /etc tell, by where they come from.
_MOUNTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("docker", re.compile(rf"/docker/containers/{_ID}/(?:hostname|hosts|resolv\.conf) /etc/")),
    ("containerd", re.compile(rf"/io\.containerd\.[^ ]*/sandboxes/{_ID}/[^ ]* /(?:etc|dev)/")),
    ("podman", re.compile(rf"/overlay-containers/{_ID}/userdata/[^ ]* /(?:etc|run)/")),
)
_POD = re.compile(
    r"[/-]pod(?P<uid>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})"
    r"|/pods/(?P<mounted>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/"
)
_SHORT = 12
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")


def container_of(
    paths: Iterable[str],
    mounts: str = "",
    *,
    top: str = "",
    environment: Mapping[str, str] | None = None,
) -> Container | None:
    """`paths` of its control groups, `mounts` as in /proc/self/mountinfo; None: in none."""
    paths = tuple(paths)
    found = [place for path in paths if (place := _last_place(path)) is not None]
    if found:
        _, runtime, name = max(found)
        return Container(runtime=runtime, id=_short(name), pod_uid=_pod(" ".join(paths)))
    for runtime, pattern in _MOUNTS:
        if (seen := pattern.search(mounts)) is not None:
            return Container(runtime=runtime, id=_short(seen["id"]), pod_uid=_pod(mounts))
    if (pod := _pod(" ".join((*paths, mounts)))) is not None:
        return Container(runtime="kubernetes", pod_uid=pod)
    for runtime, mark in (("docker", "/.dockerenv"), ("podman", "/run/.containerenv")):
        if os.path.exists(top + mark):  # noqa: PTH110
            return Container(runtime=runtime)
    return _told(os.environ if environment is None else environment)


def _last_place(path: str) -> tuple[int, str, str] | None:
    """Where in the path, by which runtime, under which name; a more telling pattern comes first."""
    best: tuple[int, str, str] | None = None
    for runtime, pattern in _PATHS:
        for seen in pattern.finditer(path):
            place = (seen.end(), runtime, seen["id"])
            if best is None or place[0] > best[0]:
                best = place
    return best


def _told(environment: Mapping[str, str]) -> Container | None:
    """Runtimes without a control group of their own say so in the environment."""
    for runtime, variable in (
        ("apptainer", "APPTAINER_CONTAINER"),
        ("apptainer", "SINGULARITY_CONTAINER"),
        ("enroot", "ENROOT_ROOTFS"),
    ):
        if image := environment.get(variable):
            return Container(runtime=runtime, id=_short(image.rstrip("/").rpartition("/")[2]))
    if kind := environment.get("container"):  # systemd's convention
        return Container(runtime=_short(kind) or "container")
    return None


def _short(name: str) -> str | None:
    if re.fullmatch(r"[0-9a-f]{64}", name):
        return name[:_SHORT]
    plain = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), name)
    return printable(plain)


def _pod(text: str) -> str | None:
    seen = _POD.search(text)
    return None if seen is None else (seen["uid"] or seen["mounted"]).replace("_", "-")
