"""What a run is called."""

import pytest

from cepheid.laptop.naming import MOST_CHARACTERS, name_of


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --epochs 3", "train.py"),
        ("/usr/bin/python3.11 -u -W error code/train.py", "train.py"),
        ("python -m torch.distributed.run --nproc 4 train.py", "torch.distributed.run"),
        ("python -c pass", "python"),
        ("python", "python"),
        ("sh -c ls", "sh"),
        ("bash run.sh", "run.sh"),
        ("torchrun --nproc_per_node 4 train.py", "train.py"),
        ("uv run train.py", "train.py"),
        ("node server", "server"),
        ("./a.out x.py", "a.out"),
        ("/opt/bin/make -j4", "make"),
    ],
)
def test_a_run_is_named_for_its_program(command: str, name: str) -> None:
    assert name_of(command.split()) == name


@pytest.mark.parametrize("hostile", ["\x1b[31m", "a\nb", "\u2028", "", "x" * 5000, "\udcff"])
def test_a_name_fits_on_a_line_whatever_the_program_is_called(hostile: str) -> None:
    name = name_of([hostile])
    assert name
    assert name.isprintable()
    assert len(name) <= MOST_CHARACTERS
