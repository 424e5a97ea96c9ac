"""What is really different between two runs?

Runs of the same job never take exactly as long. How much they differ by themselves is seen in the
earlier runs of each: a difference counts where it is larger than those make likely. Without enough
of them there is only a plain rule, which is said: a tenth, and more than a trifle.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from cepheid.jobprofile import JobProfile, Outcome, Spread, Usage
from cepheid.reports import words
from cepheid.reports.figures import peak_memory_bytes
from cepheid.reports.listing import cpu_seconds, energy_joules, gpu_models

LEAST_RUNS = 3
MAD_TO_DEVIATION = 1.4826
SPREAD_FLOOR = 0.015
"""Of the level, as in cepheid.analysis.regression: runs that agree better do so by chance."""
USUAL_BOUND = 3.5
"""In spreads (Iglewicz and Hoaglin 1993); the fewer runs, the more: their spread is often far too
small by chance."""
LEAST_CHANGE = 0.05
PLAIN_CHANGE = 0.10
"""Without earlier runs."""


class Verdict(StrEnum):
    WORSE = "worse"
    BETTER = "better"
    DIFFERENT = "different"
    """And which of them is better is a matter of taste."""
    SAME = "same"
    NO_DATA = "no data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    figure: str
    first: str
    second: str
    first_value: float | None
    second_value: float | None
    change_percent: float | None
    verdict: Verdict
    """Of the second run, against the first."""
    why: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    headline: str
    rows: tuple[Compared, ...]

    def has(self, *verdicts: Verdict) -> bool:
        return any(row.verdict in verdicts for row in self.rows)


@dataclass(frozen=True, slots=True)
class _Measure:
    name: str
    of: Callable[[JobProfile], float | None]
    said: Callable[[float | None], str]
    trifle: float
    """A difference below that is none."""
    worse: Verdict | None
    """What more of it is; None where that is a matter of taste."""


def compare(
    first: JobProfile,
    second: JobProfile,
    runs_of_first: Sequence[JobProfile] = (),
    runs_of_second: Sequence[JobProfile] = (),
) -> Comparison:
    """Each with the earlier runs of the same job."""
    themselves = {first.job.uid, second.job.uid}
    before = _peers(runs_of_first, themselves)
    after = _peers(runs_of_second, themselves)
    rows = [*_facts(first, second)]
    rows += [
        row
        for measure in MEASURES
        if (row := _compared(measure, first, second, before, after)) is not None
    ]
    return Comparison(_headline(first, second, rows), tuple(rows))


def _peers(runs: Sequence[JobProfile], themselves: set[str]) -> list[JobProfile]:
    return [run for run in runs if run.outcome is Outcome.SUCCESS and run.job.uid not in themselves]


def _compared(
    measure: _Measure,
    first: JobProfile,
    second: JobProfile,
    before: Sequence[JobProfile],
    after: Sequence[JobProfile],
) -> Compared | None:
    one, two = measure.of(first), measure.of(second)
    if not one and not two:
        return None  # nothing to tell: neither has any of it
    percent = verdict = why = None
    if one is None or two is None:
        verdict = Verdict.NO_DATA
    else:
        percent = 100 * (two - one) / one if one > 0 else None
        is_different, why = _differs(measure, one, two, before, after)
        verdict = _judged(measure, two - one) if is_different else Verdict.SAME
        if verdict in (Verdict.WORSE, Verdict.BETTER) and not _both_succeeded(first, second):
            verdict = Verdict.DIFFERENT  # to fail early is no way to be fast
    return Compared(
        figure=measure.name,
        first=measure.said(one),
        second=measure.said(two),
        first_value=one,
        second_value=two,
        change_percent=percent,
        verdict=verdict,
        why=why,
    )


def _both_succeeded(*runs: JobProfile) -> bool:
    return all(run.outcome is Outcome.SUCCESS for run in runs)


def _differs(
    measure: _Measure,
    one: float,
    two: float,
    before: Sequence[JobProfile],
    after: Sequence[JobProfile],
) -> tuple[bool, str | None]:
    """With what was held against it."""
    difference, level = abs(two - one), max(abs(one), abs(two))
    spreads = [
        found
        for runs in (before, after)
        if (found := _spread([v for run in runs if (v := measure.of(run)) is not None])) is not None
    ]
    if difference < measure.trifle or level == 0:
        return False, None
    if not spreads:
        is_much = difference >= PLAIN_CHANGE * level
        return is_much, f"{100 * PLAIN_CHANGE:.0f} % counts"
    # Two runs of one job differ by their spreads together; that of the other may stand for both.
    both = [*spreads, *spreads][:2]
    spread = math.hypot(*(each for each, _ in both))
    count = min(each for _, each in both)
    bound = USUAL_BOUND * (1 + 2 / (count - 1)) * spread
    usual = max(bound, LEAST_CHANGE * level)
    return difference > usual, f"±{measure.said(usual)} is usual"


def _spread(values: Sequence[float]) -> tuple[float, int] | None:
    if len(values) < LEAST_RUNS:
        return None
    typical = median(values)
    deviation = MAD_TO_DEVIATION * median(abs(value - typical) for value in values)
    return max(deviation, SPREAD_FLOOR * abs(typical)), len(values)


def _judged(measure: _Measure, difference: float) -> Verdict:
    if measure.worse is None:
        return Verdict.DIFFERENT
    if difference > 0:
        return measure.worse
    return Verdict.BETTER if measure.worse is Verdict.WORSE else Verdict.WORSE


def _facts(first: JobProfile, second: JobProfile) -> Iterator[Compared]:
    """What is no amount: the same or not."""
    for name, of in _TEXTS:
        one, two = of(first), of(second)
        if one == two:
            continue
        verdict = Verdict.DIFFERENT
        if name == "status":
            good = Outcome.SUCCESS.value
            verdict = Verdict.WORSE if one == good else verdict
            verdict = Verdict.BETTER if two == good else verdict
        yield Compared(
            figure=name,
            first=one or "-",
            second=two or "-",
            first_value=None,
            second_value=None,
            change_percent=None,
            verdict=verdict,
            why=None,
        )


def _headline(first: JobProfile, second: JobProfile, rows: Sequence[Compared]) -> str:
    one, two = _called(first, second)
    if any(run.outcome is Outcome.RUNNING for run in (first, second)):
        return f"{one} and {two}: one of them still runs, so its figures are not final."
    worse = [row for row in rows if row.verdict is Verdict.WORSE]
    better = [row for row in rows if row.verdict is Verdict.BETTER]
    other = [row for row in rows if row.verdict is Verdict.DIFFERENT]
    if not worse and not better:
        beside = f" but for {words.listed([row.figure for row in other])}" if other else ""
        return f"{two} is like {one}{beside}: nothing differs more than is usual."
    parts = []
    if worse:
        parts.append("worse in " + words.listed([_changed(row) for row in worse], 4))
    if better:
        parts.append("better in " + words.listed([_changed(row) for row in better], 4))
    return f"{two} is, against {one}, {'; and '.join(parts)}."


def _called(first: JobProfile, second: JobProfile) -> tuple[str, str]:
    """By their names; runs of one name by their uids."""
    if first.job.name != second.job.name:
        return first.job.name, second.job.name
    return (
        f"{first.job.name} ({first.job.uid[:8]})",
        f"{second.job.name} ({second.job.uid[:8]})",
    )


def _changed(row: Compared) -> str:
    if row.change_percent is None:
        return f"{row.figure} ({row.second}, before {row.first})"
    return f"{row.figure} ({words.change(row.change_percent)})"


def _of(figure: str, part: str) -> Callable[[JobProfile], float | None]:
    def value(profile: JobProfile) -> float | None:
        spread: Spread | None = getattr(profile.usage or Usage(), figure)
        found: float | None = None if spread is None else getattr(spread, part)
        return found

    return value


def _period(profile: JobProfile) -> float | None:
    cycle = profile.cycle
    return None if cycle is None or cycle.confirmed is False else cycle.period_seconds


def _leak(profile: JobProfile) -> float | None:
    if profile.leak is not None:
        return profile.leak.bytes_per_second
    return 0.0 if profile.samples else None


def _held(profile: JobProfile) -> float | None:
    held = profile.held_back_by
    if held is not None and held.kind not in ("gpu", "memory"):
        return held.share_percent
    return 0.0 if profile.samples else None


_MORE_IS_WORSE, _MORE_IS_BETTER = Verdict.WORSE, Verdict.BETTER
MEASURES: tuple[_Measure, ...] = (
    _Measure("duration", lambda one: one.duration_seconds, words.lasting, 1.0, _MORE_IS_WORSE),
    _Measure("CPU time", cpu_seconds, words.lasting, 1.0, _MORE_IS_WORSE),
    _Measure("CPU, cores", _of("cpu_cores", "mean"), words.in_cores, 0.1, None),
    _Measure("memory", peak_memory_bytes, words.in_bytes, 16 * words.MIB, _MORE_IS_WORSE),
    _Measure("memory leak", _leak, words.in_rate, 1024.0, _MORE_IS_WORSE),
    _Measure("GPU", _of("gpu_util_percent", "mean"), words.in_percent, 2.0, _MORE_IS_BETTER),
    _Measure(
        "GPU memory",
        _of("gpu_memory_bytes", "max"),
        words.in_bytes,
        64 * words.MIB,
        _MORE_IS_WORSE,
    ),
    _Measure("period", _period, words.lasting, 0.1, _MORE_IS_WORSE),
    _Measure("held back", _held, words.in_percent, 5.0, _MORE_IS_WORSE),
    _Measure("disk", _of("disk_bytes_per_second", "mean"), words.in_rate, 1.0 * words.MIB, None),
    _Measure(
        "network", _of("network_bytes_per_second", "mean"), words.in_rate, 1.0 * words.MIB, None
    ),
    _Measure("energy", energy_joules, words.in_energy, 3600.0, _MORE_IS_WORSE),
    _Measure("waited", lambda one: one.waited_seconds, words.lasting, 10.0, _MORE_IS_WORSE),
    _Measure("restarts", lambda one: float(one.restarts), words.in_cores, 0.5, _MORE_IS_WORSE),
)


def _where(profile: JobProfile) -> str | None:
    if profile.process is not None:
        return profile.process.host
    return words.listed(list(profile.nodes)) or None


def _held_kind(profile: JobProfile) -> str | None:
    return None if profile.held_back_by is None else profile.held_back_by.kind


_TEXTS: tuple[tuple[str, Callable[[JobProfile], str | None]], ...] = (
    ("status", lambda one: one.outcome.value),
    ("reason", lambda one: None if one.reason is None else one.reason.value),
    ("command", lambda one: None if one.process is None else one.process.command),
    ("template", lambda one: one.template if one.process is None else None),
    ("GPUs", gpu_models),
    ("where", _where),
    ("held back by", _held_kind),
)
