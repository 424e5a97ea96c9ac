"""Takes every annotation of ours off every Node, Pod and job, whoever of us wrote it and when."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from lightkube import Client
from lightkube.types import PatchType

from cepheid.annotations import codec
from cepheid.annotations.api import ApiServer
from cepheid.annotations.discovery import discover
from cepheid.annotations.writer import Kind
from cepheid.errors import ApiError, ForbiddenError, GoneError

PAGE = 250


@dataclass(frozen=True, slots=True)
class Annotated:
    """An object that has keys of ours."""

    kind: Kind
    name: str
    namespace: str | None
    uid: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        within = "" if self.namespace is None else f"{self.namespace}/"
        return f"{self.kind.name} {within}{self.name}"


def annotated(server: ApiServer, jobs: Collection[tuple[str, str]]) -> Iterator[Annotated]:
    """On Nodes, Pods and those kinds of `jobs`, by group and name, that the cluster has."""
    yield from _of_kind(server, Kind.NODE, None)
    yield from _of_kind(server, Kind.POD, "*")
    for served in discover(server, jobs):
        try:
            yield from _of_kind(server, served.kind, "*")
        except (ForbiddenError, GoneError):
            continue  # where nobody may look, nobody of us has written


def _of_kind(server: ApiServer, kind: Kind, namespace: str | None) -> list[Annotated]:
    def found(client: Client) -> list[Annotated]:
        listed = client.list(kind.resource, namespace=namespace, chunk_size=PAGE)
        return [one for thing in listed if (one := _annotated(kind, thing)).keys]

    return server.ask(f"listing {kind.name}s", found)


def _annotated(kind: Kind, thing: Any) -> Annotated:
    metadata: Any = thing.metadata
    keys = tuple(key for key in metadata.annotations or () if codec.is_ours(key))
    return Annotated(kind, metadata.name, metadata.namespace, metadata.uid, keys)


def remove(server: ApiServer, found: Annotated) -> bool:
    """False where the object went away by itself meanwhile."""
    patch = {"metadata": {"uid": found.uid, "annotations": dict.fromkeys(found.keys)}}
    try:
        server.ask(
            f"clearing {found}",
            lambda client: client.patch(
                found.kind.resource,
                found.name,
                patch,
                namespace=found.namespace,
                patch_type=PatchType.MERGE,
            ),
        )
    except GoneError:
        return False
    except ApiError as problem:
        # The uid that went along tells: another object of the same name is none of ours.
        if "uid" in str(problem):
            return False
        raise
    return True
