"""Is Cepheid installed, does it run everywhere, and in which version?"""

import re
from collections.abc import Iterator, Sequence

from cepheid.doctor.facts import AgentPod, Cluster, Unseen, Workload
from cepheid.doctor.finding import (
    AGAIN,
    INSTALL,
    NAMESPACE,
    Finding,
    Rule,
    fail,
    not_seen,
    ok,
    warn,
)
from cepheid.reports.words import counted, listed

AREA = "installed"
POLICIES = frozenset(
    {
        "cepheid-agent-nodes",
        "cepheid-agent-pods",
        "cepheid-operator-jobs",
        "cepheid-operator-pods",
        "cepheid-operator-trials",
        "cepheid-operator-trials-end",
        "cepheid-operator-trials-owner",
    }
)
"""Of manifests/policy, which a test compares."""
_VERSION = re.compile(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+.][\w.+-]*)?", re.ASCII)


def findings(cluster: Cluster, own_version: str) -> Iterator[Finding]:
    yield from _workload(cluster.agent, "agent", "daemonset", own_version)
    if isinstance(cluster.agent, Workload):
        yield from _agents(cluster.agent, cluster.agent_pods)
    yield from _workload(cluster.operator, "operator", "deployment", own_version)
    if isinstance(cluster.operator, Workload):
        yield from _operator(cluster.operator)
    yield from _policies(cluster)


def version_of(image: str) -> tuple[int, ...] | None:
    """By its tag; None where that names none, as of a digest."""
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    found = _VERSION.fullmatch(tag)
    return None if found is None else tuple(map(int, found.groups()))


def shown_version(image: str) -> str:
    found = version_of(image)
    return "of a version that its image does not name" if found is None else _dotted(found)


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


def _workload(
    seen: Workload | Unseen | None, what: str, kind: str, own_version: str
) -> Iterator[Finding]:
    if isinstance(seen, Unseen):
        yield not_seen(AREA, f"the {what}", seen)
        return
    if seen is None:
        yield fail(
            AREA,
            Rule.NOT_INSTALLED,
            f"the {what} is not installed: there is no {kind} cepheid-{what} in {NAMESPACE}",
            "install it",
            INSTALL,
        )
        return
    installed, own = version_of(seen.image), version_of(f"cepheid:{own_version}")
    if installed is None:
        yield warn(
            AREA,
            Rule.NO_VERSION,
            f"the image of the {what} names no version: {seen.image or 'none'}",
            f"use an image whose tag is its version, such as {own_version}",
            _set_image(seen, kind, own_version),
        )
    elif own is not None and installed < own:
        yield warn(
            AREA,
            Rule.OLDER,
            f"the {what} is {_dotted(installed)}, this command {own_version}",
            "upgrade it: the manifest first, since what it needs may have changed",
            f"{INSTALL} && {_set_image(seen, kind, own_version)}",
        )
    elif own is not None and installed > own:
        yield warn(
            AREA,
            Rule.NEWER,
            f"the {what} is {_dotted(installed)}, this command {own_version}",
            "upgrade this command: it may not understand what that one writes",
            f"pip install 'cepheid[laptop]=={_dotted(installed)}'",
        )


def _set_image(seen: Workload, kind: str, version: str) -> str:
    base = seen.image.partition("@")[0]
    folder, slash, last = base.rpartition("/")
    image = f"{folder}{slash}{last.partition(':')[0]}:{version}"
    return (
        f"kubectl -n {seen.namespace} set image {kind}/{seen.name} {seen.container or '*'}={image}"
    )


def _agents(agent: Workload, pods: tuple[AgentPod, ...] | Unseen) -> Iterator[Finding]:
    version, wanted = shown_version(agent.image), counted(agent.wanted, "node")
    if agent.wanted == 0:
        yield fail(
            AREA,
            Rule.AGENTS_NOWHERE,
            f"agent {version} is wanted on no node",
            "it runs on Linux nodes without a taint, or with one of nvidia.com/gpu or amd.com/gpu:"
            " look at the nodes' labels and taints",
            "kubectl get nodes --show-labels",
        )
        return
    if agent.ready >= agent.wanted:
        yield ok(AREA, f"agent {version} on {agent.ready} of {wanted}")
        return
    words = f"agent {version} on {agent.ready} of {wanted}"
    remedy = "look at why its pods are not ready"
    command = (
        f"kubectl -n {agent.namespace} get pods -l app.kubernetes.io/name={agent.name} -o wide"
    )
    lame = [] if isinstance(pods, Unseen) else [pod for pod in pods if not pod.is_ready]
    if lame:
        words += f": {listed([_lame(pod) for pod in lame])}"
        ended = "BackOff" in lame[0].trouble and "Image" not in lame[0].trouble
        verb = "logs --previous" if ended else "describe pod"
        command = f"kubectl -n {agent.namespace} {verb} {lame[0].name}"
        if "Image" in lame[0].trouble:
            remedy = f"the node has no image {agent.image} and cannot pull it: see images/README.md"
    yield fail(AREA, Rule.AGENTS_NOT_READY, words, remedy, command)


def _lame(pod: AgentPod) -> str:
    return f"{pod.node or pod.name} ({pod.trouble or 'not ready'})"


def _operator(operator: Workload) -> Iterator[Finding]:
    version = shown_version(operator.image)
    words = f"operator {version}: {operator.ready} of {counted(operator.wanted, 'instance')} ready"
    if operator.ready >= operator.wanted > 0:
        yield ok(AREA, words)
    elif operator.wanted == 0:
        yield fail(
            AREA,
            Rule.OPERATOR_AT_ZERO,
            f"operator {version} is scaled to 0: no job gets a profile",
            "let it run: of two one acts, and the other waits",
            f"kubectl -n {operator.namespace} scale deployment/{operator.name} --replicas=2",
        )
    else:
        some = operator.ready > 0
        make, rule = (warn, Rule.OPERATOR_ALONE) if some else (fail, Rule.OPERATOR_NOT_READY)
        yield make(
            AREA,
            rule,
            words,
            "look at why its pods are not ready",
            f"kubectl -n {operator.namespace} describe pods"
            f" -l app.kubernetes.io/name={operator.name}",
        )


def _policies(cluster: Cluster) -> Iterator[Finding]:
    seen = cluster.policies
    if isinstance(seen, Unseen):
        yield not_seen(AREA, "the admission policies", seen)
        return
    missing = sorted(POLICIES - seen)
    if missing:
        yield fail(
            AREA,
            Rule.NO_POLICY,
            f"admission policies are missing or not bound: {listed(missing, 4)}."
            " A stolen token of an agent could do more than annotate its own node",
            AGAIN,
            INSTALL,
        )
    else:
        yield ok(AREA, f"{len(POLICIES)} admission policies are bound")
