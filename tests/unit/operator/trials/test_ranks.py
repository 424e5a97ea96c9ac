"""Counts of processes on a command line: those of the job follow, all others stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid_operator.trials.copying.ranks import Counts, Recount

# 4 workers of 2 GPUs; then 3 of 5. No two of these counts are the same.
TO_MORE = Recount(Counts(4, 2), Counts(3, 5))
EVEN = Recount(Counts(4, 1), Counts(2, 8))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["mpirun", "-np", "8", "python", "x"], ["mpirun", "-np", "15", "python", "x"]),
        (["mpirun", "-n", "4", "python"], ["mpirun", "-n", "3", "python"]),  # a process a worker
        (["/usr/bin/mpiexec", "--np", "8", "x"], ["/usr/bin/mpiexec", "--np", "15", "x"]),
        (["mpirun", "-np=8", "x"], ["mpirun", "-np=15", "x"]),
        (["mpirun", "-np", "7", "x"], ["mpirun", "-np", "7", "x"]),
        (["mpirun", "-np", "$N", "x"], ["mpirun", "-np", "$N", "x"]),
        (["mpirun", "--npernode", "2", "x"], ["mpirun", "--npernode", "5", "x"]),
        (
            ["mpirun", "-mca", "plm", "8", "-np", "8", "x"],
            ["mpirun", "-mca", "plm", "8", "-np", "15", "x"],
        ),
        # What follows the launcher's own options is the program's affair.
        (["mpirun", "python", "x", "-n", "8"], ["mpirun", "python", "x", "-n", "8"]),
        (
            ["mpirun", "-x", "A", "python", "x", "-n", "8"],
            ["mpirun", "-x", "A", "python", "x", "-n", "8"],
        ),
        (["python", "x", "-n", "8"], ["python", "x", "-n", "8"]),
        (["bash", "-c", "mpirun -np 8 ./x -n 8"], ["bash", "-c", "mpirun -np 15 ./x -n 8"]),
        (["sh", "-c", "a;\n mpirun \\\n  -n  8 x\n"], ["sh", "-c", "a;\n mpirun \\\n  -n  15 x\n"]),
        (["su", "-c", "'mpirun -np 8'"], ["su", "-c", "'mpirun -np 15'"]),
        (["torchrun", "--nproc_per_node=2", "x"], ["torchrun", "--nproc_per_node=5", "x"]),
        (
            ["torchrun", "--nproc-per-node", "2", "--nnodes", "4", "x"],
            ["torchrun", "--nproc-per-node", "5", "--nnodes", "3", "x"],
        ),
        (["torchrun", "--nnodes=1:4", "x"], ["torchrun", "--nnodes=1:4", "x"]),
        (
            ["python", "-m", "torch.distributed.run", "--nnodes=4", "x"],
            ["python", "-m", "torch.distributed.run", "--nnodes=3", "x"],
        ),
        (
            ["accelerate", "launch", "--num_processes", "8", "--num_machines=4", "x"],
            ["accelerate", "launch", "--num_processes", "15", "--num_machines=3", "x"],
        ),
        (["deepspeed", "--num_gpus", "2", "x"], ["deepspeed", "--num_gpus", "5", "x"]),
    ],
)
def test_what_a_launcher_is_told_follows_the_placement(before: list[str], after: list[str]) -> None:
    assert TO_MORE.words(before) == after


def test_a_process_a_worker_that_has_one_gpu_becomes_one_a_gpu() -> None:
    assert EVEN.words(["mpirun", "-np", "4", "x"]) == ["mpirun", "-np", "16", "x"]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("WORLD_SIZE", "8", "15"),
        ("NNODES", "4", "3"),
        ("PET_NPROC_PER_NODE", "2", "5"),
        ("WORLD_SIZE", "many", "many"),
        ("BATCH", "8", "8"),
    ],
)
def test_variables_of_the_same_meaning_follow_too(name: str, before: str, after: str) -> None:
    assert TO_MORE.variable(name, before) == after


WORDS = st.sampled_from(["mpirun", "-np", "-x", "8", "4", "2", "python", "\\", "", " ", "-np=8"])


@given(st.lists(st.one_of(WORDS, st.text(), st.lists(WORDS).map(" ".join))))
def test_whatever_stands_there_the_same_counts_change_nothing(words: list[str]) -> None:
    assert Recount(Counts(4, 2), Counts(4, 2)).words(words) == words


@given(st.lists(st.one_of(WORDS, st.text())))
def test_words_stay_as_many_as_they_were(words: list[str]) -> None:
    assert len(TO_MORE.words(words)) == len(words)
