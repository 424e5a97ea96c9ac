"""A cluster in which all is well, for all tests: each breaks one thing, and cures it again."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from tests.cli.conftest import cepheid as cepheid  # noqa: PLC0414  # the fixture
from tests.doctor.patient import NODES, Patient, admit
from tests.stage.surroundings import surroundings

STRANGER = "ann"


@pytest.fixture(scope="package")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Patient]:
    with surroundings(tmp_path_factory.mktemp("doctor")) as stage:
        yield admit(stage)


@pytest.fixture
def well_again(request: pytest.FixtureRequest, patient: Patient, cepheid: Run) -> Iterator[None]:
    """Before and after it nothing is wrong, and in between it found what its mark says."""
    for node in NODES:
        patient.annotate(node)
    patient.found.clear()
    yield
    for node in NODES:  # the tests before may have taken their time
        patient.annotate(node)
    patient.is_well(cepheid)
    marked = {
        rule
        for name in ("cures", "provokes")
        for mark in request.node.iter_markers(name)
        for rule in mark.args
    }
    assert patient.found == marked


@pytest.fixture
def stranger(patient: Patient, tmp_path: Path) -> Path:
    """The kubeconfig of a user without any right."""
    api = patient.stage.api
    within = api.admin.within("research")
    within.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": STRANGER}})
    config = yaml.safe_load(api.admin.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    if "certificate-authority" in cluster:
        authority = Path(cluster.pop("certificate-authority")).read_bytes()
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    config["users"][0]["user"] = {"token": within("create", "token", STRANGER).strip()}
    path = tmp_path / "stranger.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path
