"""A node with simulated GPUs in a temporary folder, and a clock that the test moves."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.simgpu.exporter import Collector
from tests.simgpu.exposition import Exposition, Owner
from tests.simgpu.inventory import Inventory, parse_inventory

A100 = "NVIDIA A100-SXM4-80GB"
Owners = dict[str, list[Owner]]


class Node:
    def __init__(self, root: Path, hardware: dict[str, Any]) -> None:
        self.root = root
        self.inventory: Inventory = parse_inventory(hardware, "node1")
        (root / "inventory.json").write_text(json.dumps({"node": "node1", **hardware}))
        self.owners: Owners = {}

    def device(self, gpu: int = 0, device: int = 0) -> Path:
        return self.root / "devices" / self.inventory.gpus[gpu].devices[device].uuid

    def collector(self, virtual_gpus: bool = False) -> Collector:
        exposition = Exposition("node1", virtual_gpus)
        return Collector(self.root, self.inventory, exposition, lambda: self.owners)


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., Node]:
    def build(**hardware: Any) -> Node:
        return Node(tmp_path, {"model": A100, "count": 1, **hardware})

    return build


@pytest.fixture
def socket_folder() -> Iterator[Path]:
    """A short path: a unix socket's name has 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="sg-") as folder:
        yield Path(folder)
