"""What stands on all Nodes and Pods of a cluster? Their names, labels and annotations, in pages.

The rest of an object is not even sent: of a Pod it is ten times as much, and what is said of its
GPUs names the node too. A thousand nodes are a handful of answers, never one for each object.
"""

from collections.abc import Callable, Iterator
from urllib.parse import quote

import httpx2
import msgspec
from lightkube import Client
from lightkube.config import client_adapter

from cepheid.annotations.api import TIMEOUT_SECONDS, ApiServer
from cepheid.errors import GoneError

METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PAGE = 500
RUNNING = {"fieldSelector": "status.phase=Running"}
"""What is said of others is said of the past."""


class Owner(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    controller: bool = False


class Thing(msgspec.Struct, frozen=True, rename="camel"):
    """A Node or a Pod, as far as it concerns who reads annotations."""

    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()

    @property
    def owner(self) -> Owner | None:
        return next((one for one in self.owner_references if one.controller), None)


class _Item(msgspec.Struct, frozen=True):
    metadata: Thing


class _More(msgspec.Struct, frozen=True, rename={"token": "continue"}):
    token: str = ""


class _Page(msgspec.Struct, frozen=True):
    metadata: _More
    items: tuple[_Item, ...] | None = None
    """Of metadata alone the API server writes an empty list as null."""


def nodes(server: ApiServer) -> list[Thing]:
    return _listed(server, "Nodes", lambda _: "api/v1/nodes", {})


def pods(server: ApiServer, namespace: str | None, *, everywhere: bool) -> list[Thing]:
    """Those that run, in one namespace or everywhere; None is that of the kubeconfig's context."""

    def path(client: Client) -> str:
        own = quote(namespace or client.namespace, safe="")
        return "api/v1/pods" if everywhere else f"api/v1/namespaces/{own}/pods"

    return _listed(server, "Pods", path, RUNNING)


def _listed(
    server: ApiServer, what: str, path: Callable[[Client], str], chosen: dict[str, str]
) -> list[Thing]:
    """From the beginning once more where the pages have expired meanwhile."""

    def ask(client: Client) -> list[Thing]:
        return list(_pages(client, path(client), chosen))

    try:
        return server.ask(f"listing {what}", ask)
    except GoneError:
        return server.ask(f"listing {what}", ask)


def _pages(client: Client, path: str, chosen: dict[str, str]) -> Iterator[Thing]:
    parameters = client_adapter.ConnectionParams(timeout=httpx2.Timeout(TIMEOUT_SECONDS))
    wanted = {**chosen, "limit": str(PAGE)}
    with client_adapter.Client(client.config, parameters) as connection:
        while True:
            answer = connection.get(path, params=wanted, headers={"Accept": METADATA_ONLY})
            answer.raise_for_status()
            page = msgspec.json.decode(answer.content, type=_Page)
            yield from (one.metadata for one in page.items or ())
            if not page.metadata.token:
                return
            wanted["continue"] = page.metadata.token
