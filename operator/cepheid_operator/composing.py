"""From all that is known of a run to the profile that is written. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from cepheid.annotations.job_facts import JobFacts
from cepheid.jobprofile import GpuHeld, JobProfile, Outcome, Reason, Regressed, Worker, to_json
from cepheid.jobs.advice import MOST_ADVICE, is_told
from cepheid.jobs.compare import compare
from cepheid.jobs.ending import Ending
from cepheid.jobs.fields import Raw, one_line
from cepheid.jobs.measure import Measured
from cepheid.jobs.owners import Reference
from cepheid.jobs.pods import PodState
from cepheid.jobs.profile import Kept, Known, profile_of
from cepheid.jobs.scaling import Helps, scaling_verdict
from cepheid.jobs.workers import workers_of
from cepheid_operator.cluster import Run
from cepheid_operator.summary import with_summary

MOST_GPUS = 32
MOST_BYTES = 5_000
_SCALES = {Helps.YES: "help", Helps.LITTLE: "help little", Helps.NO: "not help"}
NOT_SEEN = "it was deleted while nobody was watching"


@dataclass(frozen=True, slots=True)
class Figures:
    """What Prometheus had of a run."""

    measured: Measured | None
    gpus: tuple[GpuHeld, ...] = ()


@dataclass(frozen=True, slots=True)
class Story:
    """One run, as it is known at one moment."""

    job: Raw
    pods: Sequence[PodState]
    facts: JobFacts
    cron_job: Reference | None = None
    figures: Figures | None = None

    def profile(self, ending: Ending, now: datetime, kept: Kept) -> JobProfile:
        figures = self.figures or Figures(None)
        models = {gpu.node: gpu.model for gpu in figures.gpus if gpu.model is not None}
        known = Known(
            self.job, self.pods, self.cron_job, self.facts, figures.measured, gpu_models=models
        )
        profile = profile_of(known, _later(ending, self.pods), now, kept)
        if not profile.gpus and figures.gpus:
            # Too short for its agent to say which it had.
            profile = msgspec.structs.replace(profile, gpus=figures.gpus[:MOST_GPUS])
        return with_summary(profile)

    def workers(self) -> tuple[Worker, ...]:
        """All of them, which the object has no room for."""
        figures = self.figures or Figures(None)
        return workers_of(self.pods, self.facts, figures.measured)


def stub(run: Run) -> dict[str, object]:
    """Of a job that is gone, and of which only its pods' references are left."""
    job = run.job
    metadata: Mapping[str, str] = {"name": job.name, "namespace": run.namespace, "uid": job.uid}
    return {"apiVersion": job.api_version, "kind": job.kind, "metadata": metadata}


def compared(profile: JobProfile, earlier: Iterable[JobProfile]) -> JobProfile:
    """With what is clearly worse than it used to be, and what runs on other numbers of GPUs say."""
    runs = list(earlier)
    return with_scaling(with_regression(profile, compare(profile, runs)), runs)


def with_scaling(profile: JobProfile, earlier: Sequence[JobProfile]) -> JobProfile:
    """Only where runs show it; what held one run back stands in its advice anyway."""
    if profile.outcome is not Outcome.SUCCESS or len(profile.advice) >= MOST_ADVICE:
        return profile
    found = scaling_verdict([*earlier, profile])
    said = _SCALES.get(found.helps)
    if said is None or found.gpus != profile.gpu_count or len(found.counts) <= 1:
        return profile
    advice = one_line(f"twice the GPUs would {said}: {found.reason}")
    told = msgspec.structs.replace(profile, advice=(*profile.advice, advice or said))
    return told if len(to_json(told)) <= MOST_BYTES else profile


def with_regression(profile: JobProfile, found: tuple[Regressed, ...]) -> JobProfile:
    if not found:
        return profile
    verdict = profile.verdict or f"{_said(found[0])} than usual"
    return msgspec.structs.replace(profile, regression=found, verdict=verdict[:60])


def regression_words(profile: JobProfile) -> str:
    """For an Event: the figures, each with what is usual."""
    each = [
        f"{_said(one)} than usual ({one.now:.6g}, in {one.runs} runs {one.usual:.6g})"
        for one in profile.regression
    ]
    return f"{profile.job.kind} {profile.job.name} needed {'; '.join(each)}"


def given_up(profile: JobProfile) -> JobProfile:
    """Of a job that was running when it was last seen, and is not there any more."""
    begin = profile.started or profile.created
    ended = begin + timedelta(seconds=profile.duration_seconds or 0.0)
    over = msgspec.structs.replace(
        profile,
        outcome=Outcome.ERROR,
        reason=Reason.DELETED,
        message=NOT_SEEN,
        verdict=profile.verdict or "deleted",
        ended=ended,
    )
    return with_summary(over)


def same_but_for_time(one: JobProfile, two: JobProfile) -> bool:
    """Whether a running job's profile would say nothing new but that it still runs.

    That it has run long enough to be judged is news: what an idle one says never changes otherwise.
    """
    return _timeless(one) == _timeless(two) and is_told(one) == is_told(two)


def _timeless(profile: JobProfile) -> JobProfile:
    return msgspec.structs.replace(profile, duration_seconds=None, summary=None)


def _later(ending: Ending, pods: Iterable[PodState]) -> Ending:
    """Clocks of several machines: a job does not end before it began."""
    began = min((pod.started for pod in pods if pod.started is not None), default=None)
    if began is None or ending.ended is None or ending.ended >= began:
        return ending
    return replace(ending, ended=began)


def _said(one: Regressed) -> str:
    share = "" if one.change_percent is None else f"{one.change_percent:.0f} % "
    return f"{share}more {one.what}"
