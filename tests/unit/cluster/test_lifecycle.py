"""What is said of a cluster that another process makes or removes at this moment."""

from pathlib import Path

import pytest

from tests.cluster import lifecycle
from tests.cluster.layout import DEFAULT_NODES, Cluster


def test_a_cluster_of_which_half_is_there_is_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEPHEID_CLUSTERS", str(tmp_path))
    cluster = Cluster.of("half", DEFAULT_NODES)
    (tmp_path / "half").mkdir()
    cluster.save()
    lines = lifecycle.describe("half")
    assert lines[0] == "cluster half: 0 processes, 0 MiB"
    for machine in cluster.machines:
        assert any(line.split()[0] == machine.name for line in lines), lines
