"""Which workers lag behind the others of their role, and in which way?"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.analysis.stragglers import find_stragglers
from cepheid.jobs.series import JobSeries
from cepheid.model import FloatArray
from cepheid.units import in_bytes


@dataclass(frozen=True, slots=True)
class _Way:
    signal: str
    higher_is_worse: bool
    least: float
    """A smaller difference is not worth a word, in the unit of the signal."""
    words: str

    def said(self, level: float, others: float) -> str:
        shown = in_bytes if "bytes" in self.signal else _percent
        return self.words.format(shown(level), shown(others))


_WAYS = (
    # Ranks that wait for another spin: GPU_UTIL shows them busy, the tensor pipe does not.
    _Way("tensor_active_ratio", False, 0.05, "tensor pipe {} busy, the others' {}"),
    _Way("engine_active_ratio", False, 0.05, "GPU {} busy, the others' {}"),
    _Way("throttled_ratio", True, 0.1, "stopped by its CPU limit {} of the time, others {}"),
    _Way("memory_working_set_bytes", True, 2.0**28, "holds {} of memory, the others {}"),
)


def lagging(series: JobSeries) -> dict[str, str]:
    """By worker; the first way in which it lags."""
    found: dict[str, str] = {}
    for way in _WAYS:
        for worker, words in _lagging(series, way):
            found.setdefault(worker, words)
    return found


def _lagging(series: JobSeries, way: _Way) -> Iterator[tuple[str, str]]:
    roles: dict[str | None, dict[str, FloatArray]] = defaultdict(dict)
    for name, values in series.each(way.signal).items():
        roles[series.workers[name].role][name] = values
    for workers in roles.values():
        seen = find_stragglers(
            workers,
            higher_is_worse=way.higher_is_worse,
            least_difference=way.least,
        )
        for straggler in () if seen is None else seen.workers:
            yield straggler.worker, way.said(straggler.level, straggler.others)


def _percent(ratio: float) -> str:
    return f"{ratio:.0%}"
