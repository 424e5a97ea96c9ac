"""Is what a job's workers used now worth a patch of the job? Pure.

Maxima creep: a worker's memory grows by a page a minute for hours, and etcd stores the whole job
again for every patch. So a figure counts when it moved further than a reader would care about; when
the job is over, the last word counts to the digit.
"""

from collections.abc import Iterator

from cepheid.annotations.job_facts import FIGURES, Figures, JobFacts

# By the end of a figure's name: a share of it, and at least so much.
SLACK = (("_percent", 0.0, 5.0), ("_mb", 0.05, 64.0), ("_mbps", 0.25, 1.0))
CYCLE_SHARE = 0.03
"""As for pods."""


def is_worth_a_patch(standing: JobFacts, wanted: JobFacts, *, over: bool) -> bool:
    if standing == wanted:
        return False
    if over or standing.workers.keys() != wanted.workers.keys():
        return True
    words = ("job_type", "advice", "best_placement")
    if any(getattr(standing, name) != getattr(wanted, name) for name in words):
        return True
    return _cycle_moved(standing, wanted) or any(
        _moved(before, after) for before, after in _pairs(standing, wanted)
    )


def _pairs(standing: JobFacts, wanted: JobFacts) -> Iterator[tuple[Figures | None, Figures | None]]:
    yield standing.usage, wanted.usage
    for name, worker in wanted.workers.items():
        yield standing.workers[name], worker


def _moved(before: Figures | None, after: Figures | None) -> bool:
    if before is None or after is None:
        return before is not after
    if before.shared != after.shared or getattr(before, "node", None) != getattr(
        after, "node", None
    ):
        return True
    return any(_further(name, getattr(before, name), getattr(after, name)) for name in FIGURES)


def _further(name: str, before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is not after
    share, least = next((share, least) for end, share, least in SLACK if name.endswith(end))
    return abs(after - before) > max(least, share * before)


def _cycle_moved(standing: JobFacts, wanted: JobFacts) -> bool:
    before, after = standing.cycle, wanted.cycle
    if before is None or after is None:
        return before is not after
    if before.confirmed != after.confirmed:
        return True
    return abs(after.period_seconds - before.period_seconds) > CYCLE_SHARE * before.period_seconds
