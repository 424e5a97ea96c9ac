"""What was considered for a pod, in words: for its Event, and for `cepheid why-node`."""

from datetime import datetime

import numpy as np

from cepheid.jobs.gpu_names import model_name
from cepheid.units import in_time
from cepheid.whynode import MOST_NODES, Considered, Expected, LeftOut, Scored
from cepheid_operator.extender.index import Asked, Unknowns
from cepheid_operator.extender.judging import Judged, Verdict
from cepheid_operator.extender.needs import Needs

SHOWN = 3
"""Nodes that an Event names."""


def reason(verdict: Verdict, needs: Needs) -> str:
    """Why a node is left out: what FailedScheduling says of it."""
    count = "a GPU" if needs.gpus == 1 else f"{needs.gpus} GPUs"
    if verdict is Verdict.ILL:
        return f"too few of its GPUs are well: {count} asked for, others lost or with an XID"
    memory = f"{needs.memory_gb:.1f} GB" if needs.memory_gb is not None else "memory"
    each = "" if needs.gpus == 1 else " each"
    return (
        f"no room on its GPUs: its job is known to need {memory}{each}, foretold to be free is less"
    )


def considered(
    asked: Asked, names: list[str], judged: Judged, node: str | None, at: datetime
) -> Considered:
    """The best nodes, and in any case the one that it got."""
    takes = judged.verdicts == Verdict.TAKES
    order = [int(row) for row in np.argsort(-judged.score, kind="stable") if takes[row]]
    best = order[:MOST_NODES]
    best += [row for row in order[MOST_NODES:] if names[row] == node]
    scores = judged.scores
    out = [int(row) for row in np.flatnonzero(~takes)]
    return Considered(
        at=at,
        node=node,
        expected=expected(asked),
        unknown=_unknown(asked),
        nodes=len(names),
        left_out=len(out),
        best=tuple(
            Scored(
                node=names[row],
                score=int(scores[row]),
                parts={name: round(float(part[row]), 2) for name, part in judged.parts.items()},
            )
            for row in best
        ),
        out=tuple(
            LeftOut(node=names[row], why=reason(Verdict(int(judged.verdicts[row])), asked.needs))
            for row in out[:MOST_NODES]
        ),
    )


def expected(asked: Asked) -> Expected:
    needs = asked.needs
    return Expected(
        job=None if asked.lineage is None else str(asked.lineage),
        runs=needs.runs,
        gpus=needs.gpus,
        memory_gb=None if needs.memory_gb is None else round(needs.memory_gb, 1),
        seconds=needs.seconds,
        best_type=needs.best_type,
        speeds={kind: round(speed, 2) for kind, speed in needs.speeds.items()},
    )


def _unknown(asked: Asked) -> str | None:
    match asked.unknown:
        case Unknowns.NO_JOB:
            return "nothing is known of it: it belongs to no job that is known"
        case Unknowns.NO_RUNS:
            return "nothing is known of it: its job has not run yet"
        case _:
            return None


def sentence(told: Considered) -> str:
    """For `kubectl describe pod`."""
    names = ", ".join(f"{one.node} {one.score}" for one in told.best[:SHOWN])
    parts = [f"scores of {told.nodes} node{'s' * (told.nodes != 1)}: {names or 'none takes it'}"]
    if told.left_out:
        parts.append(f"{told.left_out} left out ({told.out[0].node}: {told.out[0].why})")
    parts.append(told.unknown or _known(told.expected))
    return "; ".join(parts)


def _known(expected: Expected) -> str:
    found = []
    if expected.memory_gb is not None:
        found.append(f"{expected.memory_gb:g} GB a GPU")
    if expected.seconds is not None:
        found.append(in_time(expected.seconds))
    if expected.best_type is not None:
        found.append(f"best on {model_name(expected.best_type)}")
    runs = f"{expected.runs} earlier run{'s' * (expected.runs != 1)}"
    return f"expected by {runs}: {', '.join(found) or 'nothing'}"
