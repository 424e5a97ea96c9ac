"""All rules, in the order in which things depend on each other."""

from collections.abc import Iterable, Iterator

from cepheid.doctor import clocks, definitions, freshness, installed, measuring, rights
from cepheid.doctor.facts import Facts, Unseen
from cepheid.doctor.finding import Finding, Level, Rule, fail

_WORSE = {Level.OK: 0, Level.WARN: 1, Level.FAIL: 2}


def examine(facts: Facts) -> list[Finding]:
    return list(_examine(facts))


def _examine(facts: Facts) -> Iterator[Finding]:
    cluster = facts.cluster
    if isinstance(cluster, Unseen):
        yield fail(
            "api-server",
            Rule.API_SERVER_AWAY,
            f"the API server cannot be asked: {cluster.why}",
            cluster.hint or "does kubectl reach it, with the same kubeconfig and context?",
            "kubectl version",
        )
    else:
        yield from rights.findings(cluster)
        yield from installed.findings(cluster, facts.own_version)
        yield from definitions.findings(cluster)
        yield from freshness.findings(cluster, facts.now)
    yield from measuring.findings(facts)
    yield from clocks.findings(facts)


def worst(found: Iterable[Finding]) -> Level:
    return max((one.level for one in found), key=_WORSE.__getitem__, default=Level.OK)
