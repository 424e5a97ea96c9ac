"""The README's first command, on a cluster of its own."""

from collections.abc import Iterator

import pytest

from tests.readme import typed


@pytest.fixture
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[typed.Running]:
    with typed.demo(tmp_path_factory.mktemp("demo")) as running:
        yield running
