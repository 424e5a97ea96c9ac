"""Which runs are runs of the same job?

Those of one CronJob; else those whose names differ only in what was put at the end to tell them
apart. And, whatever they are called, those made from the same pod templates.
"""

import hashlib
import json
import re
from collections.abc import Mapping

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.jobs.kinds import kind_of
from cepheid.jobs.owners import Reference

HASH_CHARACTERS = 16
MOST_SUFFIXES = 3
"""A date, a number and a random part; what is left after that is the name."""

# What Kubernetes makes random names of: no vowels, so that no words come about.
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
_SUFFIX = re.compile(
    r"[-._](?:"
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # a uuid
    r"|(?:19|20)\d\d[-._]?[01]\d[-._]?[0-3]\d(?:[-._t]?[0-2]\d[-._h]?[0-5]\d(?:[-._m]?[0-5]\d)?)?z?"
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}"  # of a commit, or random
    r"|(?:run|try|attempt|trial|v)?[-._]?\d{1,20}"
    rf"|{_RANDOM}{{5}}"  # generateName
    rf"|(?=[a-z0-9]*\d){_RANDOM}{{8,10}}"  # ReplicaSets, Argo
    r")$",
    re.ASCII,
)
# Put into a pod's spec by the API server, different for each pod.
_INJECTED = "kube-api-access-"
_OF_A_PLACE = ("nodeName", "hostname", "subdomain")
_DEEPEST = 40
_LARGEST = 2**63


def series_of(job: Raw, cron_job: Reference | None = None) -> str:
    """What the runs of the same job have in common, for people too."""
    if cron_job is not None:
        return cron_job.name
    name = fields.name(job, "metadata", "name") or "-"
    prefix = fields.name(job, "metadata", "generateName")
    if prefix is not None and name.startswith(prefix):
        return prefix.rstrip("-._") or name
    return without_suffix(name)


def without_suffix(name: str) -> str:
    for _ in range(MOST_SUFFIXES):
        shorter = _SUFFIX.sub("", name)
        if not shorter or shorter == name:
            break
        name = shorter
    return name


def template_of(job: Raw) -> str | None:
    """A hash of what the job runs; None where it says nothing of it."""
    kind = kind_of(job)
    specs = [] if kind is None else [(t.role, _plain(t.spec)) for t in kind.templates(job)]
    if not any(spec for _, spec in specs):
        return None
    specs.sort(key=lambda one: one[0] or "")
    text = json.dumps(specs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_CHARACTERS]


def _plain(spec: Raw) -> object:
    return _without_generated({key: spec[key] for key in spec if key not in _OF_A_PLACE})


def _without_generated(thing: object, depth: int = 0) -> object:
    """Only what JSON has; a hostile object may hold anything, or itself."""
    if depth > _DEEPEST:
        return None
    if isinstance(thing, Mapping):
        return {
            str(key): _without_generated(value, depth + 1)
            for key, value in thing.items()
            if value is not None
        }
    if isinstance(thing, list | tuple):
        return [
            _without_generated(item, depth + 1)
            for item in thing
            if not (fields.name(item, "name") or "").startswith(_INJECTED)
        ]
    if isinstance(thing, float) or (isinstance(thing, int) and abs(thing) < _LARGEST):
        return thing
    return thing if isinstance(thing, str) else None
