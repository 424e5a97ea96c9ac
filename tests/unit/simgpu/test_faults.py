"""`python3 -m simgpu`: what an operator types to break a GPU."""

import json
from collections.abc import Callable

import pytest

from tests.simgpu.__main__ import main
from tests.simgpu.activity import IDLE
from tests.simgpu.device_file import Client
from tests.simgpu.errors import SimgpuError
from tests.simgpu.faults import GpuFaults, load_faults
from tests.unit.simgpu.conftest import Node

POWER = "DCGM_FI_DEV_POWER_USAGE"


def test_faults_add_up_and_are_cleared(node: Callable[..., Node]) -> None:
    one = node(count=2)
    root = f"--root={one.root}"
    assert main([root, "lose", "0"]) == 0
    assert main([root, "xid", "0", "79"]) == 0
    assert main([root, "blank", "1", POWER, "--old"]) == 0
    assert load_faults(one.root) == {
        0: GpuFaults(lost=True, xid=79),
        1: GpuFaults(blank={POWER: "9223372036854775794"}),
    }
    assert main([root, "find", "0"]) == 0
    assert main([root, "blank", "1", POWER]) == 0
    assert load_faults(one.root) == {0: GpuFaults(xid=79), 1: GpuFaults(blank={POWER: "omit"})}
    assert main([root, "clear"]) == 0
    assert load_faults(one.root) == {}


def test_a_gpu_that_is_not_there_cannot_be_lost(
    node: Callable[..., Node], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"--root={node(count=2).root}", "lose", "2"]) == 1
    assert capsys.readouterr().err == "error: no GPU 2 in this node\nhint: 0 to 1\n"


def test_status_shows_gpus_clients_and_faults(
    node: Callable[..., Node], capsys: pytest.CaptureFixture[str]
) -> None:
    one = node(count=2)
    one.collector()
    client = Client(one.device(), "train-0", now=0.0)
    client.announce(IDLE, 777, now=0.0, until=1.0)
    main([f"--root={one.root}", "xid", "1", "48"])
    assert main([f"--root={one.root}", "status"]) == 0
    output = capsys.readouterr().out
    assert "train-0 777 MiB" in output
    assert "gpu 1" in output
    assert output.count("healthy") == 1
    assert "xid 48" in output


@pytest.mark.parametrize(
    "document",
    ["{", "[]", '{"x": {}}', '{"0": {"lost": 1}}', '{"0": {"blank": {"NO_FIELD": "omit"}}}'],
)
def test_a_broken_faults_file_says_how_to_mend_it(node: Callable[..., Node], document: str) -> None:
    one = node()
    (one.root / "faults.json").write_text(document)
    with pytest.raises(SimgpuError, match="simgpu clear"):
        load_faults(one.root)
    assert main([f"--root={one.root}", "clear"]) == 0
    assert json.loads((one.root / "faults.json").read_text()) == {}
