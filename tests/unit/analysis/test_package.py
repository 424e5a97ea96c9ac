"""The package: what it has, and what it costs to have it."""

import subprocess
import sys

import pytest

from cepheid import analysis


@pytest.mark.parametrize("name", analysis.__all__)
def test_every_module_is_there_when_it_is_first_used(name: str) -> None:
    code = f"import cepheid.analysis; print(cepheid.analysis.{name}.__name__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == f"cepheid.analysis.{name}\n"


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute nonsense"):
        _ = analysis.nonsense


def test_all_of_it_brings_numpy_and_no_other_library() -> None:
    code = (
        f"import sys; from cepheid.analysis import {', '.join(analysis.__all__)};"
        "print(*{m.partition('.')[0] for m in sys.modules} - sys.stdlib_module_names)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = {"cepheid", "numpy", "__main__"}
    assert {m for m in found.stdout.split() if not m.startswith("_")} - ours == set()
