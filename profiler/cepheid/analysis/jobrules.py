"""The table by which `jobtype` judges: which features speak for which kind of job, how loudly.

Each rule names the ranges in which a few features must lie. A rule that needs something that was
not measured does not hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cepheid.analysis.features import PROBES_BYTES_PER_SECOND, Features
from cepheid.analysis.signals import WORK_RATIO

IDLE_SHARE = 0.03
"""Up to here the samples in which something ran are spikes, not work."""


class JobKind(StrEnum):
    TRAINING = "training"
    INFERENCE = "inference"
    INTERACTIVE = "interactive"
    IDLE = "idle"
    EMPTY = "empty"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` up to, but without, `high`."""

    low: float
    high: float


def above(low: float) -> Range:
    return Range(low, np.inf)


def below(high: float) -> Range:
    return Range(-np.inf, high)


YES, NO = above(0.5), below(0.5)
WORKS = above(WORK_RATIO)


@dataclass(frozen=True, slots=True)
class Rule:
    kind: JobKind
    weight: float
    words: str
    """With the names of features where their figures belong."""
    when: Mapping[str, Range]

    def holds(self, found: Features) -> bool:
        return all(span.low <= getattr(found, name) < span.high for name, span in self.when.items())


def rule(kind: JobKind, weight: float, words: str, **when: Range) -> Rule:
    return Rule(kind, weight, words, when)


T, F, A, I = JobKind.TRAINING, JobKind.INFERENCE, JobKind.INTERACTIVE, JobKind.IDLE  # noqa: E741
# Weights were set by hand and checked on simulated jobs of every kind, over seeds that were not
# looked at while setting them.
RULES = (
    rule(
        T,
        4.0,
        "it repeats every {step_seconds:.3g} s",
        step_seconds=above(0.1),
        step_confirmed=YES,
        active=above(0.3),
        waiting=below(0.9),
    ),
    rule(
        T,
        2.0,
        "it seems to repeat every {step_seconds:.3g} s, unconfirmed",
        step_seconds=above(0.1),
        step_confirmed=NO,
        active=above(0.3),
    ),
    rule(
        T,
        3.0,
        "the load is steady at {level:.0%}, give or take {spread:.0%}",
        spread=below(0.04),
        active=above(0.95),
        work=WORKS,
        waiting=below(0.5),
    ),
    rule(
        T,
        2.5,
        "it computes at one level ({level:.0%}) or not at all",
        two_level=above(0.75),
        top_spread=below(0.04),
        active=Range(0.4, 0.95),
        work=WORKS,
    ),
    rule(
        T,
        3.0,
        "the tensor pipe is at {tensor:.0%} while a kernel runs",
        tensor=above(0.42),
        active=above(0.5),
    ),
    rule(
        T,
        1.0,
        "it hardly pauses, at {level:.0%} of the power or pipes",
        active=above(0.9),
        level=above(0.5),
    ),
    rule(
        T,
        6.0,
        "{traffic:.3g} B/s go out as they come in, as among peers",
        among_peers=YES,
        active=above(0.5),
    ),
    rule(
        T,
        1.0,
        "no traffic beyond probes ({traffic:.3g} B/s), so no requests",
        traffic=below(PROBES_BYTES_PER_SECOND),
        active=above(0.5),
    ),
    rule(
        T,
        4.0,
        "a kernel runs {busy:.0%} of the time and computes nothing, as when it spins for its peers",
        waiting=above(0.5),
    ),
    rule(
        F,
        3.0,
        "the load varies by {spread:.0%} without steps",
        spread=above(0.06),
        two_level=below(0.75),
        active=above(0.65),
        step_seconds=below(0.1),
        work=WORKS,
    ),
    rule(F, 1.5, "the load swells and ebbs every {tide_seconds:.3g} s", tide_seconds=above(1.0)),
    rule(
        F,
        3.0,
        "{traffic:.3g} B/s come and go, as requests and answers do",
        two_way=YES,
        among_peers=NO,
        active=above(0.65),
    ),
    rule(
        F,
        2.0,
        "the traffic follows the load (rank correlation {follows:.2f})",
        two_way=YES,
        among_peers=NO,
        follows=above(0.5),
        active=above(IDLE_SHARE),
    ),
    rule(
        F,
        1.5,
        "device memory is {dram_per_tensor:.1f} times as active as the tensor pipe",
        dram_per_tensor=above(1.3),
        active=above(0.5),
        work=WORKS,
    ),
    rule(
        F,
        4.0,
        "rare bursts, all much alike ({burst_unevenness:.0%})",
        active=Range(IDLE_SHARE, 0.65),
        active_samples=above(3),
        unevenness=above(0.8),
        burst_unevenness=below(0.5),
        step_seconds=below(0.1),
    ),
    rule(
        A,
        4.0,
        "it computes in {active:.0%} of the samples, in bursts",
        active=Range(IDLE_SHARE, 0.7),
        active_samples=above(3),
        unevenness=above(0.8),
        level=below(0.7),
    ),
    rule(
        A,
        2.0,
        "no burst is like the other ({burst_unevenness:.0%})",
        active=Range(IDLE_SHARE, 0.7),
        active_samples=above(3),
        burst_unevenness=above(0.6),
        unevenness=above(0.8),
    ),
    rule(I, 6.0, "something ran in {active:.0%} of the samples only", active=below(IDLE_SHARE)),
    rule(I, 4.0, "one or two spikes are no work", active_samples=below(3)),
)
