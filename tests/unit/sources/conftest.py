"""One Prometheus with the samples of `samples.everything`, and one that is empty."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cepheid.sources.access import Access
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.reader import NodeReader
from cepheid.sources.selection import Target
from tests.unit.sources import samples, servers
from tests.unit.sources.servers import Front


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Prometheus with samples of many nodes."""
    folder = servers.load(tmp_path_factory.mktemp("full") / "data", samples.everything())
    with servers.prometheus(folder) as url:
        yield url


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Prometheus that lost everything."""
    with servers.prometheus(tmp_path_factory.mktemp("empty") / "data") as url:
        yield url


@pytest.fixture
def front() -> Iterator[Front]:
    with servers.front() as served:
        yield served


@pytest.fixture
def access(tmp_path: Path) -> Callable[..., Access]:
    """Secrets given as text are put into files."""

    def build(url: str, **settings: object) -> Access:
        for name in ("bearer_token", "password"):
            if name in settings:
                file = tmp_path / name
                file.write_text(str(settings.pop(name)))
                settings[f"{name}_file"] = file
        return Access(url=url, **{"timeout_seconds": 10.0, **settings})  # type: ignore[arg-type]

    return build


@pytest.fixture
def client(access: Callable[..., Access]) -> Iterator[Callable[..., PrometheusClient]]:
    made: list[PrometheusClient] = []

    def build(url: str, **settings: object) -> PrometheusClient:
        made.append(PrometheusClient(access(url, **settings)))
        return made[-1]

    yield build
    for one in made:
        one.close()


@pytest.fixture
def reader(client: Callable[..., PrometheusClient]) -> Callable[..., NodeReader]:
    def build(url: str, node: str, **target: object) -> NodeReader:
        return NodeReader(client(url), Target(node=node, **target))  # type: ignore[arg-type]

    return build
