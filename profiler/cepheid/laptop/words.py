"""What is most worth knowing of a run on a machine of one's own, and which lever of it to pull.

As `cepheid.jobs.advice` does for jobs of a cluster, in the words of who typed a command: no fields
of a manifest, no pods. The first that applies is the verdict.
"""

from collections.abc import Iterator

from cepheid.jobprofile import JobProfile, Outcome, Reason
from cepheid.jobs.advice import IDLE_PERCENT, LOW_PERCENT, TOLD_SECONDS, VERDICT_CHARACTERS, Word
from cepheid.jobs.fields import one_line
from cepheid.units import in_bytes, in_time

MOST_ADVICE = 4
LEAST_LOST_PERCENT = 20.0
_SECONDS_A_MINUTE = 60.0

_HELD_BACK = {
    "cpu": "CPU the limit",
    "cpu-throttled": "CPU throttled",
    "memory": "memory nearly full",
    "disk": "waits for disks",
    "network": "waits for the network",
    "input": "GPU waits for input",
    "peers": "GPU waits for others",
    "unknown": "GPU pauses",
}


def judge(profile: JobProfile) -> tuple[str | None, tuple[str, ...]]:
    found = [*_end(profile), *_memory(profile), *_gpu(profile), *_held(profile), *_usual(profile)]
    verdict = one_line(found[0].verdict, VERDICT_CHARACTERS) if found else None
    told = [one_line(word.advice) for word in found if word.advice]
    return verdict, tuple(advice for advice in told if advice)[:MOST_ADVICE]


def _end(profile: JobProfile) -> Iterator[Word]:
    after = profile.duration_seconds
    when = "" if after is None else f" after {in_time(after)}"
    match profile.reason:
        case None:
            return
        case Reason.DEADLINE:
            yield Word(
                f"stopped by its timeout{when}",
                "raise --timeout, or save checkpoints so that the next run goes on",
            )
        case Reason.OOM_KILLED:
            yield Word("killed for want of memory", "hold less at a time, or free memory first")
        case Reason.SIGNAL:
            yield Word(profile.message or "ended by a signal", _after_signal(profile))
        case Reason.COMMAND:
            yield Word("could not be started", profile.message)
        case Reason.LOST:
            yield Word(
                "its recorder was killed",
                "figures are up to that moment; the command may have gone on without it",
            )
        case _ if profile.outcome is Outcome.FAILED:
            code = profile.exit_code
            yield Word(
                profile.message or ("failed" if not code else f"failed with exit code {code}")
            )
        case reason:
            yield Word(profile.message or str(reason))


def _after_signal(profile: JobProfile) -> str | None:
    process = profile.process
    total = None if process is None else process.memory_total_bytes
    peak = None if process is None else process.peak_memory_bytes
    if (profile.message or "").endswith("SIGKILL") and total and peak and peak > total * 0.8:
        return (
            f"it held {in_bytes(peak)} of {in_bytes(total)}: the kernel may have killed it for want"
            " of memory (dmesg tells)"
        )
    if (profile.message or "").endswith(("SIGSEGV", "SIGBUS", "SIGABRT")):
        return "it crashed: PYTHONFAULTHANDLER=1 shows where, of a Python program"
    return None


def _memory(profile: JobProfile) -> Iterator[Word]:
    if profile.leak is None:
        return
    speed = f"{in_bytes(_SECONDS_A_MINUTE * profile.leak.bytes_per_second)}/m"
    yield Word(
        f"memory leak {speed}",
        f"its memory grew by {speed} to the end and was never given back: find what it keeps"
        " (tracemalloc shows it, of a Python program)",
    )


def _gpu(profile: JobProfile) -> Iterator[Word]:
    util = None if profile.usage is None else profile.usage.gpu_util_percent
    if not profile.gpu_count or util is None or util.max is None:
        return
    if (profile.duration_seconds or 0.0) < TOLD_SECONDS:
        return
    count = "its GPU" if profile.gpu_count == 1 else f"its {profile.gpu_count} GPUs"
    if util.max <= IDLE_PERCENT:
        yield Word(
            "GPU idle",
            f"it held memory of {count} and computed nothing there: is the model on the device?",
        )
    elif util.max <= LOW_PERCENT:
        yield Word(
            f"GPU used {util.max:.0f} % at most",
            f"{count} reached {util.max:.0f} % at most: larger batches, or a smaller GPU will do",
        )


def _held(profile: JobProfile) -> Iterator[Word]:
    held = profile.held_back_by
    if held is None or not held.advice or held.share_percent < LEAST_LOST_PERCENT:
        return
    share = f"{held.share_percent:.0f} %"
    words = _HELD_BACK.get(held.kind)
    if words is not None:
        yield Word(f"{words} {share} of the time", held.advice)


def _usual(profile: JobProfile) -> Iterator[Word]:
    names = {"duration": "slower", "memory": "more memory", "gpuMemory": "more GPU memory"}
    for one in profile.regression:
        if one.what in names and one.usual > 0:
            times = f"{one.now / one.usual:.1f}x"
            yield Word(
                f"{names[one.what]} than usual: {times}",
                f"{names[one.what]} than in its last {one.runs} runs, {times} of what is usual:"
                " what changed since?",
            )
            return
