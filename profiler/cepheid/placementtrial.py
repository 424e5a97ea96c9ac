"""A PlacementTrial: on which GPUs should a job run? What was asked, and what was found.

`spec` is written by a person, `status` by the operator, which needs nothing but the two to go on
where another instance stopped. The words at each field are what `kubectl explain` answers: the
custom resource is rendered from this module.
"""

from enum import StrEnum
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from cepheid.errors import CepheidError
from cepheid.jobprofile import Amount, Count, Moment, Name, Percent, Record, Words

MOST_CANDIDATES = 200
"""Of one trial: types times counts times arrangements."""
MOST_TRIALS = 100

Few = Annotated[int, Meta(ge=1, le=64)]
Many = Annotated[int, Meta(ge=1, le=1024)]
Text = Annotated[str, Meta(min_length=1, max_length=1000)]
Positive = Annotated[float, Meta(gt=0)]
_T = TypeVar("_T")


class Arrange(StrEnum):
    PACKED = "packed"
    """On as few nodes as can be."""
    SPREAD = "spread"
    """No two workers on one node."""


class Placement(Record, frozen=True, kw_only=True):
    """One way to place the job."""

    gpu_type: Annotated[Name, Meta(description="Type of its GPUs: the value of the node's label.")]
    gpus_per_worker: Annotated[Few, Meta(description="GPUs of each worker.")] = 1
    workers: Annotated[Many, Meta(description="How many workers.")] = 1
    arrange: Annotated[
        Arrange | None, Meta(description="packed or spread; without it the scheduler decides.")
    ] = None

    @property
    def gpus(self) -> int:
        return self.gpus_per_worker * self.workers

    def __str__(self) -> str:
        each = f" of {self.gpus_per_worker}" if self.gpus_per_worker > 1 else ""
        how = f" {self.arrange}" if self.arrange is not None else ""
        return f"{self.workers}{each}x{self.gpu_type}{how}"


class JobToTry(Record, frozen=True, kw_only=True):
    api_version: Annotated[Name, Meta(description="Group and version, such as kubeflow.org/v1.")]
    kind: Annotated[Name, Meta(description="MPIJob, PyTorchJob or Job.")]
    name: Annotated[
        Name | None,
        Meta(description="A job of this namespace; suspended, running or over, it is only read."),
    ] = None
    template: Annotated[
        dict[str, Any] | None, Meta(description="Instead of a name: the job itself, its spec.")
    ] = None


class TryOn(Record, frozen=True, kw_only=True):
    """The axes; what is left out stays as the job has it."""

    gpu_types: Annotated[
        Annotated[tuple[Name, ...], Meta(max_length=16)],
        Meta(description="Values of the nodes' label; without them all that the cluster has."),
    ] = ()
    type_label: Annotated[
        Name, Meta(description="Label of nodes that says which GPUs they have.")
    ] = "nvidia.com/gpu.product"
    gpus_per_worker: Annotated[
        Annotated[tuple[Few, ...], Meta(max_length=16)],
        Meta(description="How many GPUs a worker; without it what the job asks for."),
    ] = ()
    workers: Annotated[
        Annotated[tuple[Many, ...], Meta(max_length=32)],
        Meta(description="How many workers; without it what the job asks for."),
    ] = ()
    arrange: Annotated[
        Annotated[tuple[Arrange, ...], Meta(max_length=2)],
        Meta(description="packed, spread, or both; without it the scheduler decides."),
    ] = ()


class Goal(StrEnum):
    THROUGHPUT = "throughput"
    THROUGHPUT_PER_GPU = "throughput-per-gpu"
    COST = "cost"
    """Of the same amount of work."""
    ENERGY = "energy"
    """Of the same amount of work."""
    DEADLINE = "deadline"
    """The cheapest that is done in time; without prices the one with the fewest GPUs."""


class Optimise(Record, frozen=True, kw_only=True):
    goal: Annotated[
        Goal,
        Meta(description="throughput, throughput-per-gpu, cost, energy or deadline."),
    ] = Goal.THROUGHPUT
    prices: Annotated[
        dict[str, Positive], Meta(description="Of a GPU of a type for an hour, in any currency.")
    ] = msgspec.field(default_factory=dict)
    deadline_seconds: Annotated[
        Positive | None, Meta(description="For the goal deadline: so long may the whole job take.")
    ] = None
    work: Annotated[
        Positive | None,
        Meta(description="For the goal deadline: how much there is to do, as it is measured."),
    ] = None
    margin_percent: Annotated[
        Percent, Meta(description="What is better by less than this is not looked for.")
    ] = 5.0


class Ruler(StrEnum):
    """What throughput is measured by."""

    AUTO = "auto"
    PULSE = "pulse"
    """The period of the GPUs' load: one iteration."""
    WORK = "work"
    """What the tensor pipes did: their activity times the peak of the type."""
    PROMQL = "promql"
    LOG = "log"


class Iteration(StrEnum):
    """What one iteration is, when there are more GPUs."""

    AUTO = "auto"
    WHOLE = "whole"
    """The same work, divided among them: the global batch is fixed."""
    PER_GPU = "per-gpu"
    """The same work for each of them: the batch of a GPU is fixed."""


class Measure(Record, frozen=True, kw_only=True):
    by: Annotated[
        Ruler,
        Meta(description="auto (pulse where it can be seen, else work), pulse, work, promql, log."),
    ] = Ruler.AUTO
    promql: Annotated[
        Text | None,
        Meta(
            description='Work done a second; every selector says namespace="$namespace", and may'
            ' say pod=~"$pods".'
        ),
    ] = None
    pattern: Annotated[
        Text | None,
        Meta(
            description="For log: a regular expression with one group, named rate (iterations a"
            " second), seconds (an iteration) or step (their count). Without it the usual lines are"
            " recognised."
        ),
    ] = None
    iteration: Annotated[
        Iteration,
        Meta(description="Whether an iteration is the whole batch, or that of each GPU: auto."),
    ] = Iteration.AUTO


class Limits(Record, frozen=True, kw_only=True):
    gpu_hours: Annotated[
        Positive, Meta(description="All trials together never hold GPUs for longer.")
    ] = 1.0
    trial_seconds: Annotated[
        Annotated[float, Meta(ge=20, le=86400)],
        Meta(description="At most so long is a trial measured."),
    ] = 180.0
    warmup_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=3600)],
        Meta(description="The first seconds of a trial do not count."),
    ] = 30.0
    pending_seconds: Annotated[
        Annotated[float, Meta(ge=10, le=86400)],
        Meta(description="A trial whose pods do not all run by then is given up."),
    ] = 300.0
    start_seconds: Annotated[
        Annotated[float, Meta(ge=10, le=3600)],
        Meta(description="So long may GPUs be held before all pods run: images are pulled."),
    ] = 120.0
    parallel: Annotated[
        Annotated[int, Meta(ge=1, le=16)], Meta(description="So many trials at the same time.")
    ] = 1


class TrialSpec(Record, frozen=True, kw_only=True):
    job: Annotated[JobToTry, Meta(description="Which job.")]
    try_on: Annotated[TryOn, Meta(description="Where, and how many.")] = TryOn()
    optimise: Annotated[Optimise, Meta(description="What counts.")] = Optimise()
    measure: Annotated[Measure, Meta(description="How throughput is measured.")] = Measure()
    limits: Annotated[Limits, Meta(description="What it may cost.")] = Limits()
    suspend: Annotated[
        bool, Meta(description="No trial runs while this is true; what was measured stays.")
    ] = False
    abort: Annotated[bool, Meta(description="Ends it, with what was found so far.")] = False


class Phase(StrEnum):
    WAITING = "Waiting"
    """Another PlacementTrial tries the same job."""
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    DONE = "Done"
    ABORTED = "Aborted"
    FAILED = "Failed"

    @property
    def is_over(self) -> bool:
        return self in (Phase.DONE, Phase.ABORTED, Phase.FAILED)


class State(StrEnum):
    """Of one trial."""

    STARTING = "starting"
    """Its job is about to be made."""
    PENDING = "pending"
    """Not all of its pods run."""
    RUNNING = "running"
    MEASURED = "measured"
    UNMEASURED = "unmeasured"
    """It ran, and nothing could be measured."""
    FAILED = "failed"
    OUT_OF_MEMORY = "out-of-memory"
    UNAVAILABLE = "unavailable"
    """It did not get its GPUs in time: that says nothing of the placement."""
    LOST = "lost"
    """Its node went: repeated once."""
    CUT = "cut"
    """Suspended, aborted or deleted from outside before it was measured."""

    @property
    def is_over(self) -> bool:
        return self not in (State.STARTING, State.PENDING, State.RUNNING)


class Reading(Record, frozen=True, kw_only=True):
    """What was measured of one trial, before it is compared with the others.

    Errors are standard errors, in percent of the figure.
    """

    seconds: Annotated[Amount, Meta(description="Over how long, without the warm-up.")]
    period_seconds: Annotated[
        Positive | None, Meta(description="Of the GPUs' load, confirmed: one iteration.")
    ] = None
    period_error_percent: Annotated[Amount | None, Meta(description="Standard error of it.")] = None
    cycles: Annotated[Amount | None, Meta(description="How many iterations were seen.")] = None
    teraflops: Annotated[
        Positive | None,
        Meta(description="Done by the tensor pipes of all GPUs: activity times peak."),
    ] = None
    teraflops_error_percent: Annotated[Amount | None, Meta(description="Standard error.")] = None
    rate_per_second: Annotated[Positive | None, Meta(description="As PromQL or the log said.")] = (
        None
    )
    rate_error_percent: Annotated[Amount | None, Meta(description="Standard error of it.")] = None
    rate_unit: Annotated[Name | None, Meta(description="Of what: iterations, samples, tokens.")] = (
        None
    )
    gpu_memory_mib: Annotated[
        Amount | None, Meta(description="The most that any of its GPUs held.")
    ] = None
    watts: Annotated[Amount | None, Meta(description="Mean power of all of its GPUs.")] = None


class Throughput(Record, frozen=True, kw_only=True):
    """In the same unit for all trials that are compared."""

    per_second: Annotated[Positive, Meta(description="Iterations, or whatever `unit` says.")]
    error_percent: Annotated[Amount, Meta(description="Standard error.")]
    by: Annotated[Ruler, Meta(description="What it was measured by.")]
    unit: Annotated[Name, Meta(description="iterations, teraflops, or as the log says.")]


class Trial(Record, frozen=True, kw_only=True):
    """One trial job."""

    job: Annotated[Name, Meta(description="Name of the trial's job.")]
    placement: Annotated[Placement, Meta(description="Where it runs.")]
    state: Annotated[
        State,
        Meta(
            description="starting, pending, running, measured, unmeasured, failed, out-of-memory,"
            " unavailable, lost or cut."
        ),
    ]
    attempt: Annotated[Count, Meta(description="1, or 2 after a node was lost.")] = 1
    uid: Annotated[Name | None, Meta(description="Of the trial's job, once it was seen.")] = None
    planned_seconds: Annotated[Amount, Meta(description="At most so long it is measured.")]
    created: Annotated[Moment, Meta(description="When it was decided on.")]
    began: Annotated[Moment | None, Meta(description="When all of its pods ran.")] = None
    ended: Annotated[Moment | None, Meta(description="When it was over.")] = None
    gpu_seconds: Annotated[
        Amount, Meta(description="For how long it held GPUs, times their number.")
    ] = 0.0
    reserved_gpu_seconds: Annotated[
        Amount, Meta(description="The most that it can hold, while it is not over.")
    ] = 0.0
    reading: Annotated[Reading | None, Meta(description="What was measured.")] = None
    throughput: Annotated[Throughput | None, Meta(description="Comparable with the others'.")] = (
        None
    )
    cost_per_unit: Annotated[
        Amount | None, Meta(description="Price of a unit of work, with the prices given.")
    ] = None
    joules_per_unit: Annotated[Amount | None, Meta(description="Energy of a unit of work.")] = None
    best_possible: Annotated[
        bool, Meta(description="No other is both faster and cheaper: it is on the Pareto front.")
    ] = False
    message: Annotated[Words | None, Meta(description="What happened, in words.")] = None


class Foreseen(Record, frozen=True, kw_only=True):
    """One point of the fitted curve, with its 90 % band."""

    placement: Annotated[Placement, Meta(description="Where.")]
    per_second: Annotated[Amount, Meta(description="Expected throughput.")]
    low: Annotated[Amount, Meta(description="At least, with 95 %.")]
    high: Annotated[Amount, Meta(description="At most, with 95 %.")]
    tried: Annotated[bool, Meta(description="Whether it was measured.")] = False


class Answer(Record, frozen=True, kw_only=True):
    placement: Annotated[Placement, Meta(description="What to ask for.")]
    gain: Annotated[
        Positive | None,
        Meta(description="How many times better than the worst that was measured."),
    ] = None
    confidence_percent: Annotated[
        Percent | None,
        Meta(description="How sure it is that nothing else is better by more than the margin."),
    ] = None
    sentence: Annotated[Words, Meta(description="The recommendation, with its reasons.")]
    patch: Annotated[
        Annotated[str, Meta(max_length=4000)] | None,
        Meta(description="For kubectl patch --type=merge: the job, placed like this."),
    ] = None


class TrialSummary(Record, frozen=True, kw_only=True):
    """The columns of `kubectl get placementtrials`."""

    trials: Annotated[Words, Meta(description="How many are over, of how many placements.")]
    best: Annotated[Words | None, Meta(description="The best so far.")] = None
    gain: Annotated[Words | None, Meta(description="Against the worst that was measured.")] = None
    spent: Annotated[Words | None, Meta(description="GPU-hours so far.")] = None
    budget: Annotated[Words | None, Meta(description="GPU-hours in all.")] = None


class TrialStatus(Record, frozen=True, kw_only=True):
    phase: Annotated[
        Phase | None,
        Meta(description="Waiting, Running, Suspended, Done, Aborted or Failed."),
    ] = None
    reason: Annotated[Name | None, Meta(description="Why, in a word.")] = None
    message: Annotated[Words | None, Meta(description="Why, in words.")] = None
    template: Annotated[
        Name | None, Meta(description="Hash of what the job runs: if that changes, it is over.")
    ] = None
    candidates: Annotated[Count, Meta(description="How many placements there are to try.")] = 0
    trials: Annotated[tuple[Trial, ...], Meta(description="All trials so far.")] = ()
    spent_gpu_seconds: Annotated[Amount, Meta(description="GPU-seconds so far.")] = 0.0
    curve: Annotated[
        tuple[Foreseen, ...], Meta(description="What the fitted model says of each placement.")
    ] = ()
    model: Annotated[
        Words | None, Meta(description="The fitted model in words: what a step consists of.")
    ] = None
    best: Annotated[Answer | None, Meta(description="What to ask for.")] = None
    summary: Annotated[TrialSummary | None, Meta(description="The same once more, as columns.")] = (
        None
    )
    observed_generation: Annotated[
        Count, Meta(description="Of the spec that this is the answer to.")
    ] = 0


class TrialError(CepheidError):
    """What was read is no PlacementTrial."""


def spec_from(document: object) -> TrialSpec:
    return _read(document, TrialSpec)


def status_from(document: object) -> TrialStatus:
    """An empty one where nothing was written yet."""
    return _read({} if document is None else document, TrialStatus)


def to_document(record: Record) -> dict[str, Any]:
    """As plain JSON types."""
    document: dict[str, Any] = msgspec.to_builtins(record)
    return document


def _read(document: object, kind: type[_T]) -> _T:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as problem:
        raise TrialError(
            f"this is no PlacementTrial: {problem}", hint="kubectl explain placementtrial.spec"
        ) from problem
