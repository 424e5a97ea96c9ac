"""Names and addresses."""

import json
from pathlib import Path

import pytest

from tests.cluster.layout import DEFAULT_NODES, Cluster
from tests.cluster.progress import ClusterError
from tests.simgpu.errors import SimgpuError


@pytest.mark.parametrize("name", ["", "A", "../x", "x" * 21, "-a", "a/b", "a b", "a-"])
def test_a_name_that_could_not_be_a_folder_is_refused(name: str) -> None:
    with pytest.raises(ClusterError, match=r"is not usable\nhint: "):
        Cluster.of(name, DEFAULT_NODES)


def test_an_inventory_that_makes_no_sense_is_refused_before_anything_starts(tmp_path: Path) -> None:
    path = tmp_path / "inventory.json"
    path.write_text(json.dumps({"model": "Abacus", "count": 4}))
    with pytest.raises(SimgpuError, match="Abacus"):
        Cluster.of("ok", {"gpu-a": path})


def test_a_cluster_is_read_back_as_it_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEPHEID_CLUSTERS", str(tmp_path))
    cluster = Cluster.of("saved", DEFAULT_NODES, kwok_nodes=3).on_network(5)
    cluster.directory.mkdir()
    cluster.save()
    assert Cluster.load("saved") == cluster


def test_no_two_machines_of_any_two_clusters_share_an_address() -> None:
    clusters = [Cluster.of("many", DEFAULT_NODES).on_network(index) for index in range(256)]
    addresses = [
        address
        for cluster in clusters
        for address in (
            cluster.host_address,
            cluster.control_plane_address,
            *(cluster.node_address(node) for node in cluster.nodes),
        )
    ]
    assert len(set(addresses)) == len(addresses) == 256 * 4


def test_an_inventory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"nowhere\.json.*\nhint: "):
        Cluster.of("ok", {"gpu-a": tmp_path / "nowhere.json"})
