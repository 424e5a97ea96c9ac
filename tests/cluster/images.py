"""Builds the images from their Dockerfiles, without a container engine, into one archive.

The archive is an OCI layout in which layers that images share are stored once, so that a
node imports it in one go. `kind load image-archive` and `ctr images import` read it too.
"""

import json
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests import REPOSITORY
from tests.cluster.binaries import VERSIONS, binaries
from tests.cluster.cache import cached
from tests.cluster.layout import cache_directory
from tests.cluster.progress import run, step
from tests.cluster.prometheus_ui import prometheus_ui
from tests.cluster.rootfs import PINS, base_archive

DOCKERFILES = Path(__file__).with_name("images")
SIMGPU = REPOSITORY / "tests/simgpu"
BASE = "localhost/cepheid/base:dev"
ACCEPT_LOCAL = {"default": [{"type": "insecureAcceptAnything"}]}  # nothing is ever pulled


@dataclass(frozen=True)
class Image:
    """An image, and the files that its Dockerfile copies: from bin/ of the binaries, and ours."""

    name: str
    dockerfile: Path
    from_binaries: tuple[str, ...] = ()
    ours: tuple[Path, ...] = ()

    @property
    def reference(self) -> str:
        return f"localhost/cepheid/{self.name}:dev"


IMAGES = (
    Image("pause", DOCKERFILES / "pause.Dockerfile", ("pause",)),
    Image("coredns", DOCKERFILES / "coredns.Dockerfile", ("coredns",)),
    Image(
        "training-operator", DOCKERFILES / "training-operator.Dockerfile", ("training-operator",)
    ),
    Image(
        "kubectl-delivery",
        DOCKERFILES / "kubectl-delivery.Dockerfile",
        ("kubectl",),
        (DOCKERFILES / "kubectl-delivery",),
    ),
    Image("prometheus", DOCKERFILES / "prometheus.Dockerfile", ("prometheus",)),
    Image("simgpu", SIMGPU / "Dockerfile", ours=(SIMGPU,)),
    Image("workload", SIMGPU / "Dockerfile.workload", ours=(SIMGPU,)),
)


def image_archive() -> Path:
    """A tar file with all images: cached, or built now."""
    inputs = [VERSIONS, PINS, DOCKERFILES, Path(__file__)]
    inputs += [path for image in IMAGES for path in (image.dockerfile, *image.ours)]
    return cached("images", inputs, _build)


def _build(target: Path) -> None:
    built, base, pages = binaries(), base_archive(), prometheus_ui()
    with tempfile.TemporaryDirectory(prefix="cepheid-images-") as scratch:
        directory = Path(scratch)
        policy = directory / "policy.json"
        policy.write_text(json.dumps(ACCEPT_LOCAL))
        layout = directory / "layout"
        with step("building the base image"):
            context = directory / "base"
            context.mkdir()
            shutil.copy(base, context / "rootfs.tar")
            _buildah(directory, "build", DOCKERFILES / "base.Dockerfile", BASE, context)
            shutil.rmtree(context)
        for image in IMAGES:
            with step(f"building the {image.name} image"):
                context = directory / image.name
                context.mkdir()
                for name in image.from_binaries:
                    shutil.copy(built / "bin" / name, context)
                for path in image.ours:
                    _copy(path, context)
                if image.name == "prometheus":
                    _copy(pages, context)
                _buildah(directory, "build", image.dockerfile, image.reference, context)
                _buildah(directory, "push", image.reference, f"oci:{layout}:{image.reference}")
                shutil.rmtree(context)
        _name_for_containerd(layout / "index.json")
        with tarfile.open(target, "w") as archive:
            archive.add(layout, arcname="")
        # What no image uses any more, for instance the layers of the code before this change.
        run([*_store(directory), "rmi", "--prune"])


def _copy(path: Path, context: Path) -> None:
    if path.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(path, context, dirs_exist_ok=True, ignore=ignored)
    else:
        shutil.copy(path, context)


def _store(scratch: Path) -> list[str]:
    """buildah with its layers in our cache and not in those of the machine's user."""
    layers = cache_directory() / "buildah"
    return ["buildah", f"--root={layers}", f"--runroot={scratch}/run", "--storage-driver=overlay"]


def _buildah(scratch: Path, verb: str, *arguments: Path | str) -> None:
    policy = f"--signature-policy={scratch}/policy.json"
    if verb == "push":
        # Uncompressed: every node would only have to unpack them again.
        run([*_store(scratch), "push", policy, "--disable-compression", *arguments])
        return
    dockerfile, reference, context = arguments
    run(
        [*_store(scratch), "build", policy, "--isolation=chroot", "--pull-never", "--layers"]
        + [f"--build-arg=BASE={BASE}", f"--file={dockerfile}", f"--tag={reference}", str(context)]
    )


def _name_for_containerd(index: Path) -> None:
    """containerd takes an image's whole name from an annotation of its own."""
    content = json.loads(index.read_text())
    for manifest in content["manifests"]:
        notes = manifest["annotations"]
        notes["io.containerd.image.name"] = notes["org.opencontainers.image.ref.name"]
    index.write_text(json.dumps(content))
