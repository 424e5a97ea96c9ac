"""Scores as text. Pure."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from tests.bench.agent.figures import table
from tests.bench.trials.scores import GOOD, Score


def against_targets(scores: Sequence[Score]) -> str:
    over = sum(one.tight_spent > one.tight_budget for one in scores)
    cpu = [seconds for one in scores for seconds in one.cpu_seconds]
    return table(
        ("", "target", "reached"),
        [
            ("jobs", ">= 200", f"{len(scores):,}"),
            ("within 5 % of the best", ">= 95 %", _good(scores, lambda one: one.loss)),
            ("GPU-seconds of the grid's", "<= 40 %, aim 20 %", _mean(scores, lambda s: s.spent)),
            ("runs over their budget", "0", f"{over} of {2 * len(scores):,}"),
            ("CPU of a choice, mean", "-", f"{1000 * np.mean(cpu):.0f} ms"),
            ("CPU of a choice, longest", "<= 200 ms", f"{1000 * max(cpu):.0f} ms"),
        ],
    )


def beside_others(scores: Sequence[Score]) -> str:
    spent = _mean(scores, lambda one: one.spent)
    return table(
        ("", "within 5 %", "mean loss", "GPU-seconds"),
        [
            ("search", *_losses(scores, lambda one: one.loss), spent),
            ("search, best of the measured", *_losses(scores, lambda one: one.leader_loss), spent),
            ("random, for as much", *_losses(scores, lambda one: one.random_loss), spent),
            ("plain grid", *_losses(scores, lambda one: one.grid_loss), "100.0 %"),
        ],
    )


def by(scores: Sequence[Score], what: Callable[[Score], str], name: str) -> str:
    rows = []
    for key in dict.fromkeys(what(one) for one in scores):
        some = [one for one in scores if what(one) == key]
        rows.append(
            (
                key,
                f"{len(some)}",
                _good(some, lambda one: one.loss),
                _good(some, lambda one: one.random_loss),
                _good(some, lambda one: one.grid_loss),
                _mean(some, lambda one: one.spent),
                f"{np.mean([one.trials for one in some]):.1f}",
                f"{np.mean([one.measured_seconds for one in some]):.0f} s",
            )
        )
    head = (name, "jobs", "search", "random", "grid", "GPU-seconds", "trials", "measured for")
    return table(head, rows)


def with_little(scores: Sequence[Score]) -> str:
    """Of those whose budget was a share of the grid, and with up to four at a time."""
    rows = []
    for low, high in ((0.0, 0.02), (0.02, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.4)):
        some = [one for one in scores if low < one.tight_budget <= high]
        if some:
            rows.append(
                (
                    f"{100 * low:.0f} to {100 * high:.0f} %",
                    f"{len(some)}",
                    _good(some, lambda one: one.tight_loss),
                    _mean(some, lambda one: one.tight_spent),
                    f"{100 * max(one.tight_spent / one.tight_budget for one in some):.1f} %",
                )
            )
    head = ("budget, of the grid", "jobs", "within 5 %", "spent", "most of a budget that was spent")
    return table(head, rows)


def what_else(scores: Sequence[Score]) -> str:
    covered = [one.covered for one in scores if np.isfinite(one.covered)]
    ends = Counter(one.words for one in scores)
    return table(
        ("", ""),
        [
            ("untried placements inside their 90 % band", f"{100 * np.mean(covered):.1f} %"),
            (
                "trials that ran out of memory, a job",
                f"{np.mean([s.out_of_memory for s in scores]):.2f}",
            ),
            *((f"ended since: {words}", f"{count}") for words, count in ends.most_common()),
        ],
    )


def _good(scores: Sequence[Score], loss: Callable[[Score], float]) -> str:
    return f"{100 * np.mean([loss(one) <= GOOD for one in scores]):.1f} %"


def _losses(scores: Sequence[Score], loss: Callable[[Score], float]) -> tuple[str, str]:
    # Without an answer, or with a very bad one, it counts as twice as bad as the best.
    mean = np.mean([min(loss(one), 1.0) for one in scores])
    return _good(scores, loss), f"{100 * mean:.1f} %"


def _mean(scores: Sequence[Score], what: Callable[[Score], float]) -> str:
    return f"{100 * np.mean([what(one) for one in scores]):.1f} %"
