"""Our custom resources, as the API server is told of them: rendered from the records themselves.

`make manifests` writes this to manifests/crd. The fields and their words stand in
cepheid/jobprofile.py and cepheid/placementtrial.py; here is only what Kubernetes wants beside them.
"""

from typing import Any

import msgspec

from cepheid.annotations.codec import DOMAIN
from cepheid.annotations.writer import Kind
from cepheid.jobprofile import JobProfile, Record
from cepheid.placementtrial import MOST_CANDIDATES, TrialSpec, TrialStatus

VERSION = "v1alpha1"
JOB_PROFILE = Kind.of(DOMAIN, VERSION, "JobProfile", "jobprofiles")
PLACEMENT_TRIAL = Kind.of(DOMAIN, VERSION, "PlacementTrial", "placementtrials")
NAME_CHARACTERS = 63
"""Of a PlacementTrial: its name is a label of what it makes."""
MOST_PRICES = 64

Rule = tuple[str, str]
"""What must hold, in CEL, and what is said where it does not."""
Column = tuple[str, str, int]
"""Name, where it stands, and whether only `--output=wide` shows it."""

PROFILE_COLUMNS: tuple[Column, ...] = (
    ("Kind", ".job.kind", 0),
    ("Status", ".outcome", 0),
    ("Reason", ".reason", 0),
    ("Duration", ".summary.duration", 0),
    ("GPUs", ".summary.gpus", 0),
    ("GPU%", ".summary.gpuUtil", 0),
    ("GPUMem", ".summary.gpuMemory", 0),
    ("Mem", ".summary.memory", 0),
    ("Period", ".summary.period", 0),
    ("Verdict", ".verdict", 0),
    ("User", ".user", 1),
    ("Series", ".series", 1),
    ("Nodes", ".nodes", 1),
)
PROFILE_RULES = (
    (
        "!has(self.started) || !has(self.ended) || self.ended >= self.started",
        "a job does not end before it started",
    ),
    (
        "(self.outcome == 'running') != has(self.ended)",
        "a job that is running has no end, and one that is over has one",
    ),
    (
        "oldSelf.outcome == 'running' || self.outcome != 'running'",
        "a job that is over does not run again: another run is another JobProfile",
    ),
)
NOT_IN_CLUSTER = ("process",)
"""Fields that only a job on a machine of its own has."""
SAME_JOB = ("self == oldSelf", "whose profile it is never changes")

TRIAL_COLUMNS: tuple[Column, ...] = (
    ("Phase", ".status.phase", 0),
    ("Trials", ".status.summary.trials", 0),
    ("Best", ".status.summary.best", 0),
    ("Gain", ".status.summary.gain", 0),
    ("Spent", ".status.summary.spent", 0),
    ("Budget", ".status.summary.budget", 0),
    ("Goal", ".spec.optimise.goal", 1),
    ("Message", ".status.message", 1),
)
_JOBS = {"kubeflow.org/v1": ("MPIJob", "PyTorchJob"), "kubeflow.org/v2beta1": ("MPIJob",)}
_KINDS = " || ".join(
    f"(self.apiVersion == '{version}' && self.kind in {list(kinds)})"
    for version, kinds in {**_JOBS, "batch/v1": ("Job",)}.items()
)
_AXES = ("gpuTypes", "gpusPerWorker", "workers", "arrange")
_PLACEMENTS = " * ".join(
    f"(has(self.{axis}) && size(self.{axis}) > 0 ? size(self.{axis}) : 1)" for axis in _AXES
)
TRIAL_RULES: dict[str, tuple[Rule, ...]] = {
    "": (
        (
            f"size(self.metadata.name) <= {NAME_CHARACTERS}",
            f"the name has at most {NAME_CHARACTERS} characters: it is a label of its trials",
        ),
    ),
    "spec": (
        (
            (
                "self.optimise.goal != 'cost' || (has(self.optimise.prices) &&"
                " size(self.optimise.prices) > 0 && (!has(self.tryOn.gpuTypes) ||"
                " self.tryOn.gpuTypes.all(type, type in self.optimise.prices)))"
            ),
            "for the goal cost optimise.prices needs a price of every GPU type that is tried",
        ),
        *(
            (
                f"self.{part} == oldSelf.{part}",
                (
                    f"{part} cannot be changed, or what was measured would compare no more: make"
                    " another PlacementTrial"
                ),
            )
            for part in ("tryOn", "optimise", "measure")
        ),
        (
            "!oldSelf.abort || self.abort",
            "what was aborted is not taken up again: make another PlacementTrial",
        ),
    ),
    "spec.job": (
        (
            "has(self.name) != has(self.template)",
            "either name, for a job of this namespace, or template, for one written here",
        ),
        (
            _KINDS,
            (
                "can be tried: kind MPIJob with apiVersion kubeflow.org/v1 or kubeflow.org/v2beta1,"
                " PyTorchJob with kubeflow.org/v1, Job with batch/v1"
            ),
        ),
        ("self == oldSelf", "job cannot be changed: make another PlacementTrial"),
    ),
    "spec.tryOn": (
        (
            f"{_PLACEMENTS} <= {MOST_CANDIDATES}",
            f"the axes make more than {MOST_CANDIDATES} placements: leave values out",
        ),
    ),
    "spec.optimise": (
        (
            "self.goal != 'deadline' || (has(self.deadlineSeconds) && has(self.work))",
            "for the goal deadline both deadlineSeconds and work must be given",
        ),
    ),
    "spec.measure": (
        (
            "(self.by == 'promql') == has(self.promql)",
            "promql must be given where by is promql, and nowhere else",
        ),
        ("self.by == 'log' || !has(self.pattern)", "pattern is for logs: by must be log"),
    ),
}
"""By where they stand in a PlacementTrial."""


def job_profile_definition() -> dict[str, Any]:
    """The CustomResourceDefinition."""
    schema = _schema(JobProfile)
    for part in NOT_IN_CLUSTER:
        del schema["properties"][part]
    schema["x-kubernetes-validations"] = _rules(*PROFILE_RULES)
    schema["properties"]["job"]["x-kubernetes-validations"] = _rules(SAME_JOB)
    return _definition(JOB_PROFILE, "jobprofiles", "jp", schema, PROFILE_COLUMNS)


def placement_trial_definition() -> dict[str, Any]:
    """The CustomResourceDefinition."""
    spec = _schema(TrialSpec, defaults=True) | {"description": "What is asked."}
    status = _schema(TrialStatus) | {"description": "What was found."}
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec["properties"]["job"]["properties"]["template"] |= {
        **anything,
        "required": ["spec"],
        "properties": {
            part: {**anything, "description": f"The job's {part}."} for part in ("metadata", "spec")
        },
    }
    for axis in _AXES:
        spec["properties"]["tryOn"]["properties"][axis]["x-kubernetes-list-type"] = "set"
    spec["properties"]["optimise"]["properties"]["prices"]["maxProperties"] = MOST_PRICES
    schema: dict[str, Any] = {
        "description": "Where does a job run best? Short copies of it are run and compared.",
        "type": "object",
        "required": ["spec"],
        "properties": {"spec": spec, "status": status},
    }
    for path, rules in TRIAL_RULES.items():
        part = schema
        for name in filter(None, path.split(".")):
            part = part["properties"][name]
        part["x-kubernetes-validations"] = _rules(*rules)
    made = _definition(PLACEMENT_TRIAL, "placementtrials", "pt", schema, TRIAL_COLUMNS)
    made["spec"]["versions"][0]["subresources"] = {"status": {}}
    return made


def _definition(
    kind: Kind, plural: str, short: str, schema: dict[str, Any], columns: tuple[Column, ...]
) -> dict[str, Any]:
    own = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    schema["properties"] = own | schema["properties"]
    shown: list[dict[str, Any]] = [
        {"name": name, "type": "string", "jsonPath": path, "priority": priority}
        for name, path, priority in columns
    ]
    shown.append({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{DOMAIN}",
            "labels": {
                "app.kubernetes.io/name": "cepheid-operator",
                "app.kubernetes.io/part-of": "cepheid",
            },
        },
        "spec": {
            "group": DOMAIN,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": plural,
                "singular": kind.name.lower(),
                "shortNames": [short],
                "categories": ["cepheid"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "additionalPrinterColumns": shown,
                }
            ],
        },
    }


def _rules(*rules: Rule) -> list[dict[str, str]]:
    return [{"rule": rule, "message": message} for rule, message in rules]


def _schema(record: type[Record], *, defaults: bool = False) -> dict[str, Any]:
    document = msgspec.json.schema(record)
    made: dict[str, Any] = _structural({"$ref": document["$ref"]}, document["$defs"], defaults)
    return made


def _structural(part: Any, definitions: dict[str, Any], defaults: bool) -> Any:
    """JSON Schema to what Kubernetes calls structural: no references, no null, a type everywhere.

    Defaults only in what people write: there they see what holds. Elsewhere what is not known is
    absent, also after the API server has read it.
    """
    if "$ref" in part:
        meant = definitions[part["$ref"].rpartition("/")[2]]
        # The words at a field say more than those of its type.
        merged = {**meant, **{k: v for k, v in part.items() if k != "$ref"}}
        return _structural(merged, definitions, defaults)
    if "anyOf" in part:
        (known,) = (one for one in part["anyOf"] if one.get("type") != "null")
        rest = {key: value for key, value in part.items() if key != "anyOf"}
        return _structural({**known, **rest}, definitions, defaults)
    made = {key: value for key, value in part.items() if key not in ("default", "title")}
    if "enum" in made:
        made["type"] = "string"
    if "exclusiveMinimum" in made:  # in OpenAPI 3.0 a flag beside the number
        made |= {"minimum": made["exclusiveMinimum"], "exclusiveMinimum": True}
    if "properties" in made:
        made["properties"] = {
            name: _structural(one, definitions, defaults)
            for name, one in made["properties"].items()
        }
    if defaults and (default := _default(part, made)) is not None:
        made["default"] = default
    for inner in ("items", "additionalProperties"):
        if isinstance(made.get(inner), dict):
            made[inner] = _structural(made[inner], definitions, defaults)
    return made


def _default(part: Any, made: dict[str, Any]) -> Any:
    """None where there is none, or nothing in it.

    That of an object is made of those of its fields: the rules are tried on it before these are
    filled in.
    """
    default = part.get("default")
    if default == {}:
        within = made.get("properties", {}).items()
        default = {name: one["default"] for name, one in within if "default" in one}
    return None if default in ((), [], {}) else default
