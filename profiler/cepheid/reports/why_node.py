"""Why did a pod get its node, or none?

In come the pod and what its Event tells; out go the answer in a sentence, what was expected of the
pod, and the nodes with their scores. The score is one of several that a scheduler adds up, and only
nodes that the scheduler found by itself were considered: both is said where it matters.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from cepheid.jobs.fields import one_line
from cepheid.jobs.gpu_names import told_apart
from cepheid.reports.plain import clipped, plain
from cepheid.reports.why_node_events import NAME_COLUMNS, PodSeen, Told, describe
from cepheid.reports.words import age, counted, figure, in_percent, lasting, listed
from cepheid.whynode import MOST_SCORE, Considered, Expected, Scored

NOT_KNOWN = "not known"
MOST_TYPES = 6
JOB_COLUMNS = 60
"""Of what a user may have chosen, in a sentence."""
LEGEND = (
    "TYPE: how fast the job is on such GPUs, which counts most; FIT: how little of their memory"
    " stays unused; FREE: how much is foretold to be free; APART: how seldom others draw on the"
    " node at the same time; PACK: how much room it leaves to large jobs; SOUND: how many GPUs are"
    " well."
)
_ON = {"Pending": "starts on", "Running": "runs on", "Succeeded": "ran on", "Failed": "ran on"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    node: str
    is_its_node: bool
    score: int | None
    """None of a node that was left out."""
    type_percent: float | None
    fit_percent: float | None
    free_percent: float | None
    apart_percent: float | None
    pack_percent: float | None
    sound_percent: float | None
    left_out: str | None
    """Why."""


def headline(pod: PodSeen, told: Considered) -> str:
    """The answer in a sentence or two."""
    if pod.node is None:
        return _waiting(pod, told)
    place = f"{pod.name} {_ON.get(pod.phase, 'is on')} {pod.node}"
    late = "" if told.node is not None else " That was considered while it still waited."
    return f"{place}{_compared(pod.node, told)}{late}"


def _waiting(pod: PodSeen, told: Considered) -> str:
    takes = told.nodes - told.left_out
    waits = f"{pod.name} {'got no node' if pod.phase in ('Succeeded', 'Failed') else 'waits'}"
    if not told.nodes:
        return f"{waits}: no node was considered."
    if not takes:
        return f"{waits}: none of {counted(told.nodes, 'node')} takes it."
    suit = "1 node suits" if takes == 1 else f"{takes:,} nodes suit"
    return (
        f"{waits}, though {suit} it by what Cepheid knows: what else keeps it waiting the scheduler"
        " knows."
    )


def _compared(node: str, told: Considered) -> str:
    """Beside the others."""
    takes = told.nodes - told.left_out
    nodes = counted(takes, "node")
    mine = next((one for one in told.best if one.node == node), None)
    if mine is None:
        return _unseen(node, told, nodes)
    if takes == 1:
        many = f"the only one of {told.nodes:,} nodes that suits it"
        return f", {many if told.nodes > 1 else 'the only node that had room for it'}."
    if ahead := [one for one in told.best if one.score > mine.score]:
        return _beaten(mine, max(ahead, key=lambda one: one.score), nodes)
    score = f"{mine.score} of {MOST_SCORE}"
    if same := [one.node for one in told.best if one.score == mine.score and one.node != node]:
        return (
            f", which shares the highest score of {nodes}, {score}, with {listed(same, most=2)}:"
            " the scheduler's own scores decided, or chance."
        )
    return f", which had the highest score of {nodes}: {score}."


def _unseen(node: str, told: Considered, nodes: str) -> str:
    if any(one.node == node for one in told.out):
        return ", though it was left out when nodes were last considered for it."
    if told.nodes - told.left_out > len(told.best):
        return f", which is not among the best {len(told.best)} of {nodes}."
    return f", which was not among the {counted(told.nodes, 'node')} that were considered."


def _beaten(mine: Scored, best: Scored, nodes: str) -> str:
    return (
        f", whose score is {mine.score} of {MOST_SCORE}, and not on {best.node}, which has the"
        f" highest of {nodes}: {best.score}. Cepheid's is one of several scores that the scheduler"
        " adds up."
    )


def facts(told: Considered) -> Iterator[tuple[str, str]]:
    """What was expected of the pod, by label."""
    expected = told.expected
    job = NOT_KNOWN if expected.job is None else clipped(plain(expected.job), JOB_COLUMNS)
    yield "job", f"{job}, {counted(expected.runs, 'earlier run')}" if expected.job else job
    yield "needs", _needs(expected)
    names = told_apart([*expected.speeds, *([expected.best_type] if expected.best_type else [])])
    best = names.get(expected.best_type or "")
    yield "best on", NOT_KNOWN if best is None else f"{_short(best)}, as a trial found"
    speeds = {kind: speed for kind, speed in expected.speeds.items() if 0 <= speed <= 1}
    order = sorted(speeds, key=lambda kind: (-speeds[kind], kind))
    shown = [f"{_short(names[kind])} {in_percent(100 * speeds[kind])}" for kind in order]
    yield "speed", f"{listed(shown, MOST_TYPES)} of the fastest" if shown else NOT_KNOWN
    if told.unknown and (words := one_line(told.unknown)):
        yield "but", words


def _needs(expected: Expected) -> str:
    each = "" if expected.gpus == 1 else " each"
    memory = expected.memory_gb
    return ", ".join(
        (
            counted(expected.gpus, "GPU"),
            f"memory{each} {NOT_KNOWN}" if memory is None else f"{figure(memory)} GB{each}",
            f"length {NOT_KNOWN}"
            if expected.seconds is None
            else f"for {lasting(expected.seconds)}",
        )
    )


def _short(model: str) -> str:
    return clipped(plain(model), NAME_COLUMNS)


def node_rows(pod: PodSeen, told: Considered) -> list[NodeRow]:
    """The best first, then those that were left out."""
    scored = sorted(told.best, key=lambda one: -one.score)
    rows = [_row(pod, one.node, one, None) for one in scored]
    return rows + [_row(pod, one.node, None, one.why) for one in told.out]


def _row(pod: PodSeen, node: str, scored: Scored | None, left_out: str | None) -> NodeRow:
    def percent(part: str) -> float | None:
        share = None if scored is None else scored.parts.get(part)
        return None if share is None or not 0 <= share <= 1 else 100 * share

    return NodeRow(
        node=node,
        is_its_node=node == pod.node,
        score=None if scored is None else scored.score,
        type_percent=percent("type"),
        fit_percent=percent("fit"),
        free_percent=percent("free"),
        apart_percent=percent("apart"),
        pack_percent=percent("pack"),
        sound_percent=percent("sound"),
        left_out=left_out,
    )


def not_shown(told: Considered) -> str | None:
    """Of many nodes the Event names a few."""
    left = told.nodes - told.left_out - len(told.best)
    return (
        None if left <= 0 else f"and {counted(left, 'more node')} that suit it, with lower scores"
    )


def left_out(told: Considered) -> Iterator[str]:
    """A sentence for each reason."""
    by_reason: dict[str, list[str]] = {}
    for one in told.out:
        by_reason.setdefault(one.why, []).append(one.node)
    for why, nodes in by_reason.items():
        yield f"{listed(nodes)}: {why}"
    more = told.left_out - len(told.out)
    if more:
        yield counted(more, "more node")


def provenance(pod: PodSeen, told: Told, now: datetime) -> str:
    when = "" if told.created is None else f" of {age(told.created, now)} ago"
    return (
        f"told by an Event{when}, in the extender's name; whoever may create Events in"
        f" {pod.namespace} could have written it"
    )


def hint(pod: PodSeen, told: Considered) -> str:
    if pod.node is None:
        return f"what the scheduler says of it and of all other nodes: {describe(pod)}"
    if not told.expected.runs and told.expected.best_type is None:
        return "when a run of its job is over, the next one is placed by what that one used"
    return f"only nodes with room by count were considered; what else was said: {describe(pod)}"
