"""For all tests that need no cluster."""

import os

import pytest

LATER = 5
"""How much they step back, as `nice` counts."""


@pytest.fixture(scope="session", autouse=True)
def _step_back() -> None:
    """They compute, those of the folders beside them wait: what they wait for comes first."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.nice(LATER)
