"""Has the job the shape that every job has? What is built from it later relies on that.

The API server has looked at the shape of a Job, but not at that of a job inside a PlacementTrial,
nor at all of what a custom resource lets pass. Whatever a trial changes or reads must be of the
type that Kubernetes wants there; everything else is copied as it is.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.placementtrial import TrialError

_DEEPEST = 60
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MAPPINGS = (
    "metadata",
    "metadata.labels",
    "metadata.annotations",
    "spec",
    "spec.nodeSelector",
    "spec.affinity",
    "spec.affinity.nodeAffinity",
    f"spec.affinity.nodeAffinity.{_REQUIRED}",
    "spec.affinity.podAffinity",
    "spec.affinity.podAntiAffinity",
)
_LISTS = (
    "spec.containers",
    "spec.initContainers",
    "spec.tolerations",
    "spec.topologySpreadConstraints",
    f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms",
    *(
        f"spec.affinity.{kind}.{when}"
        for kind in ("podAffinity", "podAntiAffinity")
        for when in (_REQUIRED, _PREFERRED)
    ),
)


def plain(document: object) -> dict[str, Any]:
    """A copy of plain types and without nulls: to Kubernetes they are the same as nothing."""
    copied = _copy(document, 0)
    if not isinstance(copied, dict):
        raise _wrong("the job", "a mapping")
    return copied


def check_pod(pod: Raw, where: str) -> None:
    for path in _MAPPINGS:
        _check_mapping(fields.value(pod, *path.split(".")), f"{where}.{path}")
    for path in _LISTS:
        _check_list(fields.value(pod, *path.split(".")), f"{where}.{path}")
    terms = ("spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    for term in fields.items(pod, *terms):
        _check_list(term.get("matchExpressions"), f"{where}.{'.'.join(terms)}.matchExpressions")
    if not isinstance(fields.value(pod, "spec", "containers"), list):
        raise _wrong(f"{where}.spec.containers", "a list")
    for kind in ("containers", "initContainers"):
        for container in fields.items(pod, "spec", kind):
            _check_container(container, f"{where}.spec.{kind}")


def _check_container(container: Raw, where: str) -> None:
    _check_mapping(container.get("resources"), f"{where}.resources")
    for kind in ("limits", "requests"):
        _check_mapping(fields.value(container, "resources", kind), f"{where}.resources.{kind}")
    _check_list(container.get("env"), f"{where}.env")
    for kind in ("command", "args"):
        words = container.get(kind, [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise _wrong(f"{where}.{kind}", "a list of texts")


def _check_mapping(found: object, where: str) -> None:
    if found is not None and not isinstance(found, Mapping):
        raise _wrong(where, "a mapping")


def _check_list(found: object, where: str) -> None:
    if found is None:
        return
    if not isinstance(found, list) or len(found) > fields.MOST_ITEMS:
        raise _wrong(where, f"a list of at most {fields.MOST_ITEMS}")
    if not all(isinstance(item, Mapping) for item in found):
        raise _wrong(where, "a list of mappings")


def _copy(thing: object, depth: int) -> Any:
    if depth > _DEEPEST:
        raise _wrong("the job", f"less than {_DEEPEST} levels deep")
    if isinstance(thing, Mapping):
        return {
            key: _copy(value, depth + 1)
            for key, value in _named(thing.items())
            if value is not None
        }
    if isinstance(thing, list | tuple):
        return [_copy(item, depth + 1) for item in thing if item is not None]
    if isinstance(thing, str | int | float):
        return thing
    raise _wrong("the job", "of the types that JSON has")


def _named(entries: Iterable[tuple[object, object]]) -> Iterable[tuple[str, object]]:
    for key, value in entries:
        if not isinstance(key, str):
            raise _wrong("the job", "of the types that JSON has")
        yield key, value


def _wrong(where: str, wanted: str) -> TrialError:
    return TrialError(f"{where} is not {wanted}", hint="does `kubectl create` take this job?")
