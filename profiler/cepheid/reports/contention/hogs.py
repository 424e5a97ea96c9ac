"""Who holds what others wait for?

Use counts only while somebody else waited for the same, and could have used it: however much
somebody takes of what nobody wants is their own business. docs/hogs.md has the formula, with an
example by hand.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice

from cepheid.annotations.codec import HOG_EXEMPT
from cepheid.history.rows import microseconds
from cepheid.jobprofile import JobProfile
from cepheid.reports.contention import wording as hog_words
from cepheid.reports.contention.findings import (
    Finding,
    Kind,
    beyond_shares,
    heaviest,
    heavy,
    move_to,
    named,
    waiters,
)
from cepheid.reports.contention.holding import Pool, Resource, natural
from cepheid.reports.contention.moving import Inventory, NodeType, inventory_of
from cepheid.reports.contention.scene import Scene
from cepheid.reports.stats import GROUPS

EXEMPT = (HOG_EXEMPT, "true")
"""The label, and what it must say."""
LEAST_SECONDS = 600.0
"""Shorter than this, in all, nobody is called anything."""
EXPLAINS = 0.9
"""Of what is beyond the fair share: where so much of it is idle or misplaced, that says it all."""

BY: Mapping[str, Callable[[JobProfile], str]] = {
    "user": GROUPS["user"],
    "namespace": GROUPS["namespace"],
    "job": lambda profile: f"{profile.job.namespace}/{profile.series}",
}
"""Who is held to account. Runs of a job are one."""


class Verdict(StrEnum):
    HOG = "hog"
    EXEMPT = "exempt"
    NOBODY_WAITED = "nobody waited"


@dataclass(frozen=True, slots=True, kw_only=True)
class HogRow:
    who: str
    verdict: Verdict
    kind: str
    resource: str
    system: str
    """GPU model of the nodes; of nodes without, empty."""
    node: str | None
    job: str
    """The one that holds the most."""
    jobs: int
    held: float
    """On average while others waited, in GPUs, cores, bytes, or bytes a second."""
    fair_share: float | None
    excess_hours: float
    """Held beyond the fair share, or in vain, while others waited: in such units times hours."""
    gpu_util_percent: float | None
    held_seconds: float
    waited_seconds: float
    """So long others waited meanwhile."""
    waiting_jobs: int
    waiting_users: int
    why: str
    advice: str
    move_to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hogs:
    rows: tuple[HogRow, ...]
    """The worst first."""
    exempt: tuple[HogRow, ...]
    left_out: tuple[HogRow, ...]
    """Who held much, or held it in vain, and nobody waited for it: one row each."""

    @property
    def count(self) -> int:
        return len({row.who for row in self.rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    since: datetime
    now: datetime
    by: str = "user"
    least_seconds: float = LEAST_SECONDS
    exempt: Sequence[tuple[str, str]] = ()
    """Labels with their values, besides EXEMPT."""
    nodes: Sequence[NodeType] = ()
    """What the cluster has; without, what the jobs' GPUs show."""


@dataclass(frozen=True, slots=True)
class Worst:
    rows: tuple[HogRow, ...]
    """One of each hog, the worst first."""
    others: int
    """Hogs that there are besides."""


def hogs(profiles: Iterable[JobProfile], question: Question) -> Hogs:
    scene = _scene(profiles, question)
    special = list(named(scene))
    found = _found(scene, special, question.least_seconds)
    blamed = {one.owner for one in found}
    missed = [one for one in special if one.owner not in blamed]
    missed += heavy(scene, but=blamed)
    return Hogs(
        rows=tuple(
            _row(scene, one, Verdict.HOG) for one in found if not scene.people[one.owner].is_exempt
        ),
        exempt=tuple(
            _row(scene, one, Verdict.EXEMPT) for one in found if scene.people[one.owner].is_exempt
        ),
        left_out=tuple(
            _row(scene, one, Verdict.NOBODY_WAITED)
            for one in _one_each(missed, question.least_seconds)
            if not scene.people[one.owner].is_exempt
        ),
    )


def worst(profiles: Iterable[JobProfile], question: Question, most: int) -> Worst:
    """As `hogs` has them, for who has room for a few: of the others no rows are made."""
    scene = _scene(profiles, question)
    first: dict[str, Finding] = {}
    for one in _found(scene, list(named(scene)), question.least_seconds):
        person = scene.people[one.owner]
        if not person.is_exempt:
            first.setdefault(person.name, one)
    rows = [_row(scene, one, Verdict.HOG) for one in islice(first.values(), most)]
    return Worst(tuple(rows), len(first) - len(rows))


def _scene(profiles: Iterable[JobProfile], question: Question) -> Scene:
    runs = list(profiles)
    labels = {EXEMPT, *question.exempt}
    return Scene(
        runs=runs,
        inventory=_inventory(runs, question.nodes),
        window=(microseconds(question.since), microseconds(question.now)),
        who=BY[question.by],
        is_exempt=lambda profile: not labels.isdisjoint(profile.labels.items()),
    )


def _found(scene: Scene, special: Sequence[Finding], least_seconds: float) -> list[Finding]:
    """All that somebody is blamed for, the worst first."""
    counted = [one for one in special if one.seconds >= least_seconds]
    beyond = list(beyond_shares(scene, least_seconds))
    found = [*counted, *_unexplained(beyond, counted)]
    found.sort(key=lambda one: (_ORDER[one.pool.resource], -one.excess, one.owner))
    return found


_ORDER = {resource: place for place, resource in enumerate(Resource)}


def _inventory(runs: Sequence[JobProfile], nodes: Sequence[NodeType]) -> Inventory:
    """What the cluster says, and of nodes that are gone what the GPUs were that they had."""
    seen = inventory_of(runs)
    if not nodes:
        return seen
    there = {node.name for node in nodes}
    gone = [
        NodeType(name=node.name, gpu_model=node.gpu_model)
        for system in seen.systems
        for node in seen.of(system)
        if node.gpu_model is not None and node.name not in there
    ]
    return Inventory([*nodes, *gone], is_told=True)


def _unexplained(beyond: Sequence[Finding], special: Sequence[Finding]) -> list[Finding]:
    """Without what says the same again: of one system the scarcest of what somebody holds there,
    and nothing where idle or misplaced jobs are all that is beyond the fair share."""
    said = {(one.owner, one.pool.system) for one in special if one.kind is Kind.NO_GPU}
    known: dict[tuple[int, Pool], float] = {}
    for one in special:
        known[one.owner, one.pool] = known.get((one.owner, one.pool), 0.0) + one.excess
    found = []
    for one in sorted(beyond, key=lambda one: (_ORDER[one.pool.resource], -one.excess)):
        place = (one.owner, one.pool.system or one.pool.node)
        explained = known.get((one.owner, one.pool), 0.0)
        if place not in said and explained < EXPLAINS * one.excess:
            found.append(one)
        said.add(place)
    return found


def _one_each(findings: Sequence[Finding], least_seconds: float) -> list[Finding]:
    """Of each owner who held something for long enough and nobody waited for it, the first."""
    found: dict[int, Finding] = {}
    for one in findings:
        if one.seconds < least_seconds <= one.held_seconds:
            found.setdefault(one.owner, one)
    return sorted(found.values(), key=lambda one: (_ORDER[one.pool.resource], -one.held_seconds))


def _row(scene: Scene, found: Finding, verdict: Verdict) -> HogRow:
    pool = found.pool
    job = scene.runs[heaviest(found.holds)]
    util = _util_percent(scene, found)
    share = None if found.share is None else natural(pool.resource, found.share)
    held = natural(pool.resource, found.held)
    jobs = len({*found.holds.runs.tolist()})
    waiting, elsewhere = waiters(scene, found), move_to(scene, found)
    peaks = scene.inventory.peaks(pool.system)
    said = hog_words.Case(
        kind=found.kind,
        resource=pool.resource,
        system=pool.system,
        node=pool.node,
        held=held,
        share=share,
        job=job,
        jobs=jobs,
        util_percent=util,
        move_to=elsewhere,
        gpu_memory_gb=None if peaks is None else peaks.memory_gb,
    )
    return HogRow(
        who=scene.people[found.owner].name,
        verdict=verdict,
        kind=found.kind.value,
        resource=pool.resource.value,
        system=pool.system,
        node=pool.node or None,
        job=job.job.name,
        jobs=jobs,
        held=held,
        fair_share=share,
        excess_hours=natural(pool.resource, found.excess) / 3600,
        gpu_util_percent=util,
        held_seconds=found.held_seconds,
        waited_seconds=found.seconds,
        waiting_jobs=waiting.jobs,
        waiting_users=waiting.users,
        why=hog_words.why(said),
        advice=hog_words.advice(said),
        move_to=elsewhere,
    )


def _util_percent(scene: Scene, found: Finding) -> float | None:
    """The mean load over the time that GPUs were held; of jobs whose load is known."""
    if found.pool.resource is not Resource.GPU:
        return None
    weight = total = 0.0
    for run, amount_us in zip(found.holds.runs.tolist(), found.holds.amounts_us(), strict=True):
        usage = scene.runs[run].usage
        util = None if usage is None else usage.gpu_util_percent
        load = None if util is None else util.max if util.mean is None else util.mean
        if load is not None:
            part = amount_us / 1e6
            weight += part
            total += part * min(load, 100.0)
    return total / weight if weight > 0 else None
