"""What do Prometheus and the log say of a trial that runs?

Whatever throughput is measured by, memory and power are read too. What cannot be measured is left
out of the reading, and said in words: another placement may show it.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from lightkube import Client
from lightkube.resources.core_v1 import PodLog

from cepheid.annotations.api import ApiServer
from cepheid.errors import CepheidError, ForbiddenError, QueryRejectedError, SourceError
from cepheid.jobs.fields import one_line
from cepheid.jobs.pods import PodState
from cepheid.jobs.pulse import Pace, pace_of
from cepheid.placementtrial import Measure, Reading, Ruler, TrialError
from cepheid.sources.jobs import JobReader, Span
from cepheid.sources.prometheus import PrometheusClient
from cepheid_operator.gridded import JobGrid
from cepheid_operator.trials.measuring.loglines import Rate, rate_from
from cepheid_operator.trials.measuring.queries import Query, guarded

MOST_POINTS = 12
POINTS_SECONDS = 15.0
"""From one value of a user's PromQL to the next, at least."""
MOST_LOG_BYTES = 1 << 20
_USUAL_SPREAD, _USUAL_WEIGHT = 0.02, 2.0
"""Of such values, and as how many observed ones that counts."""
_SPEAKERS = ("launcher", "master", "chief")


class Read(NamedTuple):
    reading: Reading | None
    """None where nothing at all was measured."""
    why: str | None = None
    """Why its throughput is not known, in words; None where it is."""


def read(
    reader: JobReader,
    namespace: str,
    pods: Sequence[PodState],
    measure: Measure,
    *,
    began_seconds: float,
    warmup_seconds: float,
    now_seconds: float,
    lines: Callable[[], Sequence[str]] = tuple,
) -> Read:
    """`lines` gives those of the log, each with the kubelet's timestamp before it.

    Raises SourceError where Prometheus is away: to be asked again. What is wrong for good, a
    PromQL that is not allowed or a log that may not be read, is in `why`.
    """
    since = began_seconds + warmup_seconds
    if now_seconds <= since:
        return Read(None, "its warm-up is not over")
    pace = _pace(reader, namespace, pods, Span(began_seconds, now_seconds), since)
    rate, why = None, None
    try:
        if measure.by is Ruler.PROMQL:
            rate = _asked(reader.client, measure, namespace, pods, since, now_seconds)
        elif measure.by is Ruler.LOG:
            rate = rate_from(lines(), measure.pattern, from_seconds=since)
            why = None if rate else "its log has too few lines that tell a rate"
        else:
            why = _unseen(pace, measure.by)
    except (TrialError, QueryRejectedError) as problem:
        why = one_line(str(problem))
    if pace is None and rate is None:
        return Read(None, why)
    return Read(_reading(pace, rate, now_seconds - since), why)


def read_log(
    server: ApiServer,
    namespace: str,
    pods: Sequence[PodState],
    *,
    since_seconds: float,
    limit_bytes: int = MOST_LOG_BYTES,
) -> list[str]:
    """Lines with timestamps of the pod that speaks for the job: launcher, master or first worker.

    Raises TrialError where the right is missing, ApiError where the API server is away.
    """
    pod = _speaker(pods)
    if pod is None:
        return []
    doing = f"reading the log of pod {namespace}/{pod.name}"
    container = pod.containers[0].name if pod.containers else None
    try:
        text = server.ask(
            doing,
            lambda client: _log(
                client,
                pod.name,
                namespace,
                {
                    "container": container,
                    "timestamps": "true",
                    "sinceSeconds": max(1, math.ceil(since_seconds)),
                    "limitBytes": limit_bytes,
                },
            ),
        )
    except ForbiddenError as problem:
        raise TrialError(
            f"{doing}: the operator has no right to",
            hint="kubectl apply -f manifests/trial-logs.yaml, or measure by something else",
        ) from problem
    return text.split("\n")


def _log(client: Client, name: str, namespace: str, params: dict[str, Any]) -> str:
    """By hand: lightkube's own `log` has no limit of bytes, and a log may be one endless line."""
    wire: Any = client._client  # noqa: SLF001
    asked = wire.prepare_request("get", PodLog, name=name, namespace=namespace, params=params)
    answer = wire.send(wire.build_adapter_request(asked))
    wire.raise_for_status(answer)
    body: bytes = answer.content
    return body[: params["limitBytes"]].decode("utf-8", "replace")


def _speaker(pods: Sequence[PodState]) -> PodState | None:
    """Of the workers the first, by number: -2 comes before -10."""

    def rank(pod: PodState) -> tuple[bool, list[int], str]:
        numbers = [int(digits[:9]) for digits in re.findall(r"[0-9]+", pod.name)]
        return (pod.role or "").lower() not in _SPEAKERS, numbers[-1:], pod.name

    return min(pods, key=rank, default=None)


def _pace(
    reader: JobReader, namespace: str, pods: Sequence[PodState], span: Span, since: float
) -> Pace | None:
    by_name = {pod.name: pod for pod in pods}
    with_gpus = [pod.name for pod in pods if pod.gpu_count > 0]
    grid = JobGrid(span)
    try:
        for history in reader.read(namespace, with_gpus, span):
            grid.add(history, by_name[history.pod])
        series = grid.series()
        if series is None:
            return None
        return pace_of(series, from_seconds=since, workers=with_gpus)
    except SourceError:
        raise
    except (CepheidError, ValueError):
        return None  # series that no exporter writes


def _unseen(pace: Pace | None, by: Ruler) -> str | None:
    if pace is None:
        return "Prometheus has no GPU metrics of its pods since the warm-up"
    period = "its load shows no period that the scrapes can tell"
    work = "its tensor pipes were not measured, rest, or are of a GPU whose peak is not known"
    if by is Ruler.PULSE:
        return period if pace.period_seconds is None else None
    if by is Ruler.WORK:
        return work if pace.teraflops is None else None
    neither = pace.period_seconds is None and pace.teraflops is None
    return f"{period}, and {work}" if neither else None


def _asked(
    client: PrometheusClient,
    measure: Measure,
    namespace: str,
    pods: Sequence[PodState],
    since: float,
    now: float,
) -> Rate:
    """At several moments, so far apart that no two of them look at the same samples."""
    if measure.promql is None:
        raise TrialError(
            "spec.measure.by is promql, and there is no spec.measure.promql",
            hint="give the expression whose value is the work done a second",
        )
    query = guarded(measure.promql, namespace, [pod.name for pod in pods])
    return _mean(_values(client, query, since, now))


def _values(client: PrometheusClient, query: Query, since: float, now: float) -> list[float]:
    step = max(POINTS_SECONDS, query.reach_seconds)
    count = int((now - since - query.reach_seconds) / step) + 1
    if now - since < query.reach_seconds:
        raise TrialError(
            f"spec.measure.promql looks back for {query.reach_seconds:g} s, of the trial"
            f" {now - since:.0f} s were measured",
            hint="shorten its ranges, or raise spec.limits.trialSeconds",
        )
    count = min(count, MOST_POINTS)
    answer = client.range(query.expression, now - (count - 1) * step, now, step)
    found = [list(one.values) for one in answer.series]
    if len(found) != 1:
        raise TrialError(
            f"spec.measure.promql gives {len(found)} series, 1 is needed",
            hint="is the metric scraped? Add up several with sum()",
        )
    values = [float(value) for value in found[0]]
    wrong = [value for value in values if not 0 < value < math.inf]
    if wrong or not answer.complete:
        said = f"the value {wrong[0]:g}" if wrong else "a part of the answer only"
        raise TrialError(
            f"spec.measure.promql gives {said}, a number above 0 is needed",
            hint="its value is the work done a second, once the warm-up is over",
        )
    return values


def _mean(values: Sequence[float]) -> Rate:
    mean = float(np.mean(values))
    off = np.asarray(values) / mean - 1
    usual = _USUAL_WEIGHT * _USUAL_SPREAD**2
    variance = (float(off @ off) + usual) / (off.size - 1 + _USUAL_WEIGHT)
    return Rate(mean, math.sqrt(variance / off.size), "units")


def _reading(pace: Pace | None, rate: Rate | None, seconds: float) -> Reading:
    measured: dict[str, Any] = {"seconds": seconds}
    if pace is not None:
        measured = {
            "seconds": pace.seconds,
            "period_seconds": pace.period_seconds,
            "period_error_percent": _percent(pace.period_error_ratio),
            "cycles": pace.cycles_seen,
            "teraflops": pace.teraflops,
            "teraflops_error_percent": _percent(pace.teraflops_error_ratio),
            "gpu_memory_mib": pace.gpu_memory_mib,
            "watts": pace.watts,
        }
    if rate is not None:
        measured |= {
            "rate_per_second": rate.per_second,
            "rate_error_percent": _percent(rate.error_ratio),
            "rate_unit": rate.unit,
        }
    return Reading(**measured)


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * ratio
