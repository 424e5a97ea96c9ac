"""How is a PlacementTrial written down, from the few words that somebody typed?"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.errors import UsageError
from cepheid.placementtrial import (
    Goal,
    JobToTry,
    Limits,
    Optimise,
    TrialError,
    TrialSpec,
    TryOn,
    spec_from,
    to_document,
)

API_VERSION = "ai.centaurus.io/v1alpha1"
KIND = "PlacementTrial"
VERSIONS: Mapping[str, tuple[str, ...]] = {
    "MPIJob": ("kubeflow.org/v2beta1", "kubeflow.org/v1"),
    "PyTorchJob": ("kubeflow.org/v1",),
    "Job": ("batch/v1",),
}
"""What can be tried, in which versions; the usual one first."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    kind: str
    job: str
    gpu_types: tuple[str, ...] = ()
    gpus_per_worker: tuple[int, ...] = ()
    workers: tuple[int, ...] = ()
    goal: Goal = Goal.THROUGHPUT
    prices: Mapping[str, float] = field(default_factory=dict)
    """Of an hour, by the type of GPU."""
    gpu_hours: float | None = None
    trial_seconds: float | None = None


def job_of(text: str) -> tuple[str, str]:
    """`mpijob/bert` is the MPIJob bert."""
    kind, _, name = text.partition("/")
    known = {one.lower(): one for one in VERSIONS}
    if kind.lower() not in known or not _NAME.fullmatch(name):
        raise UsageError(
            f"--job is {text!r}", hint=f"KIND/NAME, the kind one of {', '.join(VERSIONS)}"
        )
    return known[kind.lower()], name


def numbers(text: str, option: str) -> tuple[int, ...]:
    """`1,2,4`."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):  # noqa: PLR2004
        raise UsageError(f"{option} is {text!r}", hint="whole numbers with commas between: 1,2,4")
    return tuple(dict.fromkeys(int(part) for part in parts))


def texts(text: str, option: str) -> tuple[str, ...]:
    parts = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if not all(parts):
        raise UsageError(f"{option} is {text!r}", hint="names with commas between")
    return parts


def trial_document(
    name: str, namespace: str | None, wanted: Wanted, api_version: str
) -> dict[str, Any]:
    """As `kubectl apply` takes it; what was not asked for is left to the defaults."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"the trial's name is {name!r}", hint="small letters, digits and dashes")
    if wanted.goal is Goal.COST and not wanted.prices:
        raise UsageError("the goal cost needs prices", hint="give --prices and --gpu-types")
    spec = TrialSpec(
        job=JobToTry(api_version=api_version, kind=wanted.kind, name=wanted.job),
        try_on=TryOn(
            gpu_types=wanted.gpu_types,
            gpus_per_worker=wanted.gpus_per_worker,
            workers=wanted.workers,
        ),
        optimise=Optimise(goal=wanted.goal, prices=dict(wanted.prices)),
        limits=_limits(wanted),
    )
    document = to_document(spec)
    try:
        spec_from(document)
    except TrialError as problem:
        raise UsageError(problem.message, hint=problem.hint) from problem
    asked = {part: value for part, value in document.items() if value}
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": asked}


def prices_of(gpu_types: Sequence[str], priced: Mapping[str, float | None]) -> dict[str, float]:
    """Each type must have one: without it it could not be compared."""
    missing = [one for one in gpu_types if not priced.get(one)]
    if missing or not gpu_types:
        what = f"no price for {missing[0]}" if missing else "prices are for types of GPUs"
        raise UsageError(what, hint="name the types: --gpu-types A,B, and give each a price")
    return {one: price for one in gpu_types if (price := priced[one])}


def _limits(wanted: Wanted) -> Limits:
    default = Limits()
    return Limits(
        gpu_hours=default.gpu_hours if wanted.gpu_hours is None else wanted.gpu_hours,
        trial_seconds=default.trial_seconds
        if wanted.trial_seconds is None
        else wanted.trial_seconds,
    )
