"""One round over the jobs that changed: plan, write, remember. `one_round` is the map of it.

By level, not by event: a round looks at what is known now. Everything is written through `hands`,
several at once, and only while the Lease is ours.
"""

import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cepheid.annotations.writer import Target, Writer
from cepheid.errors import ApiError, CepheidError, GoneError, LeaseLostError
from cepheid.jobprofile import JobProfile, Outcome, ProfileError
from cepheid_operator.cluster import Cluster, Run
from cepheid_operator.composing import Figures
from cepheid_operator.finishing import Finishing
from cepheid_operator.hands import AWAY
from cepheid_operator.means import Means
from cepheid_operator.measuring import Answer, Measuring, Question
from cepheid_operator.plan import REFUSED_SECONDS, Now, Paces, Plan, Work, ending_at, plan
from cepheid_operator.profiles import MANAGER, Profiles, UndefinedError, is_terminating

LOG = logging.getLogger("cepheid.operator")
REACHING = "reaching the API server"
WRITING = "writing"
UNDEFINED_SECONDS = 10.0
"""Somebody is about to install the definition, or to upgrade it."""
LOOK_SECONDS = 10.0
"""At most so often is a job looked at whose pods merely change: of 5,000 some always do."""


@dataclass(slots=True)
class _Tracked:
    run: Run
    work: Work
    look_seconds: float = 0.0
    plan: Plan | None = None


class Rounds:
    """For one thread."""

    def __init__(
        self,
        means: Means,
        cluster: Cluster,
        profiles: Profiles,
        measuring: Measuring,
        finishing: Finishing,
        paces: Paces,
    ) -> None:
        self._means, self._cluster, self._profiles = means, cluster, profiles
        self._measuring, self._finishing, self._paces = measuring, finishing, paces
        self._tracked: dict[str, _Tracked] = {}

    def one_round(self) -> None:
        now = Now(self._means.steady(), self._means.wall())
        due = self._due(now)
        tasks = [task for tracked in due for task in self._tasks(tracked, now)]
        self._observe(self._means.hands.all(tasks))
        for tracked in due:
            self._look_later(tracked, now)

    def _due(self, now: Now) -> list[_Tracked]:
        for run in self._cluster.changed():
            tracked = self._tracked.get(run.job.uid)
            if tracked is None or tracked.run is not run:
                work = Work(run.facts(), now.seconds, stands=self._stands(run))
                self._tracked[run.job.uid] = tracked = _Tracked(run, work)
            # What ended is told at once; what only changes may wait for its turn.
            if self._just_ended(tracked, now):
                tracked.look_seconds = now.seconds
            tracked.look_seconds = min(tracked.look_seconds, now.seconds + LOOK_SECONDS)
        due = [one for one in self._tracked.values() if one.look_seconds <= now.seconds]
        return [one for one in due if self._is_still_a_run(one)]

    def _is_still_a_run(self, tracked: _Tracked) -> bool:
        uid = tracked.run.job.uid
        if self._cluster.runs.get(uid) is tracked.run:
            return True
        del self._tracked[uid]
        return False

    def _stands(self, run: Run) -> bool:
        """An instance before this one has told of its end."""
        entry = self._profiles.find(run.job.uid)
        return entry is not None and entry.is_over

    def _just_ended(self, tracked: _Tracked, now: Now) -> bool:
        work = tracked.work
        if work.answer is not None and work.complete_seconds is None:
            return True
        pods = self._cluster.pods_of(tracked.run)
        try:
            return not work.stands and ending_at(tracked.run, pods, work, now).is_over
        except Exception:  # noqa: BLE001 # when it is its turn, the same is said
            return False

    def _tasks(self, tracked: _Tracked, now: Now) -> Iterable[Callable[[], None]]:
        run, work = tracked.run, tracked.work
        try:
            pods = self._cluster.pods_of(run)
            tracked.plan = made = plan(run, pods, work, now, self._paces)
        except ProfileError as problem:
            self._means.troubles.happened(f"profiling {run}", problem)
            tracked.plan = Plan(again_seconds=now.seconds + REFUSED_SECONDS)
            return
        except Exception as problem:  # noqa: BLE001 # one job's; the others go on
            self._is_beyond_us(tracked, problem, now)
            return
        if made.ask:
            self._ask(run, work, made)
        if made.annotations is not None:
            yield lambda: self._attempt(tracked, now, lambda: self._annotate(run, work, made, now))
        if made.profile is not None:
            yield lambda: self._attempt(tracked, now, lambda: self._write(work, made))

    def _attempt(self, tracked: _Tracked, now: Now, task: Callable[[], None]) -> None:
        try:
            task()
        except CepheidError:
            raise
        except Exception as problem:  # noqa: BLE001 # one job's; the others go on
            self._is_beyond_us(tracked, problem, now)

    def _is_beyond_us(self, tracked: _Tracked, problem: Exception, now: Now) -> None:
        self._means.lived_through(tracked.run, problem)
        tracked.plan = Plan(again_seconds=now.seconds + REFUSED_SECONDS)

    def _ask(self, run: Run, work: Work, made: Plan) -> None:
        work.asked = True
        ended = (work.ending and work.ending.ended) or self._means.wall()

        def tell(answer: Answer | None) -> None:
            work.answer = answer or Answer(Figures(None))
            self._cluster.touch(run)

        pods = () if made.story is None else tuple(made.story.pods)
        ago = (self._means.wall() - ended).total_seconds()
        question = Question(run.namespace, pods, ended.timestamp())
        self._measuring.ask(question, tell, ended_ago_seconds=max(0.0, ago))

    def _annotate(self, run: Run, work: Work, made: Plan, now: Now) -> None:
        if run.served is None or made.annotations is None:
            return
        target = Target(run.served.kind, run.job.name, run.job.uid, run.namespace)
        work.annotated_seconds = now.seconds
        self._means.check()
        try:
            writer = Writer(self._means.hands.server(), MANAGER)
            run.standing = dict(writer.apply(target, made.annotations).annotations)
        except GoneError:
            made.annotations = None  # its deletion will be told, or the next list finds it out
            return
        except AWAY:
            raise
        except ApiError:
            work.annotated_seconds = now.seconds + REFUSED_SECONDS
            raise
        made.annotations = None
        self._means.telemetry.writes.labels(run.job.kind, "annotations").inc()

    def _write(self, work: Work, made: Plan) -> None:
        profile = made.profile
        if profile is None:
            return
        new = profile.outcome is not Outcome.RUNNING and not work.stands
        if new and made.story is not None and self._finishing.passes_over(profile, made.story):
            self._is_done_with(work, made)
            return
        if made.complete:
            profile = self._finishing.compared(profile)
        try:
            pods = 0 if made.story is None else len(made.story.pods)
            if self._profiles.would_learn(profile, pods=pods):
                self._profiles.write(profile)
        except AWAY:
            raise
        except ApiError as problem:
            if is_terminating(problem):
                self._means.telemetry.errors.labels("namespace-deleted").inc()
                if made.story is not None and profile.outcome is not Outcome.RUNNING:
                    self._finishing.has_no_place(profile, made.story)
                self._is_done_with(work, made)
                return
            rest = UNDEFINED_SECONDS if isinstance(problem, UndefinedError) else REFUSED_SECONDS
            work.refused_until_seconds = self._means.steady() + rest
            raise
        made.profile = None
        self._was_written(work, profile, made.complete)
        if made.complete and made.story is not None and work.answer is not None:
            self._finishing.completed(profile, made.story, work.answer)

    def _is_done_with(self, work: Work, made: Plan) -> None:
        made.profile = None
        work.stands, work.complete_seconds = True, self._means.steady()

    def _was_written(self, work: Work, profile: JobProfile, complete: bool) -> None:
        telemetry = self._means.telemetry
        if profile.outcome is Outcome.RUNNING:
            work.live, work.live_seconds = profile, self._means.steady()
            telemetry.writes.labels("JobProfile", "live").inc()
            return
        telemetry.writes.labels("JobProfile", "finished").inc()
        if not work.stands:
            telemetry.finished.labels(profile.job.namespace, str(profile.outcome)).inc()
            if profile.ended is not None:
                delay = (self._means.wall() - profile.ended).total_seconds()
                telemetry.delay.observe(max(0.0, delay))
        work.stands = True
        if complete:
            work.complete_seconds = self._means.steady()
            work.advice = profile.advice[0] if profile.advice else None

    def _look_later(self, tracked: _Tracked, now: Now) -> None:
        made = tracked.plan
        if made is not None and made.forget:
            self._cluster.forget(tracked.run)
            del self._tracked[tracked.run.job.uid]
            return
        later = [] if made is None or made.again_seconds is None else [made.again_seconds]
        if made is not None and (made.annotations is not None or made.profile is not None):
            later.append(now.seconds)  # it could not be written: in the next round
        elif made is not None and made.complete:
            later.append(now.seconds)  # it is complete: it lingers, or is forgotten
        tracked.look_seconds = min(later, default=math.inf)

    def _observe(self, results: Iterable[CepheidError | None]) -> None:
        away, written, refused = None, False, False
        for problem in results:
            if isinstance(problem, LeaseLostError):
                raise problem
            if isinstance(problem, AWAY):
                away = away or problem
            elif problem is not None:
                refused = True
                self._means.telemetry.errors.labels("refused").inc()
                self._means.troubles.happened(WRITING, problem)
            else:
                written = True
        if written and not refused:
            self._means.troubles.over(WRITING)
        if away is not None:
            self._means.telemetry.errors.labels("api-away").inc()
            self._means.troubles.happened(REACHING, away)
        else:
            self._means.troubles.over(REACHING)
