"""Which jobs does --run mean?"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from cepheid.cli.places import Jobs, job_of

if TYPE_CHECKING:
    from cepheid.jobprofile import JobProfile


def of_run(kept: Jobs, wanted: str | None, namespace: str | None) -> "Callable[[JobProfile], bool]":
    """All runs of a series; else one job, by name or uid, with the tasks that it started."""
    from cepheid.history import Query

    if wanted is None:
        return lambda _: True
    if kept.find(Query(series=wanted, namespace=namespace), limit=1):
        return lambda profile: profile.series == wanted
    uid = job_of(kept, wanted, namespace).job.uid
    return lambda profile: (
        uid
        in (
            profile.job.uid,
            None if profile.process is None else profile.process.parent,
        )
    )
