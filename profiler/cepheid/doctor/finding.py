"""One thing that doctor says: how bad, what, what to do about it, and what to type."""

from dataclasses import dataclass
from enum import StrEnum

from cepheid.doctor.facts import Unseen

INSTALL = "kubectl apply --server-side --force-conflicts -f manifests/cepheid.yaml"
"""Also over what somebody edited by hand: that is what it is a remedy for."""
AGAIN = "apply the manifest of this version again (or your kustomization of it)"
NAMESPACE = "cepheid"


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    """Works, but less well, or could not be looked at."""
    FAIL = "fail"
    """Something does not work, or is wrong."""


class Rule(StrEnum):
    """What can be wrong, by a name that stays: words change, and whoever counts wants one."""

    API_SERVER_AWAY = "api-server-away"
    NOT_SEEN = "not-seen"
    # rights
    YOUR_RIGHTS = "your-rights"
    ACCOUNT_RIGHTS = "account-rights"
    KINDS_LEFT_ALONE = "kinds-left-alone"
    # installed
    NOT_INSTALLED = "not-installed"
    NO_VERSION = "no-version"
    OLDER = "older"
    NEWER = "newer"
    AGENTS_NOWHERE = "agents-nowhere"
    AGENTS_NOT_READY = "agents-not-ready"
    OPERATOR_AT_ZERO = "operator-at-zero"
    OPERATOR_NOT_READY = "operator-not-ready"
    OPERATOR_ALONE = "operator-alone"
    NO_POLICY = "no-policy"
    # definitions
    NO_DEFINITION = "no-definition"
    NOT_ESTABLISHED = "not-established"
    NOT_SERVED = "not-served"
    OLD_DEFINITION = "old-definition"
    NEW_DEFINITION = "new-definition"
    # annotations
    EXPIRED = "expired"
    LEFT_BEHIND = "left-behind"
    NOT_ANNOTATED = "not-annotated"
    NO_ANNOTATIONS = "no-annotations"
    # prometheus
    PROMETHEUS_AWAY = "prometheus-away"
    PROMETHEUS_BEHIND_API_SERVER = "prometheus-behind-api-server"
    PROXY_FORBIDDEN = "proxy-forbidden"
    NO_CADVISOR = "no-cadvisor"
    NODE_IN_THE_DARK = "node-in-the-dark"
    STALE = "stale"
    NO_GPUS = "no-gpus"
    NO_GPUS_PERHAPS = "no-gpus-perhaps"
    TOO_YOUNG = "too-young"
    MEASURED_SELDOM = "measured-seldom"
    SCRAPED_SELDOM = "scraped-seldom"
    # dcgm-exporter
    HONOR_LABELS = "honor-labels"
    NO_PODS = "no-pods"
    NO_PODS_PERHAPS = "no-pods-perhaps"
    NO_NODE = "no-node"
    HOSTNAME = "hostname"
    GPUS_IN_THE_DARK = "gpus-in-the-dark"
    NO_PROFILING = "no-profiling"
    NO_ENERGY = "no-energy"
    BLANKS = "blanks"
    # clocks
    CLOCK_OFF = "clock-off"
    CLOCK_FAR_OFF = "clock-far-off"


@dataclass(frozen=True, slots=True)
class Finding:
    area: str
    level: Level
    rule: Rule | None
    """None where all is well."""
    words: str
    remedy: str = ""
    command: str = ""


def ok(area: str, words: str) -> Finding:
    return Finding(area, Level.OK, None, words)


def warn(area: str, rule: Rule, words: str, remedy: str, command: str = "") -> Finding:
    return Finding(area, Level.WARN, rule, words, remedy, command)


def fail(area: str, rule: Rule, words: str, remedy: str, command: str = "") -> Finding:
    return Finding(area, Level.FAIL, rule, words, remedy, command)


def not_seen(area: str, what: str, unseen: Unseen, command: str = "") -> Finding:
    """Neither well nor broken: nobody could look."""
    remedy = unseen.hint or "look at it with more rights: the rights that it takes are named above"
    words = f"{what} could not be looked at: {unseen.why}"
    return warn(area, Rule.NOT_SEEN, words, remedy, command)
