"""One server-side apply an object: our keys as they should be, and nothing else of it.

The API server keeps a list of who set which field. An apply names all keys that are ours: those
that are new it adds, those that we left out it removes, and a key that somebody else set it never
touches. So nothing has to be remembered, and after a restart `Standing` tells what was written.
The object's uid goes along: a Pod that is gone does not come back, nor does its successor of the
same name get the wrong figures.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from lightkube.core.resource import api_info
from lightkube.generic_resource import GenericNamespacedResource, create_api_info
from lightkube.models.meta_v1 import ManagedFieldsEntry
from lightkube.resources.core_v1 import Node, Pod
from lightkube.types import PatchType

from cepheid.annotations import codec
from cepheid.annotations.api import ApiServer, RefusedError
from cepheid.errors import ApiError, ForbiddenError, GoneError, TooLargeError

MANAGER = "cepheid-agent"
MOST_BYTES = 262_144
"""Of all keys and values of an object's annotations together; Kubernetes takes no more."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """What can be annotated: Nodes, Pods, and whatever kinds of jobs a cluster has."""

    resource: Any
    """lightkube's class of it."""
    NODE: ClassVar["Kind"]
    POD: ClassVar["Kind"]

    @classmethod
    def of(cls, group: str, version: str, name: str, plural: str) -> "Kind":
        """A namespaced kind as plain documents, by the plural that discovery gives."""
        api = {"_api_info": create_api_info(group, version, name, plural)}
        return cls(type(name, (GenericNamespacedResource,), api))

    @property
    def name(self) -> str:
        return str(api_info(self.resource).resource.kind)

    @property
    def api_version(self) -> str:
        return str(api_info(self.resource).resource.api_version)


Kind.NODE, Kind.POD = Kind(Node), Kind(Pod)


@dataclass(frozen=True, slots=True)
class Target:
    """An object that exists, not just a name."""

    kind: Kind
    name: str
    uid: str
    namespace: str | None = None

    def __post_init__(self) -> None:
        shown(self.kind, self.name, self.namespace)

    def __str__(self) -> str:
        return shown(self.kind, self.name, self.namespace)


@dataclass(frozen=True, slots=True)
class Standing:
    """What an object has, as far as it concerns us."""

    target: Target
    annotations: Mapping[str, str] = field(default_factory=dict)
    """The keys that we own, whichever version of us wrote them."""
    foreign_bytes: int = 0
    """What all other annotations take."""


def standing_of(thing: Any, kind: Kind, manager: str = MANAGER) -> Standing:
    """From an object as the API server gives it, managed fields included."""
    metadata = thing.metadata
    if metadata is None or not metadata.name or not metadata.uid:
        raise ApiError("an object without a name or uid is none of the API server")
    annotations = metadata.annotations or {}
    owned = _owned(metadata.managedFields or (), manager)
    return Standing(
        Target(kind, metadata.name, metadata.uid, metadata.namespace),
        {key: text for key, text in annotations.items() if key in owned},
        _size({key: text for key, text in annotations.items() if key not in owned}),
    )


class Writer:
    def __init__(self, server: ApiServer, manager: str = MANAGER) -> None:
        self._server = server
        self._manager = manager

    def read(self, kind: Kind, name: str, namespace: str | None = None) -> Standing:
        resource = kind.resource
        found = self._server.ask(
            f"reading {shown(kind, name, namespace)}",
            lambda client: client.get(resource, name, namespace=namespace),
        )
        return standing_of(found, kind, self._manager)

    def apply(
        self, target: Target, annotations: Mapping[str, str], standing: Standing | None = None
    ) -> Standing:
        """All of our keys on the object; what cannot fit, as it stands there now, is not sent."""
        for key in annotations:
            if not codec.is_ours(key):
                raise ApiError(f"{key} is not below {codec.DOMAIN}, and not ours to write")
        size = _size(annotations) + (0 if standing is None else standing.foreign_bytes)
        if size > MOST_BYTES:
            # What others wrote may have gone since.
            standing = self.read(target.kind, target.name, target.namespace)
            size = _size(annotations) + standing.foreign_bytes
        if size > MOST_BYTES:
            raise TooLargeError(
                f"annotating {target}: all annotations would take {size:,} bytes of {MOST_BYTES:,}",
                hint="some other annotation of the object is too large",
            )
        try:
            return self._patched(target, annotations)
        except (RefusedError, ForbiddenError) as refusal:
            # There are many reasons for one; that this is not the same object is one to know.
            there = self.read(target.kind, target.name, target.namespace).target
            if there.uid != target.uid:
                raise GoneError(f"{target} was deleted and made again") from refusal
            raise

    def remove_all(self, target: Target) -> Standing:
        """Not one key of ours stays; those of others do."""
        return self.apply(target, {})

    def _patched(self, target: Target, annotations: Mapping[str, str]) -> Standing:
        kind, resource = target.kind, target.kind.resource
        metadata: dict[str, Any] = {"name": target.name, "uid": target.uid}
        if target.namespace is not None:
            metadata["namespace"] = target.namespace
        if annotations:
            metadata["annotations"] = dict(annotations)
        patch = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        patched = self._server.ask(
            f"annotating {target}",
            lambda client: client.patch(
                resource,
                target.name,
                patch,
                namespace=target.namespace,
                patch_type=PatchType.APPLY,
                field_manager=self._manager,
                force=True,
            ),
        )
        return standing_of(patched, kind, self._manager)


def _owned(entries: Iterable[ManagedFieldsEntry], manager: str) -> frozenset[str]:
    """Only what was applied: an update by the same name is another manager to the API server."""
    keys: set[str] = set()
    for entry in entries:
        if entry.manager != manager or entry.operation != "Apply" or entry.subresource:
            continue
        fields: Any = entry.fieldsV1 or {}
        named = fields.get("f:metadata", {}).get("f:annotations", {})
        keys.update(name.removeprefix("f:") for name in named if name != ".")
    return frozenset(keys)


def _size(annotations: Mapping[str, str]) -> int:
    """As the API server counts: bytes."""
    return sum(len(key.encode()) + len(text.encode()) for key, text in annotations.items())


def shown(kind: Kind, name: str, namespace: str | None) -> str:
    """Names go into an address: one that is none, from a label of a metric, must not."""
    for part in (name, namespace):
        if part is not None and not _NAME.fullmatch(part):
            raise ApiError(f"{part[:80]!r} is no name of a {kind.name}")
    within = "" if namespace is None else f"{namespace}/"
    return f"{kind.name} {within}{name}"
