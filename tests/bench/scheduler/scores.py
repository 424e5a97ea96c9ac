"""One family, under all policies on the same jobs: what came of it?"""

from dataclasses import dataclass, replace

import numpy as np

from tests.bench.scheduler.families import Family
from tests.bench.scheduler.jobs import HOUR, draw
from tests.bench.scheduler.policies import EXTENDER_WEIGHT, Default, Ours, Packing, Policy
from tests.bench.scheduler.sight import Sight
from tests.bench.scheduler.simulation import Played, play


@dataclass(frozen=True, kw_only=True)
class Score:
    family: str
    policy: str
    seed: int
    jobs: int
    mean_seconds: float
    """From submission to end."""
    p95_seconds: float
    queued_seconds: float
    queued_p95_seconds: float
    idle_gpu_hours: float
    """Held by somebody, and no kernel ran."""
    lost_gpu_hours: float
    """Of runs that were killed."""
    kills: int


def scored(family: Family, seed: int, count: int, weight: int = EXTENDER_WEIGHT) -> list[Score]:
    """The default scheduler's first."""
    jobs = draw(replace(family.workload, count=count), family.machines, seed)
    policies: list[Policy] = [
        Default(seed),
        Packing(seed),
        Ours(seed, Sight(family.machines, seed), weight),
    ]
    return [score(family, seed, play(family.machines, jobs, one, seed)) for one in policies]


def score(family: Family, seed: int, played: Played) -> Score:
    seconds = np.array([one.ended - one.job.submitted for one in played.jobs])
    queued = np.array([one.queued for one in played.jobs])
    lost = sum(stay.held for stay in played.stays if stay.killed)
    idle = sum(stay.held - stay.computed for stay in played.stays if not stay.killed)
    return Score(
        family=family.name,
        policy=played.policy,
        seed=seed,
        jobs=len(played.jobs),
        mean_seconds=float(seconds.mean()),
        p95_seconds=float(np.quantile(seconds, 0.95)),
        queued_seconds=float(queued.mean()),
        queued_p95_seconds=float(np.quantile(queued, 0.95)),
        idle_gpu_hours=idle / HOUR,
        lost_gpu_hours=lost / HOUR,
        kills=sum(one.kills for one in played.jobs),
    )
