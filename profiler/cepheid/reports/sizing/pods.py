"""How much memory and CPU should each container ask for?

The most that any run needed, rounded up; what differs by less than a tenth stays. A limit that is
more than its request reserves nothing: it is raised, never lowered.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cepheid.jobprofile import Asked, JobProfile
from cepheid.jobs.advice import LEAST_WASTE_BYTES, LEAST_WASTE_CORES, WASTES
from cepheid.reports.nexttime import (
    LEAST_FREED_BYTES,
    LEAST_FREED_CORES,
    ROOM_AFTER_KILL,
    memory_quantity,
)
from cepheid.reports.sizing import asked as was
from cepheid.reports.sizing.advised import Action, Amount, Part, Rules, part
from cepheid.reports.sizing.asked import Given, amount
from cepheid.reports.sizing.backtest import Need, broken_by_most
from cepheid.reports.sizing.check import CPU_WASTES
from cepheid.reports.sizing.evidence import PodSeen, Runs
from cepheid.units import quantity

CHANGES = 0.1
"""By a smaller part than that nothing is changed."""
MOST_CORES = 1e5
"""Above that no digit after the point is written, nor a power of ten."""


@dataclass(frozen=True, slots=True)
class _Worth:
    """From where on less is worth a change: what `check` calls too much always is."""

    freed: float
    """Over all pods."""
    times: float
    wasted: float
    """By each of them."""

    def is_too_much(self, now: float, used: float) -> bool:
        return now >= self.times * used and now - used >= self.wasted


BYTES = _Worth(LEAST_FREED_BYTES, WASTES, LEAST_WASTE_BYTES)
CORES = _Worth(LEAST_FREED_CORES, CPU_WASTES, LEAST_WASTE_CORES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One figure that is asked for, and what the runs say of it."""

    given: Given
    container: str | None
    name: str
    unit: str
    now: float | None
    now_written: str | None
    needs: tuple[tuple[str, Need], ...]
    """With the uid of the run."""
    written: Callable[[float], str]
    worth: _Worth
    may_lower: bool
    together: float | None
    """What all containers of the pod may have; None where there is one."""
    why: str | None = None


def pod_parts(runs: Runs, rules: Rules) -> Iterator[Part]:
    """Of each container; a row that too few runs speak of is not there."""
    for given in _givens(runs.newest):
        pods = [(run.uid, run.pods[given.role]) for run in runs.seen if given.role in run.pods]
        leaks = any(run.leaks for run in runs.seen)
        for fields in (_memory(given, pods, rules, leaks=leaks), _cpu(given, pods, rules)):
            told = [one for one in fields if len(one.needs) >= rules.min_runs]
            yield from _parts(runs, [one for one in told if not _is_others_too(one)])


def _givens(profile: JobProfile) -> tuple[Given, ...]:
    """A process asked for nothing: as a pod it would be one with one container."""
    if profile.process is not None:
        return (Given(None, 1, (Asked(container=profile.series),)),)
    return was.givens(profile)


def _memory(
    given: Given, pods: Sequence[tuple[str, PodSeen]], rules: Rules, *, leaks: bool
) -> list[_Field]:
    def need(pod: PodSeen) -> Need | None:
        wanted = (pod.memory_bytes or 0.0) * (1 + rules.memory_buffer_percent / 100)
        if pod.killed_at_bytes is not None:
            at = pod.killed_at_bytes
            return Need(at, max(ROOM_AFTER_KILL * at, wanted), is_open=True)
        return None if pod.memory_bytes is None else Need(pod.memory_bytes, wanted)

    why = None
    if leaks:
        why = "its memory grows and is not given back: find the leak first"
    elif any(pod.is_killed and pod.killed_at_bytes is None for _, pod in pods):
        why = "it was killed, and by whose limit cannot be told"
    elif killed := sum(pod.is_killed for _, pod in pods):
        why = f"killed at its limit in {killed} of {len(pods)} runs"
    is_frozen = leaks or any(pod.is_killed and not pod.killed_at_bytes for _, pod in pods)
    needs = tuple((uid, one) for uid, pod in pods if (one := need(pod)) is not None)
    return _fields(
        given,
        "memory",
        {"requests": needs, "limits": needs},
        memory_quantity,
        BYTES,
        may_lower=not is_frozen,
        why=why,
    )


def _cpu(given: Given, pods: Sequence[tuple[str, PodSeen]], rules: Rules) -> list[_Field]:
    target = _target(given, "cpu")
    is_alike = target is not None and _is_alike(target, "cpu")
    step = rules.cpu_step_cores
    if is_alike and target is not None and float(was.reserved(target, "cpu") or 0.0).is_integer():
        step = max(1.0, math.ceil(step))  # exclusive cores are whole ones

    def need(pod: PodSeen, used: float | None) -> Need | None:
        at = pod.throttled_at_cores
        if at is not None:
            return Need(at, max(ROOM_AFTER_KILL * at, used or 0.0), is_open=True)
        return None if used is None else Need(used, used)

    def all_of(figure: Callable[[PodSeen], Need | None]) -> tuple[tuple[str, Need], ...]:
        return tuple((uid, one) for uid, pod in pods if (one := figure(pod)) is not None)

    peaks = all_of(lambda pod: need(pod, pod.peak_cores))
    sustained = all_of(
        lambda pod: (
            None if pod.sustained_cores is None else Need(pod.sustained_cores, pod.sustained_cores)
        )
    )
    throttled = sum(pod.is_throttled for _, pod in pods)
    why = f"throttled in {throttled} of {len(pods)} runs" if throttled else None
    # A limit beside a request stops peaks for a moment: only throttling says that it costs.
    held = all_of(lambda pod: need(pod, pod.sustained_cores))
    return _fields(
        given,
        "cpu",
        {"requests": peaks if is_alike else sustained, "limits": peaks if is_alike else held},
        lambda cores: cpu_quantity(cores, step),
        CORES,
        may_lower=not any(pod.is_throttled and not pod.throttled_at_cores for _, pod in pods),
        why=why,
    )


def _fields(
    given: Given,
    resource: str,
    needs: dict[str, tuple[tuple[str, Need], ...]],
    written: Callable[[float], str],
    worth: _Worth,
    *,
    may_lower: bool,
    why: str | None,
) -> list[_Field]:
    """Those that name the resource; where none does, the request."""
    target = _target(given, resource)
    if target is None:
        return []
    places = {"requests": target.requests, "limits": target.limits}
    named = [which for which, texts in places.items() if amount(texts, resource) is not None]
    reserving = "limits" if named == ["limits"] else "requests"
    return [
        _Field(
            given=given,
            container=target.container,
            name=f"{which}.{resource}",
            unit="bytes" if resource == "memory" else "cores",
            now=amount(places[which], resource),
            now_written=places[which].get(resource) if which in named else None,
            needs=needs[which],
            written=written,
            worth=worth,
            may_lower=may_lower and (which == reserving or _is_alike(target, resource)),
            together=_together(given, which, resource),
            why=why,
        )
        for which in named or ["requests"]
    ]


def _target(given: Given, resource: str) -> Asked | None:
    """Whose figure it is: the only container's; of several that of the one that asks for the most.

    It is then taken to have used all that the pod did, which is never too little.
    """
    if len(given.containers) == 1:
        return given.containers[0]
    asking = [one for one in given.containers if was.reserved(one, resource) is not None]
    return max(asking, key=lambda one: was.reserved(one, resource) or 0.0, default=None)


def _together(given: Given, which: str, resource: str) -> float | None:
    if len(given.containers) == 1:
        return None
    if which == "requests":
        return sum(was.reserved(one, resource) or 0.0 for one in given.containers)
    limits = [amount(one.limits, resource) for one in given.containers]
    return sum(math.inf if one is None else one for one in limits)


def _is_others_too(field: _Field) -> bool:
    """The pod used more than this container asks for, and not more than all of them do.

    Then the others used the rest: how much of it is this one's cannot be told.
    """
    if field.together is None or field.now is None:
        return False
    return field.now < max(need.enough for _, need in field.needs) <= field.together


def _is_alike(one: Asked, resource: str) -> bool:
    """Where only a limit is given the request is the same."""
    limit = amount(one.limits, resource)
    return limit is not None and limit == was.reserved(one, resource)


def _parts(runs: Runs, fields: Sequence[_Field]) -> Iterator[Part]:
    values = [
        _value(
            one,
            max(need.wanted for _, need in one.needs),
            max(need.enough for _, need in one.needs),
        )
        for one in fields
    ]
    floor = max((values[i] for i, one in enumerate(fields) if "requests" in one.name), default=0.0)
    for one, value in zip(fields, values, strict=True):
        # A limit below its request would be refused.
        yield _part(runs, one, max(value, floor))


def _value(field: _Field, highest: float, enough: float) -> float:
    """What to ask for, if that is the most that was wanted, and the most that would be enough."""
    wanted = quantity(field.written(highest)) or highest
    now = field.now
    if now is None or now < enough:
        return wanted
    if highest > now * (1 + CHANGES):  # not for the sake of a round figure
        return wanted
    freed = (now - wanted) * field.given.pods
    is_much = wanted < now * (1 - CHANGES) and freed >= field.worth.freed
    is_much = is_much or field.worth.is_too_much(now, enough)
    return wanted if field.may_lower and is_much and wanted < now else now


def _part(runs: Runs, field: _Field, value: float) -> Part:
    lost = broken_by_most(
        [need for _, need in field.needs], lambda wanted, enough: _value(field, wanted, enough)
    )
    action = Action.KEEP
    if field.now is None:
        action = Action.ADD
    elif value != field.now:
        action = Action.RAISE if value > field.now else Action.LOWER
    written = field.now_written if action is Action.KEEP else None
    said = Amount(
        role=field.given.role,
        container=field.container,
        field=field.name,
        unit=field.unit,
        now=field.now,
        advised=value,
        now_written=field.now_written,
        advised_written=written or field.written(value),
        frees=None if field.now is None else (field.now - value) * field.given.pods,
        why=field.why,
    )
    uids = [uid for uid, _ in field.needs]
    return part(runs, said, action, uids, lost, is_patched=action is not Action.KEEP)


def cpu_quantity(cores: float, step: float) -> str:
    """Rounded up to the step, and not to nothing: 4, 0.5."""
    steps = max(1, math.ceil(round(cores / step, 6)))
    if steps * step >= MOST_CORES:
        return f"{math.ceil(cores)}"
    return f"{steps * step:.3f}".rstrip("0").rstrip(".")
