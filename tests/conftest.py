"""For all tests."""

import signal
from typing import Any

import pytest
from hypothesis import settings

from tests.pieces import Pieces

# The machine is shared and noisy: no test fails because of the clock.
settings.register_profile("cepheid", deadline=None)
settings.load_profile("cepheid")


def pytest_configure() -> None:
    """Who starts us in the background has us ignore Ctrl-C, and with us every program that a test
    starts: then nothing of what is tested about it would hold."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Pieces:
    return Pieces(config, log)
