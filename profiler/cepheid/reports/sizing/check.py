"""Did a job ask for what it used?

Row by row: a resource, what was asked for, the most that was used of it, and a verdict. Memory is
judged by its peak, however short: who is above its request goes first when a node runs out, and a
limit kills at once. CPU above its request, and the load of GPUs, are judged by what was sustained:
one sample is no violation, and no use either. That a job asked for too much is said only of one
that went through all that it does, and long enough. docs/asked-and-used.md has the rules.
"""

from collections.abc import Iterator, Sequence

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
        yield from _of_process(case, case.profile.process)
    else:
        yield from _memory(case)
        yield from _cpu(case)
        yield from _gpus(case)
    yield from _runtime(case)


def _memory(case: Case) -> Iterator[Judged]:
    killed = case.hit("memory", "memory_bytes") if was.is_killed(case.profile) else None
    is_unlimited = was.is_killed(case.profile) and killed is None
    if is_unlimited:
        why = "at a limit that is not known, or the node had no more"
        yield Judged("memory", "bytes", Verdict.KILLED, None, case.whole("memory_bytes"), why=why)
    for given in case.givens:
        used = case.used(given, "memory_bytes")
        request, limit = given.request("memory"), given.limit("memory")
        if given == killed:
            resource = "memory" if request == limit else "memory limit"
            yield Judged(resource, "bytes", Verdict.KILLED, limit, _first(used), why=_one_of(given))
        if request is None and not is_unlimited:
            yield _without(given, "memory", "bytes", used)
        if request is not None and not (given == killed and request == limit):
            yield from _memory_request(case, given, used, request, limit)
        if limit is not None and limit != request and given != killed:
            verdict = _memory_limit(used, limit)
            yield Judged("memory limit", "bytes", verdict, limit, _first(used))


def _memory_request(
    case: Case, given: Given, used: list[Used], request: float, limit: float | None
) -> Iterator[Judged]:
    resource = "memory" if request == limit else "memory request"
    if not used:
        yield Judged(resource, "bytes", Verdict.NO_DATA, request)
        return
    most = AT_LIMIT * request if request == limit else ABOVE_MEMORY * request
    over = [one for one in used if one.amount >= most]
    for one in over[:MOST_WORKERS]:
        yield Judged(resource, "bytes", Verdict.TOO_LITTLE, request, one)
    if over:
        return
    wasted = request >= WASTES * used[0].amount and request - used[0].amount >= LEAST_WASTE_BYTES
    verdict, why = Verdict.FITS, _of_many(given)
    if wasted and case.profile.leak is not None:
        why = "its memory grows: the longer it runs, the more"
    elif wasted:
        verdict = Verdict.TOO_MUCH if case.is_told else Verdict.EARLY
    yield Judged(resource, "bytes", verdict, request, used[0], why=why)


def _memory_limit(used: list[Used], limit: float) -> Verdict:
    if not used:
        return Verdict.NO_DATA
    return Verdict.TOO_LITTLE if used[0].amount >= AT_LIMIT * limit else Verdict.FITS


def _cpu(case: Case) -> Iterator[Judged]:
    usage = case.profile.usage
    steady = was.steadiness(None if usage is None else usage.cpu_cores)
    throttled = case.hit("cpu", "cpu_cores") if was.is_throttled(case.profile) else None
    for given in case.givens:
        used = case.used(given, "cpu_cores")
        request, limit = given.request("cpu"), given.limit("cpu")
        if given == throttled:
            resource = "CPU" if request == limit else "CPU limit"
            held = case.profile.held_back_by
            why = None if held is None else f"{held.share_percent:.0f} % of its time"
            yield Judged(resource, "cores", Verdict.THROTTLED, limit, _first(used), why=why)
        if request is None:
            yield _without(given, "CPU", "cores", used)
        elif not (given == throttled and request == limit):
            yield from _cpu_request(case, given, used, request, steady, is_alike=request == limit)
        if limit is not None and limit != request and given != throttled:
            verdict = Verdict.FITS if used else Verdict.NO_DATA
            yield Judged("CPU limit", "cores", verdict, limit, _first(used))


def _cpu_request(
    case: Case, given: Given, used: list[Used], request: float, steady: float, *, is_alike: bool
) -> Iterator[Judged]:
    """Above a limit nobody can be: who asked for both alike is judged by the peak."""
    resource = "CPU" if is_alike else "CPU request"
    if not used:
        yield Judged(resource, "cores", Verdict.NO_DATA, request)
        return
    part = 1.0 if is_alike else steady
    over = [one for one in used if part * one.amount > ABOVE_CPU * request and not is_alike]
    for one in over[:MOST_WORKERS]:
        yield Judged(resource, "cores", Verdict.TOO_LITTLE, request, one, part * one.amount)
    if over:
        return
    most = part * used[0].amount
    verdict = Verdict.FITS
    if request >= CPU_WASTES * most and request - most >= LEAST_WASTE_CORES:
        verdict = Verdict.TOO_MUCH if case.is_told else Verdict.EARLY
    sustained = None if is_alike else most
    yield Judged(resource, "cores", verdict, request, used[0], sustained, _of_many(given))


def _gpus(case: Case) -> Iterator[Judged]:
    usage = case.profile.usage
    util = None if usage is None else usage.gpu_util_percent
    steady = was.steadiness(util)
    idle = False
    for given in case.givens:
        if not given.gpus:
            continue
        held = float(given.gpus * given.pods)
        loads = case.used(given, "gpu_util_percent")
        if not loads and (whole := case.whole("gpu_util_percent")) is not None:
            loads = [whole]
        unused = [one for one in loads if steady * one.amount <= IDLE_PERCENT]
        if not loads:
            yield Judged("GPU", "GPUs", Verdict.NO_DATA, held)
        elif len(unused) < len(loads):
            for one in unused[:MOST_WORKERS]:
                verdict = Verdict.UNUSED if case.is_long else Verdict.EARLY
                yield Judged("GPU", "GPUs", verdict, float(given.gpus), Used(one.worker, 0.0))
            if not unused:
                yield Judged("GPU", "GPUs", Verdict.FITS, held, Used(None, held))
        else:
            idle = True
            verdict = Verdict.UNUSED if case.is_long else Verdict.EARLY
            why = f"{steady * loads[0].amount:.0f} % at most"
            yield Judged("GPU", "GPUs", verdict, held, Used(None, 0.0), why=why)
    if case.profile.gpu_count and not idle:
        yield from _loads(case)


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
        verdict = _memory_limit([used], total)
    of = "of the machine, or its container's limit"
    yield Judged("memory", "bytes", verdict, total, used, why=of)
    cores, busy = believed(process.cores), case.whole("cpu_cores")
    verdict = Verdict.NO_DATA if busy is None or not cores else Verdict.FITS
    if was.is_throttled(case.profile):
        verdict = Verdict.THROTTLED
    yield Judged("CPU", "cores", verdict, cores, busy, why=of)


def _first(used: list[Used]) -> Used | None:
    return used[0] if used else None


def _without(given: Given, resource: str, unit: str, used: list[Used]) -> Judged:
    some = any(was.reserved(one, resource.lower()) is not None for one in given.containers)
    why = "not every container of it does" if some else None
    return Judged(resource, unit, Verdict.UNASKED, None, _first(used), why=why)


def _of_many(given: Given) -> str | None:
    return None if given.pods == 1 else f"the most of {given.pods} pods"


def _one_of(given: Given) -> str | None:
    count = len(given.containers)
    return None if count == 1 else f"one of {count} containers was: the limit is that of all"
