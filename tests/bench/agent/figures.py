"""What was measured as text: tables, and the arithmetic of a thousand nodes. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from tests.bench.agent.cluster import NODES, QueryCost, WriteCost
from tests.bench.agent.hour import PASS_SECONDS, CycleTold, Hour, Spent
from tests.bench.agent.live import Cost, Delay, Live, Told

MIB = 2.0**20
HOUR = 3600.0


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])


def cpu_percent(cpu_seconds: float, passes: float) -> float:
    """Of one core, at a pass every 30 s."""
    return 100 * cpu_seconds / passes / PASS_SECONDS


def against_targets(live: Live | None, hours: Mapping[str, Hour]) -> str:
    rows: list[tuple[str, str, str]] = []
    if live is not None:
        cost = live.costs[0]
        rows += [
            (
                f"steady RSS, {cost.gpus} GPUs and {cost.pods} pods",
                "<= 64 MiB",
                f"{cost.last.rss_bytes / MIB:.1f} MiB",
            ),
            ("CPU of one core at a 30 s pass", "<= 0.3 %", _percent(cost)),
            (
                "bytes read of those of the whole window",
                "<= 1/10",
                f"1/{cost.window_bytes / (cost.bytes_read / cost.passes):.0f}",
            ),
        ]
    if (steady := hours.get("steady")) is not None:
        rows += [
            ("writes an hour when nothing changes: node", "<= 6", f"{steady.count('Node')}"),
            ("the same: all its pods", "0", f"{steady.count('Pod')}"),
        ]
    if (changing := hours.get("changing")) is not None:
        nearest = changing.nearest_seconds()
        rows += [
            ("writes an hour while loads change: node", "<= 20", f"{changing.count('Node')}"),
            (
                "the same: shortest distance of those that may wait",
                ">= 60 s",
                "-" if nearest is None else f"{nearest:.0f} s",
            ),
        ]
    if live is not None:
        rows.append(("a job's start to its pod's first annotation", "<= 2 passes", _pods(live)))
        rows += [
            (
                f"a cycle of {delay.period_seconds:.0f} s on the node",
                f"<= {delay.cycle_target_seconds:.0f} s",
                "not seen" if delay.cycle is None else f"{delay.cycle.seconds:.0f} s",
            )
            for delay in live.delays
        ]
    if (new := hours.get("starts")) is not None and new.cycles:
        rows.append(_cycles(new.cycles))
    return table(("", "target", "reached"), rows)


def _cycles(cycles: Sequence[CycleTold]) -> tuple[str, str, str]:
    known = [told for told in cycles if told.seconds is not None]
    late = [told.seconds - told.target_seconds for told in known if told.seconds is not None]
    worst = f"; the latest {max(late):+.0f} s from its target" if late else ""
    return (
        f"the cycle of a new job on the node, {len(cycles)} jobs",
        "all within 4 periods + 2 passes",
        f"{sum(seconds <= 0 for seconds in late)}, {len(known)} at all{worst}",
    )


def by_period(cycles: Sequence[CycleTold]) -> str:
    rows = []
    for period in sorted({told.job.period_seconds for told in cycles}):
        of_it = [told for told in cycles if told.job.period_seconds == period]
        known = sorted(told.seconds for told in of_it if told.seconds is not None)
        middle = f"{known[len(known) // 2]:.0f} s" if known else "-"
        latest = f"{known[-1]:.0f} s" if len(known) == len(of_it) else "not seen"
        target = f"{of_it[0].target_seconds:.0f} s"
        rows.append((f"{period:.0f} s", f"{len(of_it)}", target, middle, latest))
    return table(("new jobs of period", "jobs", "target", "median", "latest"), rows)


def _percent(cost: Cost) -> str:
    return f"{cpu_percent(cost.cpu_seconds, cost.passes):.2f} %"


def _passes(count: int) -> str:
    return f"{count} pass{'es' * (count != 1)}"


def _pods(live: Live) -> str:
    found = [delay.pod for delay in live.delays]
    known = [told.passes for told in found if told is not None]
    return _passes(max(known)) if len(known) == len(found) and known else "not seen"


def by_size(costs: Sequence[Cost]) -> str:
    rows = [
        (
            f"{cost.gpus} GPUs, {cost.pods} pods",
            f"{cost.series:,}",
            f"{cost.first.rss_bytes / MIB:.1f}",
            f"{cost.last.rss_bytes / MIB:.1f}",
            f"{cost.last.peak_rss_bytes / MIB:.1f}",
            f"{1e3 * cost.cpu_seconds / cost.passes:.0f}",
            _percent(cost),
            f"{1e3 * cost.wall_seconds / cost.passes:.0f}",
            f"{cost.bytes_read / cost.passes / 1e3:.0f}",
            f"{cost.window_bytes / 1e3:,.0f}",
        )
        for cost in costs
    ]
    head = (
        *("a real agent on a node with", "series", "RSS after the first pass, MiB", "steady"),
        *("peak", "CPU ms a pass", "of a core", "wall ms a pass", "kB read a pass", "kB a window"),
    )
    return table(head, rows)


def by_scene(hours: Mapping[str, Hour]) -> str:
    rows = [
        (
            f"{scene}, {hour.passes}",
            f"{hour.count('Node')}",
            _causes(hour, "Node"),
            f"{hour.count('Pod')}",
            _causes(hour, "Pod"),
            f"{hour.applied['Node']:.0f} + {hour.applied['Pod']:.0f}",
            _split(hour.spent, hour.passes),
            _split(hour.first, 1),
        )
        for scene, hour in hours.items()
    ]
    head = (
        *("passes, 120 an hour", "writes: node", "why", "its pods", "why"),
        *("the API server counted", "CPU ms a pass: read + API + rest", "of the first pass"),
    )
    return table(head, rows)


def _causes(hour: Hour, kind: str) -> str:
    return ", ".join(f"{count} {why}" for why, count in hour.causes(kind).items()) or "-"


def _split(spent: Spent, passes: int) -> str:
    parts = (spent.read, spent.api, spent.all - spent.read - spent.api)
    read, api, rest = (1e3 * part / passes for part in parts)
    return f"{read:.0f} + {api:.0f} + {rest:.0f} = {read + api + rest:.0f}"


def by_job(delays: Sequence[Delay]) -> str:
    def said(told: Told | None) -> str:
        return "not seen" if told is None else f"{_passes(told.passes)}, {told.seconds:.0f} s"

    rows = [
        (
            f"{delay.period_seconds:.0f} s",
            *(said(told) for told in (delay.pod, delay.pod_gpu, delay.job_type)),
            *(said(told) for told in (delay.pod_cycle, delay.cycle)),
        )
        for delay in delays
    ]
    head = (
        *("a new job of period", "its pod's first annotation", "with its GPU", "training"),
        *("its pod's cycle", "the node's"),
    )
    return table(head, rows)


def scaled(hours: Mapping[str, Hour], write: WriteCost, queries: Sequence[QueryCost]) -> str:
    """What the API server and Prometheus would carry, with the sums that lead there."""
    api_ms, etcd_ms = 1e3 * write.api_cpu_seconds, 1e3 * write.etcd_cpu_seconds
    one = (
        f"One write of a Node: {write.object_bytes:,} bytes of JSON, of which "
        f"{write.annotation_bytes:,} are annotations; API server "
        f"{api_ms:.1f} ms of CPU, etcd {etcd_ms:.1f} ms; "
        f"the store grows by {write.etcd_bytes:,.0f} bytes until it is compacted, the log by "
        f"{write.log_bytes:,.0f}. Writes of Pods are counted as dear, though a Pod is smaller."
    )
    rows = []
    for scene, hour in hours.items():
        of_nodes, of_pods = hour.count("Node"), hour.count("Pod")
        seconds = hour.passes * PASS_SECONDS
        a_second = NODES * (of_nodes + of_pods) / seconds
        rows.append(
            (
                scene,
                f"{NODES:,} x ({of_nodes} + {of_pods}) / {seconds:.0f} = {a_second:.1f}",
                f"x {api_ms:.1f} ms = {a_second * api_ms / 1e3:.2f}",
                f"x {etcd_ms:.1f} ms = {a_second * etcd_ms / 1e3:.2f}",
                f"{a_second * HOUR * write.log_bytes / 1e6:,.0f}",
                f"{NODES * of_nodes * write.object_bytes * HOUR / seconds / 1e6:,.0f}",
            )
        )
    head = (
        *("all nodes", "writes a second (nodes + pods)", "API server, cores", "etcd, cores"),
        *("MB an hour to etcd's log", "MB an hour to each watcher of Nodes"),
    )
    return "\n".join([one, "", table(head, rows), *_asked(hours, queries)])


def _asked(hours: Mapping[str, Hour], queries: Sequence[QueryCost]) -> list[str]:
    lines = []
    a_second = NODES / PASS_SECONDS
    for scene, hour in list(hours.items())[:1]:
        each, size = hour.queries / hour.passes, hour.wire_bytes / hour.passes
        cpu = hour.prometheus_cpu_seconds / hour.passes
        lines.append(
            f"Prometheus, {scene}: {NODES:,} / 30 = {a_second:.1f} passes a second "
            f"x {each:.1f} queries = {a_second * each:.0f} queries a second; "
            f"x {size / 1e3:.0f} kB = {a_second * size / 1e6:.1f} MB a second; "
            f"x {1e3 * cpu:.0f} ms = {a_second * cpu:.2f} cores, if it held one node only."
        )
    if len(queries) > 1:
        few, many = queries[0], queries[-1]
        slope = (many.prometheus_cpu_seconds - few.prometheus_cpu_seconds) / (
            many.nodes - few.nodes
        )
        cpu = few.prometheus_cpu_seconds + max(0.0, slope) * (NODES - few.nodes)
        measured = "; ".join(
            f"{1e3 * cost.prometheus_cpu_seconds:.1f} ms with {cost.nodes} "
            f"node{'s' * (cost.nodes > 1)} ({cost.series:,} series)"
            for cost in queries
        )
        lines.append(
            f"The same pass where it holds more: {measured}. In a straight line to {NODES:,} "
            f"nodes: {1e3 * cpu:.1f} ms, x {a_second:.1f} = {a_second * cpu:.2f} cores."
        )
    return lines
