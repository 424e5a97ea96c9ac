"""Who may not do what he must: you, the agents, the operator.

The tables are those of manifests/rbac, which a test compares: what counts is whether the API server
says yes, not which role says so.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from shlex import quote

from cepheid.doctor.facts import Cluster, Right, Unseen
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
from cepheid.reports.plain import plain
from cepheid.reports.words import listed

YOU, AGENT, OPERATOR = "you", "cepheid-agent", "cepheid-operator"
ACCOUNT = "system:serviceaccount:"
PROXY = Right("get", "", "services/proxy")
REVIEW = Right("create", "authorization.k8s.io", "subjectaccessreviews")
ROLE = "cepheid-doctor"
_OURS = "ai.centaurus.io"
_KUBEFLOW, _RAY = "kubeflow.org", "ray.io"

_Row = tuple[str, str, str]


def _rights(*rows: _Row, namespace: str = "", name: str = "") -> tuple[Right, ...]:
    return tuple(
        Right(verb, group, resource, namespace, name)
        for verbs, group, resources in rows
        for resource in resources.split()
        for verb in verbs.split()
    )


JOBS = _rights(
    ("get list watch patch create delete", "batch", "jobs"),
    ("get list watch patch", "batch.volcano.sh", "jobs"),
    ("get list watch patch create delete", _KUBEFLOW, "mpijobs pytorchjobs"),
    ("get list watch patch", "trainer.kubeflow.org", "trainjobs"),
    ("get list watch patch", "jobset.x-k8s.io", "jobsets"),
    ("get list watch patch", _RAY, "rayjobs"),
    ("list watch", _RAY, "rayclusters"),
)
"""A kind of which one is taken out of its role is one that the operator leaves alone."""

NEEDED: dict[str, tuple[Right, ...]] = {
    YOU: _rights(
        ("list", "", "nodes pods"),
        ("list", _OURS, "jobprofiles"),
        ("list", "apps", "daemonsets"),
        ("get", "apiextensions.k8s.io", "customresourcedefinitions"),
        (
            "list",
            "admissionregistration.k8s.io",
            "validatingadmissionpolicies validatingadmissionpolicybindings",
        ),
    )
    + _rights(("get", "apps", "daemonsets deployments"), namespace=NAMESPACE)
    + (REVIEW,),
    AGENT: _rights(("get patch", "", "nodes pods")),
    OPERATOR: JOBS
    + _rights(
        ("list watch create", "", "pods"),
        ("list", "", "namespaces nodes resourcequotas"),
        ("create", "", "events"),
        ("get list create patch delete", _OURS, "jobprofiles"),
        ("list watch", _OURS, "placementtrials"),
        ("patch", _OURS, "placementtrials/status"),
        ("update", _OURS, "placementtrials/finalizers"),
    )
    + _rights(("create", "coordination.k8s.io", "leases"), namespace=NAMESPACE)
    + _rights(
        ("get update", "coordination.k8s.io", "leases"),
        namespace=NAMESPACE,
        name="cepheid-operator",
    ),
}
AREA = "rights"


def findings(cluster: Cluster) -> Iterator[Finding]:
    yield _yours(cluster)
    for account in (AGENT, OPERATOR):
        yield from _of_account(cluster, account)


def grants(user: str, rights: Sequence[Right]) -> str:
    """What an administrator types to give these rights to that user, and no others.

    A role for each verb: kubectl makes none in which resources differ in theirs. Its name is of
    this user and these rights alone, so that it is not there already for another's.
    """
    commands: list[str] = []
    for verb in sorted({right.verb for right in rights}):
        resources = sorted({right.of_group for right in rights if right.verb == verb})
        told_apart = sha256(" ".join([user, *resources]).encode()).hexdigest()[:8]
        name = f"{ROLE}-{verb}-{told_apart}"
        commands += [
            f"kubectl create clusterrole {name} --verb={verb} --resource={','.join(resources)}",
            f"kubectl create clusterrolebinding {name} --clusterrole={name} --user={quoted(user)}",
        ]
    return " && ".join(commands)


def quoted(text: str) -> str:
    """For a shell: a user may be called anything."""
    return quote(plain(text))


def grant_of(cluster: Cluster, right: Right) -> str:
    user = "NAME" if isinstance(cluster.user, Unseen) else cluster.user
    return grants(user, [right])


def _yours(cluster: Cluster) -> Finding:
    missing = cluster.missing[YOU]
    if isinstance(missing, Unseen):
        return not_seen(AREA, "which rights you have", missing)
    if not missing:
        return ok(AREA, "you may look at everything that doctor looks at")
    user = "NAME" if isinstance(cluster.user, Unseen) else cluster.user
    return warn(
        AREA,
        Rule.YOUR_RIGHTS,
        f"you ({user}) may not {listed([str(one) for one in missing], 4)}:"
        " what that shows is not looked at",
        "ask an administrator for these rights, who types",
        grants(user, missing),
    )


def _of_account(cluster: Cluster, account: str) -> Iterator[Finding]:
    missing = cluster.missing[account]
    if isinstance(missing, Unseen):
        yield not_seen(
            AREA,
            f"the rights of {account}",
            missing,
            grant_of(cluster, REVIEW) if missing.is_forbidden else "",
        )
        return
    optional = [right for right in missing if right in JOBS]
    needed = [right for right in missing if right not in JOBS]
    if needed:
        yield fail(
            AREA,
            Rule.ACCOUNT_RIGHTS,
            f"{account} may not {listed([str(one) for one in needed], 4)}",
            f"its role or binding was changed, or is of an older version: {AGAIN}",
            INSTALL,
        )
    if optional:
        kinds = sorted({right.of_group for right in optional})
        yield warn(
            AREA,
            Rule.KINDS_LEFT_ALONE,
            f"{account} lacks rights on {listed(kinds, 4)}: it leaves jobs of such kinds alone",
            f"if that is not meant, {AGAIN}",
            INSTALL,
        )
    if not missing:
        yield ok(AREA, f"{account} may do what it must ({len(NEEDED[account])} rights)")
