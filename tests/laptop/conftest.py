"""A laptop for each test."""

import signal
from pathlib import Path

import pytest

from tests.laptop.stand import Laptop


@pytest.fixture(scope="session", autouse=True)
def _heed_ctrl_c() -> None:
    """A shell has what it starts in the background ignore it, and so would all that we start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path)
