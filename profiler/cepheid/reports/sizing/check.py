"""Did a job ask for what it used?

Row by row: a resource, what was asked for, the most that was used of it, and a verdict. Memory is
judged by its peak, however short: who is above its request goes first when a node runs out, and a
limit kills at once. CPU above its request, and the load of GPUs, are judged by what was sustained:
one sample is no violation, and no use either. That a job asked for too much is said only of one
that went through all that it does, and long enough. docs/asked-and-used.md has the rules.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from cepheid.jobprofile import MOST_WORKERS, JobProfile, ProcessSeen, Reason, Worker
from cepheid.jobs.advice import (
    IDLE_PERCENT,
    LEAST_WASTE_BYTES,
    LEAST_WASTE_CORES,
    LOW_PERCENT,
    WASTES,
)
from cepheid.reports.figures import peak_memory_bytes
from cepheid.reports.sizing import asked as was
from cepheid.reports.sizing.asked import Given, Used, believed
from cepheid.reports.sizing.gpus_held import capacity_bytes
from cepheid.reports.sizing.verdicts import (
    VIOLATIONS,
    Case,
    CheckRow,
    Judged,
    Verdict,
    case_of,
)

AT_LIMIT = 0.98
"""Of a memory limit: so near to it the next run may be killed."""
ABOVE_MEMORY = 1.02
ABOVE_CPU = 1.1
"""Times the request, sustained: less is noise."""
CPU_WASTES = 2 * WASTES
"""As the verdict of a profile has it: CPU that is not used is lent to others."""


def check(
    profile: JobProfile, workers: Sequence[Worker] = (), *, every: bool = True
) -> tuple[CheckRow, ...]:
    """`every` row that can be said of one job, or what is not as it should be."""
    case = case_of(profile, workers)
    return tuple(case.row(one) for one in _judged(case) if every or one.verdict in VIOLATIONS)


def _judged(case: Case) -> Iterator[Judged]:
    if case.profile.process is not None:
        return chain(_of_process(case, case.profile.process), _runtime(case))
    return chain(_memory(case), _cpu(case), _gpus(case), _runtime(case))


def _memory(case: Case) -> Iterator[Judged]:
    killed = case.hit("memory", "memory_bytes") if was.is_killed(case.profile) else None
    is_unlimited = was.is_killed(case.profile) and killed is None
    if is_unlimited:
        why = "at a limit that is not known, or the node had no more"
        yield Judged("memory", "bytes", Verdict.KILLED, None, case.whole("memory_bytes"), why=why)
    for given in case.givens:
        most = case.most(given, "memory_bytes")
        request, limit = given.request("memory"), given.limit("memory")
        if given is killed:
            resource = "memory" if request == limit else "memory limit"
            yield Judged(resource, "bytes", Verdict.KILLED, limit, most, why=_one_of(given))
        if request is None and not is_unlimited:
            yield _without(given, "memory", "bytes", most)
        if request is not None and not (given is killed and request == limit):
            yield from _memory_request(case, given, most, request, limit)
        if limit is not None and limit != request and given is not killed:
            yield Judged("memory limit", "bytes", _memory_limit(most, limit), limit, most)


def _memory_request(
    case: Case, given: Given, most: Used | None, request: float, limit: float | None
) -> Iterator[Judged]:
    resource = "memory" if request == limit else "memory request"
    if most is None:
        yield Judged(resource, "bytes", Verdict.NO_DATA, request)
        return
    room = AT_LIMIT * request if request == limit else ABOVE_MEMORY * request
    if most.amount >= room:
        over = [one for one in case.used(given, "memory_bytes") if one.amount >= room]
        for one in over[:MOST_WORKERS]:
            yield Judged(resource, "bytes", Verdict.TOO_LITTLE, request, one)
        return
    wasted = request >= WASTES * most.amount and request - most.amount >= LEAST_WASTE_BYTES
    verdict, why = Verdict.FITS, _of_many(given)
    if wasted and case.profile.leak is not None:
        why = "its memory grows: the longer it runs, the more"
    elif wasted:
        verdict = Verdict.TOO_MUCH if case.is_told else Verdict.EARLY
    yield Judged(resource, "bytes", verdict, request, most, why=why)


def _memory_limit(most: Used | None, limit: float) -> Verdict:
    if most is None:
        return Verdict.NO_DATA
    return Verdict.TOO_LITTLE if most.amount >= AT_LIMIT * limit else Verdict.FITS


def _cpu(case: Case) -> Iterator[Judged]:
    usage = case.profile.usage
    steady = was.steadiness(None if usage is None else usage.cpu_cores)
    throttled = case.hit("cpu", "cpu_cores") if was.is_throttled(case.profile) else None
    for given in case.givens:
        most = case.most(given, "cpu_cores")
        request, limit = given.request("cpu"), given.limit("cpu")
        if given is throttled:
            resource = "CPU" if request == limit else "CPU limit"
            held = case.profile.held_back_by
            why = None if held is None else f"{held.share_percent:.0f} % of its time"
            yield Judged(resource, "cores", Verdict.THROTTLED, limit, most, why=why)
        if request is None:
            yield _without(given, "CPU", "cores", most)
        elif not (given is throttled and request == limit):
            yield from _cpu_request(case, given, most, request, steady, is_alike=request == limit)
        if limit is not None and limit != request and given is not throttled:
            verdict = Verdict.NO_DATA if most is None else Verdict.FITS
            yield Judged("CPU limit", "cores", verdict, limit, most)


def _cpu_request(
    case: Case, given: Given, most: Used | None, request: float, steady: float, *, is_alike: bool
) -> Iterator[Judged]:
    """Above a limit nobody can be: who asked for both alike is judged by the peak."""
    resource = "CPU" if is_alike else "CPU request"
    if most is None:
        yield Judged(resource, "cores", Verdict.NO_DATA, request)
        return
    part = 1.0 if is_alike else steady
    room = ABOVE_CPU * request
    if part * most.amount > room and not is_alike:
        over = [one for one in case.used(given, "cpu_cores") if part * one.amount > room]
        for one in over[:MOST_WORKERS]:
            yield Judged(resource, "cores", Verdict.TOO_LITTLE, request, one, part * one.amount)
        return
    cores = part * most.amount
    verdict = Verdict.FITS
    if request >= CPU_WASTES * cores and request - cores >= LEAST_WASTE_CORES:
        verdict = Verdict.TOO_MUCH if case.is_told else Verdict.EARLY
    sustained = None if is_alike else cores
    yield Judged(resource, "cores", verdict, request, most, sustained, _of_many(given))


def _gpus(case: Case) -> Iterator[Judged]:
    usage = case.profile.usage
    util = None if usage is None else usage.gpu_util_percent
    steady = was.steadiness(util)
    idle = False
    for given in case.givens:
        if not given.gpus:
            continue
        held = float(given.gpus * given.pods)
        most = case.most(given, "gpu_util_percent") or case.whole("gpu_util_percent")
        if most is None:
            yield Judged("GPU", "GPUs", Verdict.NO_DATA, held)
        elif steady * most.amount > IDLE_PERCENT:
            yield from _some_idle(case, given, steady)
        else:
            idle = True
            verdict = Verdict.UNUSED if case.is_long else Verdict.EARLY
            why = f"{steady * most.amount:.0f} % at most"
            yield Judged("GPU", "GPUs", verdict, held, Used(None, 0.0), why=why)
    if case.profile.gpu_count and not idle:
        yield from _loads(case)


def _some_idle(case: Case, given: Given, steady: float) -> Iterator[Judged]:
    """Of a role whose GPUs somebody used: who did not."""
    low = [one for one in given.workers if steady * (one.gpu_util_percent or 0.0) <= IDLE_PERCENT]
    unused = was.all_used(low, "gpu_util_percent")
    for one in unused[:MOST_WORKERS]:
        verdict = Verdict.UNUSED if case.is_long else Verdict.EARLY
        yield Judged("GPU", "GPUs", verdict, float(given.gpus), Used(one.worker, 0.0))
    if not unused:
        held = float(given.gpus * given.pods)
        yield Judged("GPU", "GPUs", Verdict.FITS, held, Used(None, held))


def _loads(case: Case) -> Iterator[Judged]:
    """Low is what uses little of the GPUs and little of their memory: either alone is a reason."""
    usage = case.profile.usage
    util = None if usage is None else usage.gpu_util_percent
    load, memory = case.whole("gpu_util_percent"), case.whole("gpu_memory_bytes")
    capacity = capacity_bytes(case.profile, case.givens)
    sustained = None if load is None else was.steadiness(util) * load.amount
    share = None if memory is None or not capacity else 100 * memory.amount / capacity
    is_low = sustained is not None and sustained <= LOW_PERCENT
    is_low = is_low and (share is None or share <= LOW_PERCENT)
    low = Verdict.FITS
    if is_low:
        low = Verdict.TOO_MUCH if case.is_told else Verdict.EARLY
    why = "a smaller or shared GPU will do" if is_low else None
    if load is None:
        yield Judged("GPU load", "percent", Verdict.NO_DATA, 100.0)
    else:
        yield Judged("GPU load", "percent", low, 100.0, load, sustained, why)
    if memory is None or share is None:
        yield Judged("GPU memory", "bytes", Verdict.NO_DATA, capacity, memory)
    else:
        yield Judged("GPU memory", "bytes", low, capacity, memory, why=why)


def _runtime(case: Case) -> Iterator[Judged]:
    seconds = believed(case.profile.duration_seconds)
    if seconds is None:
        return
    used = Used(None, seconds)
    if case.profile.reason is Reason.DEADLINE:
        yield Judged("runtime", "seconds", Verdict.STOPPED, seconds, used)
    else:
        why = "a deadline is known only of a job that it stopped"
        yield Judged("runtime", "seconds", Verdict.NO_DATA, None, used, why=why)


def _of_process(case: Case, process: ProcessSeen) -> Iterator[Judged]:
    """Nobody asked a laptop for anything: it can only have too little."""
    peak, total = believed(peak_memory_bytes(case.profile)), believed(process.memory_total_bytes)
    used = None if peak is None else Used(None, peak)
    verdict = Verdict.NO_DATA
    if was.is_killed(case.profile):
        verdict = Verdict.KILLED
    elif used is not None and total:
        verdict = _memory_limit(used, total)
    of = "of the machine, or its container's limit"
    yield Judged("memory", "bytes", verdict, total, used, why=of)
    cores, busy = believed(process.cores), case.whole("cpu_cores")
    verdict = Verdict.NO_DATA if busy is None or not cores else Verdict.FITS
    if was.is_throttled(case.profile):
        verdict = Verdict.THROTTLED
    yield Judged("CPU", "cores", verdict, cores, busy, why=of)


def _without(given: Given, resource: str, unit: str, most: Used | None) -> Judged:
    some = any(was.reserved(one, resource.lower()) is not None for one in given.containers)
    why = "not every container of it does" if some else None
    return Judged(resource, unit, Verdict.UNASKED, None, most, why=why)


def _of_many(given: Given) -> str | None:
    return None if given.pods == 1 else f"the most of {given.pods} pods"


def _one_of(given: Given) -> str | None:
    count = len(given.containers)
    return None if count == 1 else f"one of {count} containers was: the limit is that of all"
