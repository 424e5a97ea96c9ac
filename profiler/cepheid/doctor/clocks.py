"""Do all clocks agree? What is valid until a moment, and how old a sample is, depends on it."""

from collections.abc import Iterator

from cepheid.doctor.facts import Facts, Unseen
from cepheid.doctor.finding import Finding, Rule, fail, ok, warn
from cepheid.reports.words import lasting

AREA = "clocks"
NOTICED_SECONDS = 5.0
"""Less cannot be told: the API server's Date has no fractions, and its answer took its time."""
TOO_MUCH_SECONDS = 60.0
"""From about here on new samples are taken for old ones, or lie in the future."""
SYNCHRONISE = "sudo timedatectl set-ntp true"


def findings(facts: Facts) -> Iterator[Finding]:
    clocks = {}
    if not isinstance(facts.cluster, Unseen) and facts.cluster.ahead_seconds is not None:
        clocks["the API server"] = facts.cluster.ahead_seconds
    if not isinstance(facts.metrics, Unseen):
        clocks["Prometheus"] = facts.metrics.ahead_seconds
    wrong = {name: ahead for name, ahead in clocks.items() if abs(ahead) > NOTICED_SECONDS}
    if clocks and not wrong:
        yield ok(AREA, f"the clocks of {' and '.join(clocks)} agree with this one")
    yours = len(clocks) > 1 and len(wrong) == len(clocks) and _agree(*wrong.values())
    if yours:
        ahead = next(iter(wrong.values()))
        yield _off("this machine", -ahead, "the cluster", "this machine")
        return
    for name, ahead in wrong.items():
        other = " and ".join(one for one in clocks if one not in wrong) or "this machine"
        yield _off(name, ahead, other, f"the machine of {name}")


def _agree(one: float, other: float) -> bool:
    return abs(one - other) <= NOTICED_SECONDS


def _off(whose: str, ahead: float, other: str, where: str) -> Finding:
    side = "ahead of" if ahead > 0 else "behind"
    far = abs(ahead) > TOO_MUCH_SECONDS
    make, rule = (fail, Rule.CLOCK_FAR_OFF) if far else (warn, Rule.CLOCK_OFF)
    return make(
        AREA,
        rule,
        f"the clock of {whose} is {lasting(abs(ahead))} {side} that of {other}",
        f"set the clock of {where} by the network; on it type",
        SYNCHRONISE,
    )
