"""How fast does a job go, by what it prints?

The usual lines of training loops are recognised, or a pattern of the user's own is looked for, by
RE2: it cannot be made to run for ever. Rates of samples come before rates of iterations, since an
iteration may be a different amount of work on more GPUs; but what was printed near the end is what
counts, since data are prepared with progress bars too. What was printed in the warm-up does not
count. Lines are what strangers' programs print: they are cut, counted and never believed to be
text.
"""

import itertools
import math
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from cepheid.placementtrial import TrialError

MOST_PARTS = 5000
LINE_CHARACTERS = 1000
"""Of a line, or of what stands between two carriage returns of a progress bar."""
FEWEST = 3
WARMUP_SHARE = 0.25
"""Of a progress bar, which is one line with one time however long it is drawn."""
MOST_INDEPENDENT = 16
"""A bar is drawn many times a second, and smooths what it shows: its rates are not as many as they
look."""
LEAST_ERROR_RATIO = 0.005
"""Rates are printed with two or three digits."""
SUMMARY_ERROR_RATIO = 0.05
"""Of a figure for the whole run, with its warm-up in it."""
SLOWEST, FASTEST = 1e-6, 1e9
GROUPS = ("rate", "seconds", "step")
_MOST_PATTERN = 1000
_PATTERN_BYTES = 1 << 20


class Rate(NamedTuple):
    per_second: float
    error_ratio: float
    """Standard error."""
    unit: str


class Part(NamedTuple):
    """A line, or one drawing of a progress bar."""

    at_seconds: float | None
    """When it was printed, where that is known."""
    text: str


def rate_from(
    lines: Sequence[str], pattern: str | None = None, *, from_seconds: float = 0.0
) -> Rate | None:
    """From lines with the kubelet's timestamps; those before `from_seconds` do not count."""
    parts = list(_parts(lines, from_seconds))
    if pattern is not None:
        return _by_pattern(parts, pattern)
    for unit, reads in USUAL:
        rates = [_first(reads, part.text) for part in parts]
        seen = [rate for rate in rates if rate is not None]
        if len(seen) >= FEWEST and any(rates[-max(20, len(rates) // 4) :]):
            return _middle(seen, unit)
    totals = [total for part in parts if (total := _first(_SUMMARY, part.text)) is not None]
    return Rate(totals[-1], SUMMARY_ERROR_RATIO, "samples") if totals else None


def check_pattern(pattern: str) -> Any:
    """Compiled; TrialError where it is no RE2, or has not one group named as we know them."""
    import re2  # noqa: PLC0415 - only for who has a pattern

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_BYTES
    if len(pattern) > _MOST_PATTERN:
        raise _refused(f"it has {len(pattern)} characters, {_MOST_PATTERN} are allowed")
    try:
        compiled = re2.compile(pattern, options=options)
    except (re2.error, UnicodeEncodeError) as problem:
        raise _refused(f"it is no regular expression of RE2: {str(problem)[:200]}") from problem
    if compiled.groups != 1 or not set(compiled.groupindex) <= set(GROUPS):
        raise _refused(f"it has {compiled.groups} groups, one with a name is needed")
    if not compiled.groupindex:
        raise _refused("its group has no name")
    return compiled


Read = Callable[[str], float | None]
"""Work a second, if the line says so."""
_NUMBER = r"(\d{1,9}(?:\.\d{0,9})?)"


def _rate(pattern: str) -> Read:
    found = re.compile(pattern, re.ASCII)

    def read(text: str) -> float | None:
        match = found.search(text)
        if match is None:
            return None
        scale = _SCALES[match[2]] if found.groups > 1 and match[2] else 1.0
        return scale * float(match[1].replace(",", ""))

    return read


def _time(pattern: str, unit_seconds: float = 1.0) -> Read:
    rate = _rate(pattern)

    def read(text: str) -> float | None:
        time = rate(text)
        return None if not time else 1.0 / (time * unit_seconds)

    return read


def _batches(text: str) -> float | None:
    """Megatron-LM: with the batch that it was, which may grow in the course of a training."""
    time = _MEGATRON(text)
    batch = _MEGATRON_BATCH(text)
    return None if time is None or batch is None else time * batch


_SCALES = {"k": 1e3, "M": 1e6}
_MEGATRON = _time(rf"elapsed time per iteration \(ms\): {_NUMBER}", 1e-3)
_MEGATRON_BATCH = _rate(rf"global batch size:\s{{0,9}}{_NUMBER}")
_SAMPLES = "(?:samples?|examples?|ex|images?|imgs?|sequences?|seq)"
_STEPS = "(?:it|iter|iters|iterations?|steps?|batch|batches)"
_OF_ALL = r"(?!\s?(?:per|/|a)\s?(?:GPU|gpu|device|rank|worker))"

USUAL: tuple[tuple[str, tuple[Read, ...]], ...] = (
    # DeepSpeed: CurrSamplesPerSec=8.01, earlier SamplesPerSec=83.48; the running mean beside it
    # has the warm-up in it.
    (
        "samples",
        (
            _rate(rf"CurrSamplesPerSec={_NUMBER}"),
            _rate(rf"(?<![A-Za-z])SamplesPerSec={_NUMBER}"),
        ),
    ),
    ("samples", (_batches,)),
    # samples/sec: 7.799 (GPT-NeoX, DeepSpeed's pipelines), img/s: 812.4 (torchvision), 812.4 img/s
    (
        "samples",
        (
            _rate(rf"\b{_SAMPLES}/s(?:ec)?: {{0,9}}{_NUMBER}"),
            _rate(rf"(?<![\d.]){_NUMBER} {{0,2}}([kM])?{_SAMPLES}/s(?:ec(?:ond)?)?\b{_OF_ALL}"),
        ),
    ),
    (
        "tokens",
        (
            _rate(r"\b(?:tokens|tok)/s(?:ec)?: {0,9}(\d{1,12}(?:[.]\d{0,9})?)"),
            _rate(
                rf"(?<![\d.,])(\d[\d,]{{0,14}}(?:[.]\d{{0,9}})?) {{0,2}}([kM])?"
                rf"(?:tokens|tok)/s(?:ec(?:ond)?)?\b{_OF_ALL}"
            ),
        ),
    ),
    # tqdm, Lightning, Hugging Face's Trainer: 4.47s/it, 46.84it/s; they turn round at 1
    (
        "iterations",
        (
            _rate(rf"(?<![\d.]){_NUMBER} {{0,2}}([kM])?{_STEPS}/s(?:ec)?\b"),
            _time(rf"(?<![\d.]){_NUMBER} {{0,2}}s(?:ec)?/{_STEPS}\b"),
        ),
    ),
    # Megatron-LM without its batch; DeepSpeed's pipelines
    (
        "iterations",
        (
            _MEGATRON,
            _time(rf"\biter time \(ms\): {{0,9}}{_NUMBER}", 1e-3),
            _time(rf"\biter time \(s\): {{0,9}}{_NUMBER}"),
        ),
    ),
    # PyTorch's ImageNet example: Time  0.123 ( 0.130); nanoGPT: time 123.45ms; torchvision,
    # timm, detectron2, mmengine: time: 0.1234. Not data_time, and no time of day.
    (
        "iterations",
        (
            _time(rf"\bTime {{1,9}}{_NUMBER} {{0,9}}\( {{0,9}}[\d.]{{1,12}}\)"),
            _time(rf"\btime:? {{1,9}}{_NUMBER} ?ms\b", 1e-3),
            _time(rf"(?<!otal )(?<!lapsed )\b[tT]ime: {{0,9}}{_NUMBER}(?![\d.:]| ?ms)"),
        ),
    ),
)

_SUMMARY = (_rate(rf"'train_samples_per_second': {_NUMBER}"),)
"""Hugging Face's Trainer, when it is done."""


def _first(reads: Sequence[Read], text: str) -> float | None:
    for read in reads:
        rate = read(text)
        if rate is not None and SLOWEST <= rate <= FASTEST:
            return rate
    return None


def _parts(lines: Sequence[str], from_seconds: float) -> Iterator[Part]:
    """The last ones, the warm-up's left out."""
    found: list[Part] = []
    for line in reversed(lines):
        at, text = _timed(line)
        drawn = text.split("\r")
        drawn = [one for one in drawn if one.strip()]
        if at is not None and at < from_seconds:
            # Of a bar that was begun in the warm-up nobody knows when the rest was drawn.
            drawn = drawn[math.ceil(WARMUP_SHARE * len(drawn)) :] if len(drawn) > FEWEST else []
        times = [at if len(drawn) == 1 else None] * len(drawn)
        for when, one in zip(times, reversed(drawn), strict=True):
            found.append(Part(when, one[:LINE_CHARACTERS]))
            if len(found) == MOST_PARTS:
                return reversed(found)
    return reversed(found)


_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z ", re.ASCII)


def _timed(line: str) -> tuple[float | None, str]:
    found = _TIMESTAMP.match(line)
    if found is None:
        return None, line
    try:
        whole = datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None, line
    return whole + float(found[2] or 0.0), line[found.end() :]


def _by_pattern(parts: Sequence[Part], pattern: str) -> Rate | None:
    compiled = check_pattern(pattern)
    (group,) = compiled.groupindex
    seen: list[tuple[float | None, float]] = []
    for part in parts:
        match = compiled.search(part.text.encode("utf-8", "replace").decode())
        number = None if match is None else _number(match.group(group))
        if number is not None:
            seen.append((part.at_seconds, number))
    if group == "step":
        return _counted([(at, step) for at, step in seen if at is not None])
    rates = [number if group == "rate" else 1 / number for _, number in seen if number > 0]
    rates = [rate for rate in rates if SLOWEST <= rate <= FASTEST]
    return _middle(rates, "iterations") if len(rates) >= FEWEST else None


def _number(text: str | None) -> float | None:
    try:
        number = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _counted(steps: Sequence[tuple[float, float]]) -> Rate | None:
    """How far the count came; after a restart it begins again."""
    run: list[tuple[float, float]] = []
    for at, step in steps:
        if run and step < run[-1][1]:
            run = []
        if not run or (at > run[-1][0] and step > run[-1][1]):
            run.append((at, step))
    if len(run) < FEWEST:
        return None
    seconds, count = run[-1][0] - run[0][0], run[-1][1] - run[0][1]
    per_second = count / seconds
    if not SLOWEST <= per_second <= FASTEST:
        return None
    # By how much each stretch took longer or shorter than it should have.
    off = [
        (later[0] - one[0]) - (later[1] - one[1]) / per_second
        for one, later in itertools.pairwise(run)
    ]
    spread = math.sqrt(sum(one * one for one in off) / (len(off) - 1) * len(off)) / seconds
    return Rate(per_second, max(LEAST_ERROR_RATIO, spread), "iterations")


def _middle(rates: Sequence[float], unit: str) -> Rate:
    median = statistics.median(rates)
    # Of a normal distribution: the deviation is 1.48 of the median distance, and a median is 1.25
    # as uncertain as a mean.
    deviation = 1.48 * statistics.median(abs(rate - median) for rate in rates)
    error = 1.25 * deviation / math.sqrt(min(len(rates), MOST_INDEPENDENT))
    return Rate(median, max(LEAST_ERROR_RATIO, error / median), unit)


def _refused(why: str) -> TrialError:
    return TrialError(
        f"spec.measure.pattern: {why}",
        hint=r"such as `step (?P<step>\d+)`, `(?P<rate>[\d.]+) it/s` or `took (?P<seconds>[\d.]+)`",
    )
