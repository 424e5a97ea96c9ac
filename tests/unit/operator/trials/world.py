"""A cluster in memory for one PlacementTrial: jobs begin, run, end, and can be measured.

`World.step` is what the operator does: it observes, decides, writes the status, acts. Whoever runs
it can be killed at any of these points; what is left then is what a cluster would have.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec

from cepheid.analysis.scaling import GpuType
from cepheid.jobprofile import Outcome, Reason
from cepheid.jobs.ending import RUNNING, Ending
from cepheid.jobs.pods import Phase, PodState
from cepheid.placementtrial import (
    Placement,
    Reading,
    TrialSpec,
    TrialStatus,
    spec_from,
    status_from,
    to_document,
)
from cepheid_operator.trials.copying.builders import GRACE_SECONDS
from cepheid_operator.trials.copying.candidates import Candidates, Quota
from cepheid_operator.trials.copying.template import Template, read
from cepheid_operator.trials.decide import Observed, Remove, Trouble, decide, reserved_seconds
from cepheid_operator.trials.fates import Sight
from cepheid_operator.trials.following import Course

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
A100, T4 = "NVIDIA-A100-SXM4-80GB", "Tesla-T4"
TYPES = (
    GpuType(A100, memory_mib=81920, tensor_teraflops=312, dram_gbps=2039, gpus_per_node=4),
    GpuType(T4, memory_mib=15360, tensor_teraflops=65, dram_gbps=320, gpus_per_node=4),
)
SPEEDS = {A100: 1.0, T4: 0.2}
_CONTAINER = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}
TEMPLATE = read(
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"template": {"spec": {"containers": [_CONTAINER]}}},
    },
    type_label="nvidia.com/gpu.product",
)
PLACEMENTS = tuple(Placement(gpu_type=kind, workers=n) for kind in (A100, T4) for n in (1, 2, 4))


class Killed(Exception):  # noqa: N818 # what happens to an operator is no error
    """The operator, at some point of a step."""


def spec_of(**changes: object) -> TrialSpec:
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}
    return spec_from({"job": job, **changes})


def period_seconds(placement: Placement) -> float:
    """The truth: compute divides by the GPUs, communication grows with them."""
    n = placement.gpus
    return 30.0 / (SPEEDS[placement.gpu_type] * n) + 4.0 * (n - 1) / n


@dataclass
class Job:
    placement: Placement
    made: datetime
    planned_seconds: float
    starts_after_seconds: float = 5.0
    """inf: never."""
    ending: Ending = RUNNING
    lacks_gpu_memory: bool = False
    removed: datetime | None = None


Fate = Callable[[Placement, int], Mapping[str, object]]
"""What becomes of the n-th job of a placement."""


@dataclass
class World:
    spec: TrialSpec
    placements: tuple[Placement, ...] = PLACEMENTS
    fate: Fate = lambda _placement, _number: {}
    now: datetime = NOON
    status: bytes = b"{}"
    """As it is stored: nothing else is left of an operator that was killed."""
    jobs: dict[str, Job] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    gone: list[Job] = field(default_factory=list)
    trouble: Trouble | None = None
    waits: str | None = None
    quota: Quota = field(default_factory=Quota)
    template: Template = TEMPLATE

    def read_status(self) -> TrialStatus:
        return status_from(msgspec.json.decode(self.status))

    def step(self, die: Callable[[str], bool] = lambda _: False) -> TrialStatus:
        """`die` is asked at each point at which an operator can be killed."""
        decision = decide(self.spec, self.read_status(), self.observed())
        if die("decided"):
            raise Killed
        self.status = msgspec.json.encode(to_document(decision.status))
        if die("written"):
            raise Killed
        for action in decision.actions:
            if isinstance(action, Remove):
                self._remove(action.job)
            else:
                self._make(action.trial.job, action.trial.placement, action.trial.planned_seconds)
            if die("acted"):
                raise Killed
        return decision.status

    def run(self, seconds: float = 7200, every_seconds: float = 5) -> TrialStatus:
        end = self.now + timedelta(seconds=seconds)
        while self.now < end:
            status = self.step()
            if status.phase is not None and status.phase.is_over and not self.jobs:
                return status
            self.now += timedelta(seconds=every_seconds)
        return self.read_status()

    def observed(self) -> Observed:
        return Observed(
            now=self.now,
            name="train-where",
            template=self.template,
            trouble=self.trouble,
            candidates=Candidates(placements=self.placements, left_out=(), memory_mib={}),
            types=TYPES,
            quota=self.quota,
            sights={name: self._sight(name, job) for name, job in self.jobs.items()},
            waits=self.waits,
        )

    def held_gpu_seconds(self) -> float:
        """By all jobs that ever were, as the cluster would have it."""
        return sum(self._held(job) for job in (*self.jobs.values(), *self.gone))

    def _held(self, job: Job) -> float:
        begun = job.made + timedelta(seconds=min(job.starts_after_seconds, 1e9))
        grace = timedelta(seconds=GRACE_SECONDS)
        end = self.now if job.removed is None else job.removed + grace
        if job.ending.ended is not None:
            end = min(end, job.ending.ended)
        deadline = begun + timedelta(seconds=reserved_seconds(self.spec, job.planned_seconds))
        held = (min(end, deadline + grace) - begun).total_seconds()
        return max(0.0, held) * job.placement.gpus

    def _make(self, name: str, placement: Placement, planned_seconds: float) -> None:
        if name in self.jobs:
            return  # the API server says that it is there already
        number = 1 + sum(one.placement == placement for one in (*self.jobs.values(), *self.gone))
        changes = dict(self.fate(placement, number))
        self.jobs[name] = Job(placement, self.now, planned_seconds, **changes)  # type: ignore[arg-type]
        self.made.append(name)

    def _remove(self, name: str) -> None:
        job = self.jobs.pop(name)
        job.removed = self.now
        self.gone.append(job)

    def _sight(self, name: str, job: Job) -> Sight:
        begun = job.made + timedelta(seconds=min(job.starts_after_seconds, 1e9))
        runs = self.now >= begun
        pod = PodState(
            uid=f"pod-{name}",
            name=f"{name}-0",
            namespace="team",
            created=job.made,
            phase=Phase.RUNNING if runs else Phase.PENDING,
            scheduled=begun if runs else None,
            started=begun if runs else None,
            gpu_count=job.placement.gpus,
        )
        over = job.ending.ended is not None and self.now >= job.ending.ended
        course = Course(
            name=name,
            uid=f"uid-{name}",
            pods=(pod,),
            began=begun if runs else None,
            ending=job.ending if over else RUNNING,
            lacks_gpu_memory=over and job.lacks_gpu_memory,
            waits_for=None if runs else "0/2 nodes are available: 2 Insufficient nvidia.com/gpu",
            is_going=False,
        )
        return Sight(course=course, reading=self._reading(job, begun))

    def _reading(self, job: Job, begun: datetime) -> Reading | None:
        seconds = (self.now - begun).total_seconds() - self.spec.limits.warmup_seconds
        period = period_seconds(job.placement)
        if seconds < 3.4 * period:
            return None
        return Reading(
            seconds=seconds,
            period_seconds=period,
            period_error_percent=4.0 / (seconds / period) ** 0.5,
            cycles=seconds / period,
            watts=200.0 * job.placement.gpus,
            gpu_memory_mib=8000.0,
        )


def ended(outcome: Outcome, reason: Reason, at: datetime) -> Ending:
    return Ending(outcome, reason, "as its controller says", ended=at)
