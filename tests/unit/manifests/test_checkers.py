"""What kube-score, checkov and the schemas of Kubernetes say, and why some of it is let pass."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.cluster.binaries import VERSIONS
from tests.cluster.checkers import Checkers, checkers
from tests.cluster.rendered import PROMETHEUS
from tests.unit.manifests.files import INSTALL, LOGS, SCHEDULER, UNINSTALL

NO_CPU_LIMIT = "throttled in the middle of a pass the agent would only hold its memory longer"
NO_REGISTRY = "no registry carries the image yet: Always would fail to pull what was loaded"
NO_DIGEST = "the image is built where it is used; its tag is the version, checked by a test"

# The complaint, word for word or by its number, and why it stays.
KUBE_SCORE_EXEMPT = {
    "CPU limit is not set": NO_CPU_LIMIT,
    "ImagePullPolicy is not set to Always": NO_REGISTRY,
}
CHECKOV_EXEMPT = {
    "CKV_K8S_11": NO_CPU_LIMIT,  # CPU limits should be set
    "CKV_K8S_15": NO_REGISTRY,  # image pull policy should be Always
    "CKV_K8S_43": NO_DIGEST,  # image should use digest
}
SCHEDULER_EXEMPT = {
    "CKV_K8S_114": "profiling is off, in its configuration: with one the flag does not count",
    "CKV_K8S_115": "on loopback alone the kubelet could not ask for its health",
}
# Off by default in kube-score. Those that want requests to equal limits stay off: the limit of
# memory is there for an agent gone wrong, and is not to be kept free on every node.
STRICTER = ("container-seccomp-profile", "container-ports-check")
FILES = pytest.mark.parametrize("path", [INSTALL, UNINSTALL, SCHEDULER], ids=lambda path: path.name)


@pytest.fixture(scope="module")
def tools() -> Checkers:
    return checkers()


def kube_score(tools: Checkers, path: Path) -> set[str]:
    optional = [f"--enable-optional-test={name}" for name in STRICTER]
    done = subprocess.run(
        [tools.kube_score, "score", path, "--output-format=json", *optional],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    scored = json.loads(done.stdout)
    assert scored, "nothing was looked at"
    return {
        comment["summary"]
        for thing in scored
        for check in thing["checks"]
        if not check["skipped"] and check["grade"] < 10
        for comment in check["comments"]
    }


@FILES
def test_kube_score_complains_of_nothing_that_is_not_exempt(tools: Checkers, path: Path) -> None:
    assert kube_score(tools, path) == set(KUBE_SCORE_EXEMPT)


def test_kube_score_would_notice_a_mistake(tools: Checkers, tmp_path: Path) -> None:
    worse = tmp_path / "worse.yaml"
    text, times = re.subn("readOnlyRootFilesystem: true", "privileged: true", INSTALL.read_text())
    assert times == 2
    worse.write_text(text)
    assert "The container is privileged" in kube_score(tools, worse)


def checkov(tools: Checkers, path: Path) -> set[str]:
    options = ["--framework=kubernetes", "--skip-download", "--compact", "--output=json"]
    command, env = tools.python("checkov.main", f"--file={path}", *options)
    done = subprocess.run(
        command, env=env, cwd=path.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stderr
    said = json.loads(done.stdout)
    assert said["summary"]["passed"] > 50
    assert said["summary"]["parsing_errors"] == 0
    return {check["check_id"] for check in said["results"]["failed_checks"]}


@FILES
def test_checkov_complains_of_nothing_that_is_not_exempt(tools: Checkers, path: Path) -> None:
    own = SCHEDULER_EXEMPT if path == SCHEDULER else {}
    assert checkov(tools, path) == {*CHECKOV_EXEMPT, *own}


def test_checkov_would_notice_a_mistake(tools: Checkers, tmp_path: Path) -> None:
    worse = tmp_path / "worse.yaml"
    text = INSTALL.read_text()
    worse.write_text(text.replace("allowPrivilegeEscalation: false", "privileged: true"))
    assert "CKV_K8S_16" in checkov(tools, worse)  # containers should not be privileged


def kubernetes_version() -> str:
    """Of Kubernetes, as far as schemas differ."""
    pinned = re.search(
        r"k8s\.io/kubernetes v(\d+\.\d+)", (VERSIONS / "kubernetes/go.mod").read_text()
    )
    assert pinned
    return pinned[1]


def validate(tools: Checkers, path: Path, version: str) -> subprocess.CompletedProcess[str]:
    command, env = tools.python("kubernetes_validate", "--strict", "-k", version, path)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


# The oldest where ValidatingAdmissionPolicy is v1, and the one that the tests run.
@pytest.mark.parametrize("version", ["1.30", kubernetes_version()])
@pytest.mark.parametrize(
    "path", [INSTALL, UNINSTALL, LOGS, PROMETHEUS, SCHEDULER], ids=lambda path: path.name
)
def test_every_object_has_the_shape_that_kubernetes_wants(
    tools: Checkers, path: Path, version: str
) -> None:
    done = validate(tools, path, version)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schemas_would_notice_a_misspelt_field(tools: Checkers, tmp_path: Path) -> None:
    worse = tmp_path / "worse.yaml"
    worse.write_text(INSTALL.read_text().replace("failurePolicy:", "failurePolice:"))
    assert validate(tools, worse, kubernetes_version()).returncode != 0
