"""Asks an API server and a Prometheus for all that the rules want to know.

Each look stands for itself: what may not be looked at, or does not answer, is `Unseen`.
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from cepheid import __version__
from cepheid.annotations.api import ApiServer
from cepheid.doctor import looks
from cepheid.doctor.asking import ProxyForbiddenError, questions, service_of
from cepheid.doctor.definitions import NAMES
from cepheid.doctor.facts import Cluster, Facts, Metrics, Right, Seen, Source, Unseen, Workload
from cepheid.doctor.measurements import measurements
from cepheid.doctor.rights import AGENT, NEEDED, OPERATOR, PROXY, YOU
from cepheid.errors import CepheidError
from cepheid.settings import PrometheusSettings, options

URL = next(one for one in options(PrometheusSettings) if one.name == "prometheus_url")


def gather(
    server: ApiServer,
    *,
    prometheus_url: str | None = None,
    wanted_period_seconds: float,
    environment: Mapping[str, str],
    clock: Callable[[], float] = time.time,
) -> Facts:
    """`environment` has the credentials for Prometheus, as an agent's would."""
    reached = looks.seen(lambda: looks.server_version(server, clock))
    agent = looks.unless(reached, lambda: looks.workload(server, AGENT, looks.DAEMON_SET))
    operator = looks.unless(reached, lambda: looks.workload(server, OPERATOR, looks.DEPLOYMENT))
    source = _source(prometheus_url, environment, agent, operator)
    cluster: Seen[Cluster] = (
        reached
        if isinstance(reached, Unseen)
        else Cluster(
            version=reached[0],
            ahead_seconds=reached[1],
            user=looks.seen(lambda: looks.user(server)),
            agent=agent,
            operator=operator,
            agent_pods=looks.seen(lambda: looks.agent_pods(server)),
            nodes=looks.seen(lambda: looks.nodes(server)),
            definitions={
                name: looks.seen(lambda name=name: looks.definition(server, name))  # type: ignore[misc]
                for name in NAMES
            },
            policies=looks.seen(lambda: looks.policies(server)),
            missing=_missing(server, source),
            exporters=looks.seen(lambda: looks.exporters(server)),
            gpu_pod=looks.seen(lambda: looks.gpu_pod(server)),
        )
    )
    return Facts(
        now=datetime.fromtimestamp(clock(), UTC),
        own_version=__version__,
        wanted_period_seconds=wanted_period_seconds,
        cluster=cluster,
        source=source,
        metrics=_metrics(server, source, environment, clock),
    )


def _source(
    given: str | None,
    environment: Mapping[str, str],
    agent: Seen[Workload | None],
    operator: Seen[Workload | None],
) -> Source:
    told = [("--prometheus", given), (URL.variable, environment.get(URL.variable))]
    for name, found in (("the agent", agent), ("the operator", operator)):
        if isinstance(found, Workload):
            told.append((name, found.settings.get(URL.variable, str(URL.default))))
    told.append(("the default", str(URL.default)))
    by, url = next((by, url) for by, url in told if url)
    through = service_of(url or "")
    return Source(url=url or "", told_by=by, through=through[0] if through else "")


def _missing(server: ApiServer, source: Source) -> dict[str, Seen[tuple[Right, ...]]]:
    yours = list(NEEDED[YOU])
    if source.through:
        namespace = source.through.partition("/")[0]
        yours.append(Right(PROXY.verb, PROXY.group, PROXY.resource, namespace))
    return {
        YOU: looks.seen(lambda: looks.missing(server, yours)),
        AGENT: looks.seen(lambda: looks.missing(server, NEEDED[AGENT], AGENT)),
        OPERATOR: looks.seen(lambda: looks.missing(server, NEEDED[OPERATOR], OPERATOR)),
    }


def _metrics(
    server: ApiServer,
    source: Source,
    environment: Mapping[str, str],
    clock: Callable[[], float],
) -> Seen[Metrics]:
    try:
        with questions(server, source.url, environment) as ask:
            return measurements(ask, clock)
    except ProxyForbiddenError as problem:
        return Unseen(problem.message, is_forbidden=True)
    except CepheidError as problem:
        return looks.unseen(problem)
