"""What can be said of one resource of a job, and what is known of the job when it is said?"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from cepheid.jobprofile import JobProfile, Worker
from cepheid.jobs.advice import TOLD_SECONDS
from cepheid.reports.sizing import asked as was
from cepheid.reports.sizing.asked import Given, Used, believed, change_percent


class Verdict(StrEnum):
    KILLED = "killed at the limit"
    STOPPED = "stopped at the deadline"
    THROTTLED = "throttled"
    TOO_LITTLE = "too little"
    UNUSED = "not used"
    TOO_MUCH = "too much"
    FITS = "fits"
    EARLY = "too early to tell"
    """It would be too much, if it were over, had succeeded and had run for long enough."""
    UNASKED = "nothing asked"
    NO_DATA = "no data"


VIOLATIONS = (
    Verdict.KILLED,
    Verdict.STOPPED,
    Verdict.THROTTLED,
    Verdict.TOO_LITTLE,
    Verdict.UNUSED,
    Verdict.TOO_MUCH,
)


class CheckRow(Struct, frozen=True, kw_only=True, gc=False):
    """A Struct, since `check --all` makes a hundred thousand: a frozen dataclass takes five times
    as long."""

    job: str
    id: str
    namespace: str
    kind: str
    user: str | None
    worker: str | None
    """Whose peak it is; None for the whole job."""
    resource: str
    unit: str
    """Of asked, peak and sustained: bytes, cores, GPUs, percent, seconds."""
    asked: float | None
    peak: float | None
    sustained: float | None
    """Where that is what counts, instead of the peak."""
    difference_percent: float | None
    """Used more than asked for; less is negative."""
    verdict: Verdict
    is_violation: bool
    why: str | None


class Judged(Struct, frozen=True, gc=False):
    """One resource, before anybody wants the row of it: most fit, and are not shown."""

    resource: str
    unit: str
    verdict: Verdict
    asked: float | None = None
    used: Used | None = None
    sustained: float | None = None
    why: str | None = None


class Case(Struct, frozen=True, gc=False):
    """A job on trial."""

    profile: JobProfile
    workers: tuple[Worker, ...]
    givens: tuple[Given, ...]

    @property
    def is_long(self) -> bool:
        return (self.profile.duration_seconds or 0.0) >= TOLD_SECONDS

    @property
    def is_told(self) -> bool:
        """Whether it shows what the job needs."""
        return self.is_long and was.shows_need(self.profile)

    def row(self, one: Judged) -> CheckRow:
        job, peak = self.profile.job, None if one.used is None else one.used.amount
        counts = peak if one.sustained is None else one.sustained
        return CheckRow(
            job=job.name,
            id=job.uid,
            namespace=job.namespace,
            kind=job.kind,
            user=self.profile.user or self.profile.service_account,
            worker=None if one.used is None else one.used.worker,
            resource=one.resource,
            unit=one.unit,
            asked=one.asked,
            peak=peak,
            sustained=one.sustained,
            difference_percent=change_percent(one.asked, counts),
            verdict=one.verdict,
            is_violation=one.verdict in VIOLATIONS,
            why=one.why,
        )

    def most(self, given: Given, figure: str) -> Used | None:
        """Of the workers of one role, who used the most."""
        return was.most_used(given.workers, figure) or was.alone(self.profile, self.givens, figure)

    def used(self, given: Given, figure: str) -> list[Used]:
        """All of them, the most first."""
        one = was.alone(self.profile, self.givens, figure)
        return was.all_used(given.workers, figure) or ([] if one is None else [one])

    def whole(self, figure: str) -> Used | None:
        """Of the job as a whole."""
        spread = None if self.profile.usage is None else getattr(self.profile.usage, figure)
        most = None if spread is None else believed(spread.max)
        return None if most is None else Used(None, most)

    def hit(self, resource: str, figure: str) -> Given | None:
        """Whose limit it was: of those that have one, who came nearest to it."""

        def nearness(given: Given) -> float:
            used, limit = self.most(given, figure), given.limit(resource)
            return used.amount / limit if used and limit else 0.0

        limited = [given for given in self.givens if given.limit(resource)]
        return max(limited, key=nearness, default=None)


def case_of(profile: JobProfile, workers: Sequence[Worker] = ()) -> Case:
    """`workers`, where all of them are known: in the record of a large job only some are."""
    everyone = tuple(workers) or profile.workers
    return Case(profile, everyone, was.givens(profile, everyone))
