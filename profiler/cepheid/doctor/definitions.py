"""Do the custom resources of the cluster hold what this version writes and reads?

What a definition does not know the API server drops without a word. So its fields are compared with
those of the records that this version is made of: no list of them has to be kept beside.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.json import schema

from cepheid.doctor.facts import Cluster, Definition, Unseen
from cepheid.doctor.finding import AGAIN, INSTALL, Finding, Rule, fail, not_seen, ok, warn
from cepheid.jobprofile import JobProfile
from cepheid.placementtrial import TrialSpec, TrialStatus
from cepheid.reports.words import counted, listed

AREA = "definitions"
VERSION = "v1alpha1"
DOMAIN = "ai.centaurus.io"
NAMES = (f"jobprofiles.{DOMAIN}", f"placementtrials.{DOMAIN}")
NOT_IN_CLUSTER = ("process",)
"""Fields that only a job on a machine of its own has."""
DEEPEST = 20
_ANYTHING = "x-kubernetes-preserve-unknown-fields"
_OWN = frozenset({"apiVersion", "kind", "metadata"})


def expected() -> Mapping[str, frozenset[str]]:
    """The fields of our records, by the name of their definition."""

    def of(record: Any) -> frozenset[str]:
        document = schema(record)
        return paths({"$ref": document["$ref"]}, document["$defs"])

    profile = {path for path in of(JobProfile) if path.split(".")[0] not in NOT_IN_CLUSTER}
    trial = {
        name
        for part, record in (("spec", TrialSpec), ("status", TrialStatus))
        for name in (part, *(f"{part}.{path}" for path in of(record)))
    }
    return dict(zip(NAMES, (frozenset(profile), frozenset(trial)), strict=True))


def paths(part: Any, definitions: Mapping[str, Any] | None = None) -> frozenset[str]:
    """Of every field of a schema, JSON's or Kubernetes', whatever it claims to be."""
    return frozenset(_paths(part, definitions or {}, DEEPEST))


def _paths(part: Any, definitions: Mapping[str, Any], deepest: int) -> Iterator[str]:
    if not isinstance(part, Mapping) or deepest == 0:
        return
    if "$ref" in part:
        name = str(part["$ref"]).rpartition("/")[2]
        yield from _paths(definitions.get(name), definitions, deepest - 1)
    for one in _list(part.get("anyOf")):
        yield from _paths(one, definitions, deepest - 1)
    for mark, inner in (("[]", "items"), ("{}", "additionalProperties")):
        for path in _paths(part.get(inner), definitions, deepest - 1):
            yield f"{mark}.{path}"
    fields = part.get("properties")
    if part.get(_ANYTHING) is True or not isinstance(fields, Mapping):
        return
    for name, inner in fields.items():
        yield str(name)
        for path in _paths(inner, definitions, deepest - 1):
            yield f"{name}{'' if path[0] in '[{' else '.'}{path}"


def _list(thing: Any) -> list[Any]:
    return thing if isinstance(thing, list) else []


def without_own(fields: frozenset[str]) -> frozenset[str]:
    """Without what every object has."""
    return fields - _OWN


def findings(cluster: Cluster) -> Iterator[Finding]:
    wanted = expected()
    current = []
    for name in NAMES:
        seen = cluster.definitions[name]
        if isinstance(seen, Unseen):
            yield not_seen(AREA, f"the definition {name}", seen)
            continue
        found = list(_of(name, seen, wanted[name]))
        yield from found
        if not found:
            current.append(name)
    if current:
        yield ok(AREA, f"{' and '.join(current)} are current ({VERSION})")


def _of(name: str, seen: Definition | None, wanted: frozenset[str]) -> Iterator[Finding]:
    if seen is None:
        words = f"there is no definition {name}"
        yield fail(AREA, Rule.NO_DEFINITION, words, AGAIN, INSTALL)
        return
    if not seen.is_established:
        yield fail(
            AREA,
            Rule.NOT_ESTABLISHED,
            f"the definition {name} is not established: another may have its names",
            "see what its conditions say",
            f"kubectl describe customresourcedefinition {name}",
        )
    if VERSION not in seen.served:
        served = ", ".join(seen.served) or "none"
        yield fail(
            AREA,
            Rule.NOT_SERVED,
            f"{name} is served as {served}, this version needs {VERSION}",
            AGAIN,
            INSTALL,
        )
        return
    lacking, more = sorted(wanted - seen.fields), sorted(seen.fields - wanted)
    if lacking:
        yield fail(
            AREA,
            Rule.OLD_DEFINITION,
            f"{name} lacks {counted(len(lacking), 'field')} of this version, such as"
            f" {listed(lacking)}: what is written there is dropped without a word",
            AGAIN,
            INSTALL,
        )
    elif more:
        yield warn(
            AREA,
            Rule.NEW_DEFINITION,
            f"{name} has {counted(len(more), 'field')} that this version does not know, such as"
            f" {listed(more)}",
            "it was installed by a newer version: upgrade this command",
            "pip install --upgrade 'cepheid[laptop]'",
        )
