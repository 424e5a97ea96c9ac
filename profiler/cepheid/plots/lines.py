"""Which lines are in a panel: the job as a whole, its workers or GPUs, or what they range over?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.jobs.series import averaged
from cepheid.plots.course import Course, highest, lowest, together
from cepheid.plots.panels import Measured, Panel
from cepheid.plots.subject import Subject
from cepheid.plots.wording import label

MOST_WORKERS = 6
"""Drawn one by one; of more their mean, and from the lowest to the highest."""


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    """Made safe already."""
    course: Course
    aside: bool = False
    of_worker: bool = False
    """One of several, and not the job as a whole."""
    band: tuple[Course, Course] | None = None
    """From the lowest to the highest of many."""


def lines_of(panel: Panel, subject: Subject) -> list[Line]:
    there = [one for one in panel.measured if one.metric in subject.courses]
    # Where each has several workers, only what they have together can still be told apart.
    several = sum(not one.aside for one in there) > 1
    found: list[Line] = []
    for one in there:
        by_worker = {
            worker: course.times(one.times)
            for worker, course in subject.courses[one.metric].items()
        }
        found += _one_or_many(panel, one, by_worker, whole_only=several)
    return [each for each in found if each.course.known.size]


def _one_or_many(
    panel: Panel, one: Measured, by_worker: Mapping[str | None, Course], *, whole_only: bool
) -> Iterator[Line]:
    workers = {name: course for name, course in by_worker.items() if name is not None}
    whole = by_worker.get(None)
    if whole is None and (whole_only or len(workers) > MOST_WORKERS or len(workers) == 1):
        whole = together(list(workers.values()), panel.combine)
    if whole is None or (len(workers) > 1 and not whole_only and len(workers) <= MOST_WORKERS):
        for name in sorted(workers):
            yield Line(label(name), workers[name], one.aside, of_worker=True)
        return
    if len(workers) > MOST_WORKERS and not whole_only:
        yield from _range(one, list(workers.values()))
        return
    yield Line(label(one.called), whole, one.aside)


def _range(one: Measured, workers: Sequence[Course]) -> Iterator[Line]:
    from_, to = together(workers, lowest), together(workers, highest)
    middle = together(workers, averaged)
    if middle is not None and from_ is not None and to is not None:
        yield Line(label(f"mean of {len(workers)} workers"), middle, one.aside, True, (from_, to))
