"""What was measured as text. Pure."""

import statistics

from tests.bench.agent.figures import MIB, table
from tests.bench.extender.measure import (
    CONSTANT,
    FILTER,
    MILLI,
    OFTEN_SECONDS,
    ORDINARY,
    PRIORITIZE,
    RELISTED,
    Load,
    Measured,
    share,
)
from tests.bench.extender.scheduling import GPU, NAMES, PLAIN, WITH, WITHOUT, Scheduled

ROWS = {
    PRIORITIZE: "`prioritize`",
    FILTER: "`filter`",
    RELISTED: f"`prioritize`, everything listed anew every {OFTEN_SECONDS:.0f} s",
    CONSTANT: "for comparison, a server that answers a constant",
    ORDINARY: "`prioritize`, without precedence over what else runs on the machine",
}


def against_targets(found: Measured) -> str:
    what = f"`prioritize`, {found.nodes:,} nodes x 8 GPUs, 50 a second on one core: p99"
    alone = "with precedence there" if found.alone else "no right to precedence there"
    rows = [
        (f"{what}, shared with others", "<= 20 ms", _late(found.loads[ORDINARY])),
        (f"the same, {alone}", "<= 20 ms", _late(found.loads[PRIORITIZE])),
    ]
    if found.last is not None:
        rows.append(("memory at the most", "<= 200 MiB", _mib(found.last.peak_rss_bytes)))
    if found.scheduled is not None:
        placed = found.scheduled
        rows += [
            (
                "added to scheduling a pod with GPUs, median",
                "<= 10 ms",
                _ms(placed.median(WITH, GPU) - placed.median(WITHOUT, GPU)),
            ),
            (
                "the same by the scheduler's own figures, mean",
                "<= 10 ms",
                _ms(placed.choices[WITH, GPU] - placed.choices[WITHOUT, GPU]),
            ),
            (
                "added to scheduling another pod, median",
                "nothing",
                _ms(placed.median(WITH, PLAIN) - placed.median(WITHOUT, PLAIN)),
            ),
            (
                "the same by the scheduler's own figures, mean",
                "-",
                _ms(placed.choices[WITH, PLAIN] - placed.choices[WITHOUT, PLAIN]),
            ),
            (
                "questions about pods without GPUs",
                "0",
                str(placed.asked[WITH, PLAIN]),
            ),
        ]
    return table(("", "target", "reached"), rows)


def of_loads(found: Measured) -> str:
    head = ("50 questions a second", "p50", "p99", "most", "failed", "CPU each", "core", "load")
    rows = [(words, *_of_load(found.loads[name])) for name, words in ROWS.items()]
    return table(head, rows)


def _of_load(load: Load) -> tuple[str, ...]:
    times = load.answered.latencies
    return (
        _ms(share(times, 0.5)),
        _ms(share(times, 0.99)),
        _ms(max(times)),
        str(len(load.answered.failures)),
        _ms(load.cpu_seconds / len(times)),
        f"{load.cpu_seconds / load.seconds:.0%}",
        f"{load.load_average:.1f}, {load.idle:.0%} idle",
    )


def of_process(found: Measured) -> str:
    rows = [
        ("bytes of a question", f"{found.question_bytes:,}"),
        ("the pod's part of it", f"{found.pod_bytes:,}"),
        ("bytes of an answer to `prioritize`", f"{found.answer_bytes:,}"),
        (
            "nodes written by agents and kubelets meanwhile",
            f"{found.written_per_second:.1f} a second",
        ),
        ("from its start until it answers from what it knows", f"{found.start_seconds:.1f} s"),
    ]
    for when, usage in (("then", found.start), ("after everything", found.last)):
        if usage is not None:
            rows += [
                (f"RSS {when}", _mib(usage.rss_bytes)),
                (f"CPU {when}", f"{usage.cpu_seconds:.1f} s"),
            ]
    return table(("the process", ""), rows)


def of_scheduling(placed: Scheduled) -> str:
    head = (
        "kube-scheduler",
        "median until it has a node",
        "p99",
        "mean choice, by its own figures",
        "pods a second",
        "questions",
    )
    rows = [
        (
            f"{'GPU' if what == GPU else 'plain'} pods, {how} the extender",
            _ms(placed.median(how, what)),
            _ms(share(placed.seconds[how, what], 0.99)),
            _ms(placed.choices[how, what]),
            f"{statistics.median(placed.rates[how, what]):.0f}",
            f"{placed.asked[how, what]}",
        )
        for how, what in NAMES
    ]
    return table(head, rows) + f"\nQuestions that it gave up on: {placed.skipped}.\n"


def _late(load: Load) -> str:
    return _ms(share(load.answered.latencies, 0.99))


def _ms(seconds: float) -> str:
    return f"{MILLI * seconds:.1f} ms"


def _mib(count: float) -> str:
    return f"{count / MIB:.0f} MiB"
