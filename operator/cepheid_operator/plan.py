"""What is to be done for one run now, and when is it looked at again? No I/O.

    runs    annotations, at most once a minute; a live profile, every few minutes, if it says more
    ended   its profile at once, from what is known; Prometheus is asked
    told    Prometheus answered, or was given up: the profile once more, complete
    done    still annotated for a while, since agents write a last time; then forgotten

Whatever could not be written is still different from what stands there, so the next plan has it
again. How a job ended is decided once: it does not begin again.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from cepheid.annotations.job_codec import decode_job, encode_job
from cepheid.annotations.job_facts import JobFacts
from cepheid.jobprofile import JobProfile
from cepheid.jobs.ending import Ending, ending_of
from cepheid.jobs.pods import PodState
from cepheid.jobs.profile import Kept
from cepheid.jobs.usage import merge, shown
from cepheid_operator.annotating import is_worth_a_patch
from cepheid_operator.cluster import Run
from cepheid_operator.composing import Story, same_but_for_time, stub
from cepheid_operator.measuring import Answer

SETTLE_SECONDS = 5.0
"""After a job was deleted its pods go too: so long their last word is waited for."""
LIVE_AFTER_SECONDS = 60.0
"""A shorter job gets its profile when it is over."""
LINGER_SECONDS = 120.0
REFUSED_SECONDS = 600.0
"""What the API server refused is tried again then."""


@dataclass(frozen=True, slots=True)
class Now:
    seconds: float
    """Of a steady clock."""
    wall: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Paces:
    write_seconds: float = 60.0
    live_seconds: float = 300.0
    kept: Kept = field(default_factory=Kept)


@dataclass(slots=True)
class Work:
    """What was done for a run so far. Times are of the steady clock."""

    facts: JobFacts
    since_seconds: float
    ending: Ending | None = None
    deleted: datetime | None = None
    over_since_seconds: float | None = None
    annotated_seconds: float | None = None
    live: JobProfile | None = None
    live_seconds: float | None = None
    stands: bool = False
    """Its profile says how it ended."""
    asked: bool = False
    answer: Answer | None = None
    complete_seconds: float | None = None
    advice: str | None = None
    refused_until_seconds: float = 0.0


@dataclass(slots=True)
class Plan:
    annotations: dict[str, str] | None = None
    profile: JobProfile | None = None
    story: Story | None = None
    complete: bool = False
    """Whether the profile will not change any more."""
    ask: bool = False
    """For what Prometheus has of it."""
    forget: bool = False
    again_seconds: float | None = None
    """Then it is looked at again, though nothing happens to it."""

    def wait_until(self, seconds: float) -> None:
        self.again_seconds = min(seconds, self.again_seconds or seconds)


def plan(run: Run, pods: list[PodState], work: Work, now: Now, paces: Paces) -> Plan:
    """Raises ProfileError for what is no job."""
    made = Plan()
    work.facts = merge(work.facts, pods)
    if run.document is None and run.deleted is None and work.deleted is None:
        if now.seconds < work.since_seconds + SETTLE_SECONDS:
            made.wait_until(work.since_seconds + SETTLE_SECONDS)  # its own event is on its way
            return made
        work.deleted = now.wall
    if now.seconds < work.refused_until_seconds:
        made.wait_until(work.refused_until_seconds)
        return made
    ending = ending_at(run, pods, work, now)
    _annotate(made, run, work, ending, now, paces)
    figures = None if work.answer is None else work.answer.figures
    made.story = Story(run.raw() or stub(run), pods, work.facts, run.series, figures)
    profile = made.story.profile(ending, now.wall, paces.kept)
    if ending.is_over:
        _finish(made, profile, run, work, now)
    else:
        _keep_alive(made, profile, work, now, paces)
    return made


def ending_at(run: Run, pods: list[PodState], work: Work, now: Now) -> Ending:
    if work.ending is not None:
        return work.ending
    ending = ending_of(run.raw() or stub(run), pods, deleted=run.deleted or work.deleted)
    if ending.is_over:
        work.ending = replace(ending, ended=ending.ended or now.wall)
        work.over_since_seconds = now.seconds
        return work.ending
    return ending


def _annotate(made: Plan, run: Run, work: Work, ending: Ending, now: Now, paces: Paces) -> None:
    gone = run.deleted is not None or work.deleted is not None
    if run.served is None or run.document is None or gone:
        return
    facts = replace(work.facts, advice=work.advice or work.facts.advice)
    keys = encode_job(shown(facts))
    if not is_worth_a_patch(run.facts(), decode_job(keys).facts, over=ending.is_over):
        return
    if work.annotated_seconds is not None:
        due = work.annotated_seconds + paces.write_seconds
        if now.seconds < due:
            made.wait_until(due)
            return
    made.annotations = keys


def _keep_alive(made: Plan, profile: JobProfile, work: Work, now: Now, paces: Paces) -> None:
    age = (now.wall - profile.created).total_seconds()
    if age < LIVE_AFTER_SECONDS:
        made.wait_until(now.seconds + LIVE_AFTER_SECONDS - max(0.0, age))
        return
    if work.live_seconds is not None and now.seconds < work.live_seconds + paces.live_seconds:
        made.wait_until(work.live_seconds + paces.live_seconds)
        return
    made.wait_until(now.seconds + paces.live_seconds)
    if work.live is None or not same_but_for_time(work.live, profile):
        made.profile = profile
    else:
        work.live_seconds = now.seconds


def _finish(made: Plan, profile: JobProfile, run: Run, work: Work, now: Now) -> None:
    done = work.complete_seconds
    if done is not None:
        gone = run.deleted is not None or work.deleted is not None
        made.forget = gone or now.seconds >= done + LINGER_SECONDS
        made.wait_until(done + LINGER_SECONDS)
        return
    settled = (work.over_since_seconds or now.seconds) + SETTLE_SECONDS
    if run.deleted is not None and run.there and now.seconds < settled:
        made.wait_until(settled)
        return
    made.ask = not work.asked
    made.complete = work.answer is not None
    if made.complete or not work.stands:
        made.profile = profile
