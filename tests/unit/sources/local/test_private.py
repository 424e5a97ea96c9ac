import math

import pytest

from cepheid.sources.local.portable import Psutil
from cepheid.sources.local.private import PrivateMemory
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.procfs import Processes, ProcFs
from cepheid.sources.local.seldom import Seldom

from .programs import nobody, program

MIB = 2**20


@pytest.mark.parametrize("processes", [ProcFs(), Psutil()], ids=["proc", "psutil"])
def test_what_a_fork_shares_with_its_parent_counts_for_neither(processes: Processes) -> None:
    with program("""
block = bytearray(64 << 20)
block[::4096] = b"x" * len(block[::4096])
if os.fork() == 0:
    own = bytearray(16 << 20)
    own[::4096] = b"x" * len(own[::4096])
    say("ready")
time.sleep(600)
""") as command:
        command.heard()
        tree = Tree([command.pid], source=processes)
        tree.read()
        rss = tree.read().rss_bytes
        (uss,) = PrivateMemory(tree).read()
        assert rss > 144 * MIB
        assert 16 * MIB < uss < 48 * MIB


def test_between_two_readings_there_are_gaps_and_no_zeros() -> None:
    with program("say('ready'); wait()") as command:
        command.heard()
        tree = Tree([command.pid])
        tree.read()
        memory = PrivateMemory(tree, Seldom(now=lambda: 10.0))
        assert memory.read()[0] > 0
        assert math.isnan(memory.read()[0])


@pytest.mark.parametrize("processes", [ProcFs(), Psutil()], ids=["proc", "psutil"])
def test_where_it_may_not_be_told_of_one_it_is_not_known_of_all(processes: Processes) -> None:
    with program("say('ready'); wait()") as command:
        command.heard()
        tree = Tree([command.pid, 1], source=processes)
        tree.read()
        with nobody():
            assert math.isnan(PrivateMemory(tree).read()[0])


def test_of_a_tree_that_is_gone_nothing_is_known() -> None:
    with program("wait()") as command:
        tree = Tree([command.pid])
        command.ended()
        tree.read()
        assert math.isnan(PrivateMemory(tree).read()[0])
