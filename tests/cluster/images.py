"""Builds the images from their Dockerfiles, without a container engine, into one archive.

The archive is an OCI layout in which layers that images share are stored once, so that a
node imports it in one go. `kind load image-archive` and `ctr images import` read it too.
"""

import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cepheid import __version__
from tests import REPOSITORY
from tests.cluster.binaries import binaries
from tests.cluster.cache import cached
from tests.cluster.layout import cache_directory
from tests.cluster.progress import run, step
from tests.cluster.prometheus_ui import prometheus_ui
from tests.cluster.rootfs import base_archive
from tests.cluster.wheels import wheels

DOCKERFILES = Path(__file__).with_name("images")
SIMGPU = REPOSITORY / "tests/simgpu"
OURS = REPOSITORY / "images"
BASE = "localhost/cepheid/base:dev"
ACCEPT_LOCAL = {"default": [{"type": "insecureAcceptAnything"}]}  # nothing is ever pulled


@dataclass(frozen=True)
class Image:
    """An image, and the files that its Dockerfile copies."""

    name: str
    dockerfile: Path
    from_binaries: tuple[str, ...] = ()  # what is built from Go
    ours: tuple[Path, ...] = ()  # what stands in the repository
    made: Callable[[], Path] | None = None  # a folder that has to be made first
    tree: tuple[Path, ...] = ()  # what it copies by its path in the repository
    lock: Path | None = None  # what pip installs, which has no network in a build
    arguments: tuple[str, ...] = ()
    tag: str = "dev"

    @property
    def reference(self) -> str:
        return f"localhost/cepheid/{self.name}:{self.tag}"


def _product(process: str) -> Image:
    """What the manifests name."""
    lock = OURS / process / "requirements.lock"
    packages = (REPOSITORY / "profiler/cepheid", REPOSITORY / "operator/cepheid_operator")
    return Image(
        process,
        OURS / "Dockerfile",
        tree=(OURS / "collect.py", lock, *packages),
        lock=lock,
        arguments=(f"PROCESS={process}",),
        tag=__version__,
    )


IMAGES = (
    Image("pause", DOCKERFILES / "pause.Dockerfile", ("pause",)),
    Image("coredns", DOCKERFILES / "coredns.Dockerfile", ("coredns",)),
    Image("kube-scheduler", DOCKERFILES / "kube-scheduler.Dockerfile", ("kube-scheduler",)),
    Image(
        "training-operator", DOCKERFILES / "training-operator.Dockerfile", ("training-operator",)
    ),
    Image(
        "kubectl-delivery",
        DOCKERFILES / "kubectl-delivery.Dockerfile",
        ("kubectl",),
        (DOCKERFILES / "kubectl-delivery",),
    ),
    Image(
        "prometheus",
        DOCKERFILES / "prometheus.Dockerfile",
        from_binaries=("prometheus",),
        made=prometheus_ui,
    ),
    Image("simgpu", SIMGPU / "Dockerfile", ours=(SIMGPU,)),
    Image("workload", SIMGPU / "Dockerfile.workload", ours=(SIMGPU,)),
    _product("agent"),
    _product("operator"),
)


def image_archive() -> Path:
    """A tar file with all images: cached, or built now."""
    ours = [path for image in IMAGES for path in (image.dockerfile, *image.ours, *image.tree)]
    made = [path.name for path in (binaries(), base_archive(), prometheus_ui())]
    return cached("images", [DOCKERFILES, *ours, *made], _build)


def _build(target: Path) -> None:
    programs, base = binaries() / "bin", base_archive()
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        buildah = Buildah(Path(scratch))
        with step("building the base image"), buildah.context() as context:
            shutil.copy(base, context / "rootfs.tar")
            buildah.build(DOCKERFILES / "base.Dockerfile", BASE, context)
        for image in IMAGES:
            made = [image.made()] if image.made else []
            with step(f"building the {image.name} image"), buildah.context() as context:
                for path in (
                    *(programs / name for name in image.from_binaries),
                    *image.ours,
                    *made,
                ):
                    _copy(path, context)
                for path in image.tree:
                    place = context / path.relative_to(REPOSITORY)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    _copy(path, place)
                buildah.build(
                    image.dockerfile, image.reference, context, image.lock, image.arguments
                )
                buildah.export(image.reference)
        _name_for_containerd(buildah.layout / "index.json")
        with tarfile.open(target, "w") as archive:
            archive.add(buildah.layout, arcname="")
        buildah.prune()


def _copy(path: Path, context: Path) -> None:
    if path.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(path, context, dirs_exist_ok=True, ignore=ignored)
    else:
        shutil.copy(path, context)


class Buildah:
    """buildah with its layers in our cache, and not among those of the machine's user."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self.layout = scratch / "layout"  # OCI's, to which all images are exported
        policy = scratch / "policy.json"
        policy.write_text(json.dumps(ACCEPT_LOCAL))
        self._policy = f"--signature-policy={policy}"

    @contextmanager
    def context(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._scratch) as directory:
            yield Path(directory)

    def build(
        self,
        dockerfile: Path,
        reference: str,
        context: Path,
        lock: Path | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        # Its containers go also when it fails: what they use could not be pruned any more.
        how = ["--isolation=chroot", "--pull-never", "--layers", "--force-rm"]
        arguments = [f"BASE={BASE}", *arguments]
        if lock is not None:
            how += [f"--volume={wheels(lock)}:/wheels:ro"]
            arguments += ["PIP_NO_INDEX=1", "PIP_FIND_LINKS=/wheels"]
        how += [f"--build-arg={argument}" for argument in arguments]
        self._run(
            "build", self._policy, *how, f"--file={dockerfile}", f"--tag={reference}", context
        )

    def export(self, reference: str) -> None:
        # Uncompressed: every node would only have to unpack it again.
        target = f"oci:{self.layout}:{reference}"
        self._run("push", self._policy, "--disable-compression", reference, target)

    def prune(self) -> None:
        """Forgets layers that no image uses any more, as those of the code before a change."""
        self._run("rmi", "--prune")

    def _run(self, *arguments: str | Path) -> None:
        layers, run_root = cache_directory() / "buildah", self._scratch / "run"
        store = [f"--root={layers}", f"--runroot={run_root}", "--storage-driver=overlay"]
        # In mounts of its own, which go with it when it is killed.
        run(["unshare", "--mount", "buildah", *store, *arguments])


def _name_for_containerd(index: Path) -> None:
    """containerd takes an image's whole name from an annotation of its own."""
    content = json.loads(index.read_text())
    for manifest in content["manifests"]:
        notes = manifest["annotations"]
        notes["io.containerd.image.name"] = notes["org.opencontainers.image.ref.name"]
    index.write_text(json.dumps(content))
