from pathlib import Path

import pytest

from tests.laptop.stand import Laptop


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path)
