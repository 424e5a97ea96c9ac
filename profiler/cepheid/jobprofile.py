"""What is kept of a job: one record, in the same form wherever it is kept.

As the fields of a JobProfile object in the cluster, as a document in the history's database and as
a line of an export it is the same JSON, camelCase, without what is not known. The words at each
field are what `kubectl explain` answers: the custom resource is rendered from this module.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from cepheid.errors import CepheidError

MOST_WORKERS = 8
"""In the record of a larger job stand the extremes and the stragglers; the history has them all."""

Name = Annotated[str, Meta(min_length=1, max_length=253)]
Words = Annotated[str, Meta(max_length=300)]
Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Moment = Annotated[datetime, Meta(tz=True)]


class Record(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Left out is what is not known. None ever refers back: the collector of cycles need not look,
    which saves a tenth of the time where there are thousands of them."""


class JobIdentity(Record, frozen=True, kw_only=True):
    api_version: Annotated[
        Annotated[str, Meta(max_length=253)],
        Meta(description="Group and version of the job's kind; empty for a process."),
    ]
    kind: Annotated[Name, Meta(description="Kind of the job, such as MPIJob, Job, Pod or Process.")]
    namespace: Annotated[Name, Meta(description="Namespace of the job.")]
    name: Annotated[Name, Meta(description="Name of the job.")]
    uid: Annotated[Name, Meta(description="What tells it from another job of the same name.")]


class Outcome(StrEnum):
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    """Its own program ended it."""
    TIMEOUT = "timeout"
    """A deadline did."""
    ERROR = "error"
    """Something else did: its node, its image, another job's priority, whoever deleted it."""


class Reason(StrEnum):
    """Why a job did not succeed."""

    OOM_KILLED = "OOMKilled"
    EXIT_CODE = "ExitCode"
    DEADLINE = "DeadlineExceeded"
    BACKOFF = "BackoffLimitExceeded"
    EVICTED = "Evicted"
    PREEMPTED = "Preempted"
    NODE_LOST = "NodeLost"
    IMAGE = "ImagePull"
    CONFIG = "ContainerConfig"
    UNSCHEDULABLE = "Unschedulable"
    DELETED = "Deleted"
    STOPPED = "Stopped"
    SIGNAL = "Signal"
    COMMAND = "NoCommand"
    LOST = "RecorderLost"
    UNKNOWN = "Unknown"


class Asked(Record, frozen=True, kw_only=True):
    """What one container of some workers was given, as it was written."""

    container: Annotated[Name, Meta(description="Name of the container.")]
    role: Annotated[
        Name | None, Meta(description="Which of the job's pods: Worker, Launcher, Master.")
    ] = None
    pods: Annotated[Count, Meta(description="How many pods have such a container.")] = 1
    requests: Annotated[dict[str, str], Meta(description="Its requests, as they were given.")] = {}
    limits: Annotated[dict[str, str], Meta(description="Its limits, as they were given.")] = {}


class GpuHeld(Record, frozen=True, kw_only=True):
    node: Annotated[Name, Meta(description="Node that it is in.")]
    index: Annotated[Count, Meta(description="Number of the GPU on that node.")]
    mig: Annotated[Count | None, Meta(description="Id of the MIG slice, of a divided GPU.")] = None
    model: Annotated[Name | None, Meta(description="Its model, as its driver names it.")] = None


class Spread(Record, frozen=True, kw_only=True):
    """Over all samples of all workers."""

    mean: Annotated[Amount | None, Meta(description="Mean over all samples.")] = None
    p95: Annotated[Amount | None, Meta(description="95 % of the samples lie below it.")] = None
    max: Annotated[Amount | None, Meta(description="The highest sample.")] = None
    min: Annotated[Amount | None, Meta(description="The lowest sample.")] = None


class Usage(Record, frozen=True, kw_only=True):
    """Of the whole job: what its workers used at the same time is added up, shares are averaged."""

    cpu_cores: Annotated[Spread | None, Meta(description="CPU, in cores.")] = None
    memory_bytes: Annotated[
        Spread | None, Meta(description="Working set, which is what the OOM killer looks at.")
    ] = None
    gpu_util_percent: Annotated[
        Spread | None, Meta(description="Share of the time in which a kernel ran, of its GPUs.")
    ] = None
    gpu_memory_bytes: Annotated[Spread | None, Meta(description="Memory of its GPUs in use.")] = (
        None
    )
    tensor_percent: Annotated[
        Spread | None, Meta(description="Share of the time in which the tensor pipe worked.")
    ] = None
    power_watts: Annotated[Spread | None, Meta(description="Power of its GPUs.")] = None
    energy_joules: Annotated[
        Amount | None, Meta(description="Energy of its GPUs from start to end.")
    ] = None
    network_bytes_per_second: Annotated[
        Spread | None, Meta(description="Received and sent, in bytes a second.")
    ] = None
    disk_bytes_per_second: Annotated[
        Spread | None, Meta(description="Read and written, in bytes a second.")
    ] = None


class Worker(Record, frozen=True, kw_only=True):
    """One pod of the job, and the most that it ever used."""

    name: Annotated[Name, Meta(description="Name of the pod.")]
    node: Annotated[Name | None, Meta(description="Node that it ran on last.")] = None
    cpu_cores: Annotated[Amount | None, Meta(description="Most CPU, in cores.")] = None
    memory_bytes: Annotated[Amount | None, Meta(description="Largest working set.")] = None
    gpu_util_percent: Annotated[Amount | None, Meta(description="Highest load of its GPUs.")] = None
    gpu_memory_bytes: Annotated[
        Amount | None, Meta(description="Most memory of its GPUs, added up.")
    ] = None
    network_bytes_per_second: Annotated[
        Amount | None, Meta(description="Most received and sent.")
    ] = None
    disk_bytes_per_second: Annotated[Amount | None, Meta(description="Most read and written.")] = (
        None
    )
    restarts: Annotated[Count | None, Meta(description="How often its containers began anew.")] = (
        None
    )
    straggles: Annotated[
        Words | None, Meta(description="In which way it lags behind the others.")
    ] = None


class CycleSeen(Record, frozen=True, kw_only=True):
    period_seconds: Annotated[Amount, Meta(description="After so long the load comes back.")]
    strength: Annotated[
        Ratio, Meta(description="Share of the load's variance that repeats, 0 to 1.")
    ]
    metric: Annotated[Name | None, Meta(description="Which signal showed it.")] = None
    confirmed: Annotated[
        bool | None, Meta(description="Whether a signal that cannot alias shows it too.")
    ] = None


class HeldBackBy(Record, frozen=True, kw_only=True):
    kind: Annotated[Name, Meta(description="What held the job back: gpu, cpu, input, network, ...")]
    share_percent: Annotated[Percent, Meta(description="Of the time, as far as it can be told.")]
    advice: Annotated[Words | None, Meta(description="What can be done about it.")] = None


class MemoryLeak(Record, frozen=True, kw_only=True):
    bytes_per_second: Annotated[Amount, Meta(description="How fast memory grew, to the end.")]
    confidence: Annotated[Ratio, Meta(description="How sure that is, 0 to 1.")]


class Regressed(Record, frozen=True, kw_only=True):
    """One figure that is clearly worse than in the earlier runs of the same job."""

    what: Annotated[Name, Meta(description="Which figure: duration, memory, gpuMemory, ...")]
    now: Annotated[Amount, Meta(description="Its value in this run.")]
    usual: Annotated[Amount, Meta(description="Its median in the earlier runs.")]
    change_percent: Annotated[float | None, Meta(description="How much more, in percent.")] = None
    runs: Annotated[Count, Meta(description="How many earlier runs it was compared with.")]


class Phase(Record, frozen=True, kw_only=True):
    """A stretch of a run in which its load had one level."""

    name: Annotated[Name, Meta(description="start-up, steady or tail.")]
    seconds: Annotated[Amount, Meta(description="How long it took.")]
    cpu_cores: Annotated[Amount | None, Meta(description="Its mean CPU, in cores.")] = None


class ThreadSeen(Record, frozen=True, kw_only=True):
    name: Annotated[Name, Meta(description="As the kernel has it.")]
    cpu_seconds: Annotated[Amount, Meta(description="All CPU time of threads of that name.")]


class ProcessSeen(Record, frozen=True, kw_only=True):
    """What only a process on a machine of its own has, and no job of a cluster."""

    command: Annotated[
        Annotated[str, Meta(max_length=500)], Meta(description="As it was typed, or the program.")
    ]
    host: Annotated[Name | None, Meta(description="Name of the machine.")] = None
    directory: Annotated[
        Annotated[str, Meta(max_length=300)] | None, Meta(description="Where it was started.")
    ] = None
    parent: Annotated[Name | None, Meta(description="Uid of the run that it was a task of.")] = None
    container: Annotated[Words | None, Meta(description="Runtime and id of its container.")] = None
    cores: Annotated[Amount | None, Meta(description="Cores of the machine, or its limit.")] = None
    memory_total_bytes: Annotated[
        Amount | None, Meta(description="Memory of the machine, or its limit.")
    ] = None
    cpu_seconds: Annotated[
        Amount | None, Meta(description="CPU time of all its processes, as the kernel has it.")
    ] = None
    peak_memory_bytes: Annotated[
        Amount | None, Meta(description="Most memory, between two samples too.")
    ] = None
    rss_bytes: Annotated[Spread | None, Meta(description="Resident memory, of all added up.")] = (
        None
    )
    uss_bytes: Annotated[Spread | None, Meta(description="Memory that it shares with nobody.")] = (
        None
    )
    vms_bytes: Annotated[Spread | None, Meta(description="Address space.")] = None
    threads: Annotated[Spread | None, Meta(description="How many threads.")] = None
    processes: Annotated[Spread | None, Meta(description="How many processes.")] = None
    system_cpu_cores: Annotated[
        Spread | None, Meta(description="CPU of the whole machine, in cores.")
    ] = None
    read_bytes: Annotated[Amount | None, Meta(description="Read from disks in all.")] = None
    written_bytes: Annotated[Amount | None, Meta(description="Written to disks in all.")] = None
    machine_energy_joules: Annotated[
        Amount | None, Meta(description="Energy of the machine's CPUs meanwhile (RAPL).")
    ] = None
    overhead_bytes: Annotated[
        Amount | None, Meta(description="What its container held beyond its processes, mean.")
    ] = None
    phases: Annotated[tuple[Phase, ...], Meta(description="Start-up, steady state, tail.")] = ()
    busiest_threads: Annotated[
        tuple[ThreadSeen, ...], Meta(description="Those with the most CPU time, where asked for.")
    ] = ()
    left_running: Annotated[
        Count, Meta(description="Processes of it that still ran when it had ended.")
    ] = 0
    skipped: Annotated[
        tuple[Words, ...], Meta(description="What could not be measured, and why.")
    ] = ()


class Summary(Record, frozen=True, kw_only=True):
    """The columns of `kubectl get jobprofiles`: for people, and nothing that is not in the rest."""

    duration: Annotated[Words | None, Meta(description="How long it ran, such as 2h14m.")] = None
    gpus: Annotated[
        Words | None, Meta(description="How many GPUs of which model, such as 4xA100-80.")
    ] = None
    gpu_util: Annotated[Words | None, Meta(description="Mean load of its GPUs, in percent.")] = None
    gpu_memory: Annotated[
        Words | None, Meta(description="Most memory of its GPUs, of how much: 61/80Gi.")
    ] = None
    memory: Annotated[
        Words | None, Meta(description="Largest working set, of which limit: 38/64Gi.")
    ] = None
    period: Annotated[Words | None, Meta(description="After how long its load repeats.")] = None


class JobProfile(Record, frozen=True, kw_only=True):
    """What one run of a job asked for, what it used, and how it ended."""

    job: Annotated[JobIdentity, Meta(description="Whose profile this is.")]
    series: Annotated[
        Name, Meta(description="Runs of the same job have the same: the CronJob, or its name.")
    ]
    template: Annotated[
        Name | None, Meta(description="Hash of what the job runs, without names.")
    ] = None
    user: Annotated[Name | None, Meta(description="Who the job was made for, if it says so.")] = (
        None
    )
    service_account: Annotated[
        Name | None, Meta(description="Service account of its pods, as namespace:name.")
    ] = None
    labels: Annotated[dict[str, str], Meta(description="Those of its labels that are kept.")] = {}

    created: Annotated[Moment, Meta(description="When the job was made.")]
    started: Annotated[Moment | None, Meta(description="When its first container ran.")] = None
    ended: Annotated[Moment | None, Meta(description="When it ended.")] = None
    waited_seconds: Annotated[
        Amount | None, Meta(description="From when it was made until its first container ran.")
    ] = None
    duration_seconds: Annotated[
        Amount | None, Meta(description="From its first container's start to its end, or to now.")
    ] = None

    outcome: Annotated[
        Outcome,
        Meta(
            description="running, success, failed (its program ended it), timeout (a deadline did)"
            " or error (its node, its image, another's priority, whoever deleted it)."
        ),
    ]
    suspended: Annotated[
        bool, Meta(description="It is not over, and holds nothing since the end of its duration.")
    ] = False
    reason: Annotated[Reason | None, Meta(description="Why it did not succeed.")] = None
    message: Annotated[
        Words | None, Meta(description="The same in the words of whoever said so.")
    ] = None
    exit_code: Annotated[int | None, Meta(description="Of the container that failed first.")] = None
    restarts: Annotated[Count, Meta(description="How often its containers began anew.")] = 0

    nodes: Annotated[tuple[Name, ...], Meta(description="Nodes that its pods ran on.")] = ()
    node_count: Annotated[
        Count, Meta(description="On how many nodes its pods ran; of many only some are listed.")
    ] = 0
    gpus: Annotated[tuple[GpuHeld, ...], Meta(description="GPUs that its pods held.")] = ()
    gpu_count: Annotated[
        Count, Meta(description="How many GPUs its pods asked for at the same time.")
    ] = 0
    asked: Annotated[
        tuple[Asked, ...], Meta(description="Requests and limits of its containers, as given.")
    ] = ()

    samples: Annotated[
        Count | None, Meta(description="How many samples a worker the figures rest on.")
    ] = None
    interval_seconds: Annotated[Amount | None, Meta(description="From one sample to the next.")] = (
        None
    )
    usage: Annotated[Usage | None, Meta(description="What it used as a whole.")] = None
    worker_count: Annotated[Count, Meta(description="How many pods it had.")] = 0
    workers: Annotated[
        tuple[Worker, ...],
        Meta(description="Its pods; of more than 8 the extremes and those that lag."),
    ] = ()

    job_type: Annotated[
        Name | None, Meta(description="training, inference, interactive, idle or unknown.")
    ] = None
    cycle: Annotated[CycleSeen | None, Meta(description="After how long its load repeats.")] = None
    held_back_by: Annotated[HeldBackBy | None, Meta(description="What cost it the most time.")] = (
        None
    )
    leak: Annotated[
        MemoryLeak | None, Meta(description="Memory that grew and was never given back.")
    ] = None
    process: Annotated[
        ProcessSeen | None, Meta(description="Of a process on a machine of its own.")
    ] = None
    forecast_error_percent: Annotated[
        Amount | None, Meta(description="How wrong forecasts of its load were, over its life.")
    ] = None
    regression: Annotated[
        tuple[Regressed, ...], Meta(description="What was clearly worse than in earlier runs.")
    ] = ()
    advice: Annotated[
        tuple[Words, ...], Meta(description="What to do about all of it, the foremost first.")
    ] = ()
    verdict: Annotated[
        Annotated[str, Meta(max_length=60)] | None,
        Meta(description="What is most worth knowing, in a few words."),
    ] = None
    summary: Annotated[
        Summary | None, Meta(description="The same once more, as columns of a table.")
    ] = None

    @property
    def is_active(self) -> bool:
        """It runs, or waits to: whatever it holds it holds still."""
        return self.outcome is Outcome.RUNNING and not self.suspended


class WithoutWorkers(
    JobProfile, frozen=True, kw_only=True, gc=False, rename={"workers": "(not read)"}
):
    """The same record read without them: for who holds thousands of jobs and
    looks at none of their pods. By another name no record has any."""

    workers: tuple[Worker, ...] = ()


class ProfileError(CepheidError):
    """What was read is no JobProfile."""


def to_document(profile: JobProfile) -> dict[str, Any]:
    """As plain JSON types."""
    document: dict[str, Any] = msgspec.to_builtins(profile)
    return document


def to_json(profile: JobProfile) -> bytes:
    return msgspec.json.encode(profile)


def from_document(document: object) -> JobProfile:
    try:
        return msgspec.convert(document, JobProfile)
    except msgspec.ValidationError as problem:
        raise _wrong(problem) from problem


def from_json(text: bytes | str, of: type[JobProfile] = JobProfile) -> JobProfile:
    try:
        return msgspec.json.decode(text, type=of)
    except msgspec.MsgspecError as problem:
        raise _wrong(problem) from problem


def _wrong(problem: msgspec.MsgspecError) -> ProfileError:
    return ProfileError(
        f"this is no profile of a job: {problem}", hint="was it written by a newer version?"
    )
