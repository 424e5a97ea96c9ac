"""What do earlier runs of the same job tell of its placements?

Only runs of the same template whose load repeated: one over its period is what a trial measures as
well. They ran at other times, beside other jobs, so they count for less than a trial.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator

from cepheid.analysis.scaling import Seen
from cepheid.errors import ApiError
from cepheid.jobprofile import JobProfile, ProfileError
from cepheid.jobs.lineage import series_of
from cepheid.jobs.placed import placement_of
from cepheid.jobs.rates import is_per_gpu
from cepheid.placementtrial import Ruler
from cepheid_operator.hands import AWAY
from cepheid_operator.profiles import Profiles
from cepheid_operator.trials.book import Entry
from cepheid_operator.trials.copying.template import Template

LOG = logging.getLogger("cepheid.operator")

ERROR_RATIO = 0.1
MOST_RUNS = 20


class Knowledge:
    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles

    def earlier(self, entry: Entry, template: Template) -> tuple[Seen, ...]:
        """Of what is measured otherwise a trial, nothing can be said beforehand."""
        if entry.spec.measure.by not in (Ruler.AUTO, Ruler.PULSE):
            return ()
        series = series_of(template.document)
        found = []
        alike = self._profiles.of_job(entry.namespace, series, template.digest)
        for one in [run for run in alike if run.template == template.digest][:MOST_RUNS]:
            try:
                found.append(self._profiles.read(one))
            except AWAY:
                raise
            except (ApiError, ProfileError) as problem:
                LOG.debug("%s says nothing of a placement: %s", one, problem)
        return earlier(found, template.digest)


def earlier(profiles: Iterable[JobProfile], digest: str) -> tuple[Seen, ...]:
    """In iterations a second, in the order of the profiles."""
    return tuple(seen for one in _alike(profiles, digest) for seen in _seen(one))


def _alike(profiles: Iterable[JobProfile], digest: str) -> list[JobProfile]:
    """Whose iterations are the same work: with more GPUs they may be more of it."""
    runs = [one for one in profiles if one.template == digest and one.gpu_count]
    if is_per_gpu(runs) is False:
        return runs
    counts = Counter(run.gpu_count for run in runs).most_common(1)
    return [run for run in runs if counts and run.gpu_count == counts[0][0]]


def _seen(profile: JobProfile) -> Iterator[Seen]:
    cycle, placement = profile.cycle, placement_of(profile)
    if cycle is None or not cycle.confirmed or cycle.period_seconds <= 0 or placement is None:
        return
    yield Seen(placement, 1 / cycle.period_seconds, ERROR_RATIO)
