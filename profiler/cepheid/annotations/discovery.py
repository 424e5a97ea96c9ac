"""Which kinds does this cluster have, and how are they asked for?

The API server says so itself: the plural of a kind is never guessed from its name.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from lightkube import Client
from lightkube.config import client_adapter

from cepheid.annotations.api import TIMEOUT_SECONDS, ApiServer
from cepheid.annotations.writer import Kind

# One answer with everything, GA since Kubernetes 1.30.
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NEEDED = frozenset({"list", "watch"})
_PART = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Served:
    """One kind, in the version that the API server prefers of it."""

    group: str
    version: str
    name: str
    plural: str

    @property
    def key(self) -> tuple[str, str]:
        return self.group, self.name

    @property
    def kind(self) -> Kind:
        return Kind.of(self.group, self.version, self.name, self.plural)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def discover(server: ApiServer, wanted: Collection[tuple[str, str]]) -> list[Served]:
    """Those of the wanted ones, by group and name, that the cluster has; none of the core group."""
    return list(_known(server.ask("asking which kinds there are", _groups), wanted))


def _groups(client: Client) -> Any:
    parameters = client_adapter.ConnectionParams(timeout=httpx2.Timeout(TIMEOUT_SECONDS))
    with client_adapter.Client(client.config, parameters) as connection:
        answer = connection.get("apis", headers={"Accept": AGGREGATED})
        answer.raise_for_status()
        return answer.json()


def _known(document: Any, wanted: Collection[tuple[str, str]]) -> Iterator[Served]:
    """Whatever an aggregated API server says of itself: what cannot be a name is passed over."""
    for group in _mappings(document, "items"):
        metadata = group.get("metadata")
        group_name = metadata.get("name") if isinstance(metadata, Mapping) else None
        found: set[str] = set()
        # The preferred version comes first.
        for version in _mappings(group, "versions"):
            for resource in _mappings(version, "resources"):
                served = _served(group_name, version.get("version"), resource)
                if served is not None and served.key in wanted and served.name not in found:
                    found.add(served.name)
                    yield served


def _served(group: Any, version: Any, resource: Mapping[str, Any]) -> Served | None:
    response = resource.get("responseKind")
    name = response.get("kind") if isinstance(response, Mapping) else None
    plural, verbs = resource.get("resource"), resource.get("verbs")
    if resource.get("scope") != "Namespaced" or not isinstance(verbs, list):
        return None
    if not all(
        isinstance(part, str) and _PART.fullmatch(part) for part in (group, version, plural)
    ):
        return None
    if not isinstance(name, str) or not {*_texts(verbs)} >= NEEDED:
        return None
    return Served(group, version, name, str(plural))


def _mappings(thing: Any, key: str) -> Iterator[Mapping[str, Any]]:
    found = thing.get(key) if isinstance(thing, Mapping) else None
    if isinstance(found, list):
        yield from (one for one in found if isinstance(one, Mapping))


def _texts(things: Iterable[Any]) -> Iterator[str]:
    return (thing for thing in things if isinstance(thing, str))
