"""For all tests."""

from typing import Any

import pytest
from hypothesis import settings

from tests.pieces import Pieces

# The machine is shared and noisy: no test fails because of the clock.
settings.register_profile("cepheid", deadline=None)
settings.load_profile("cepheid")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Pieces:
    return Pieces(config, log)
