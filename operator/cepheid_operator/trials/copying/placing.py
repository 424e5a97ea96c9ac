"""Where may a pod of a trial run? Its affinity, and what its selectors mean.

A copy of the user's pod has none of its labels, so that no Service sends it traffic. What selected
the job's own pods by those labels (spread over zones, say) selects the trial's own instead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cepheid.placementtrial import Arrange, Placement
from cepheid_operator.trials.copying.selecting import Labels, selects

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_KINDS = ("podAffinity", "podAntiAffinity")
_MOST_WEIGHT = 100

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """The job's pods, by what selects them."""

    before: tuple[tuple[str, Labels], ...]
    """In the user's job: the labels of each role's pods."""
    job: Labels
    """In the trial: the labels that all of its pods have."""
    role_label: str
    """In the trial: the label that tells roles apart."""

    def selector(self, *roles: str) -> Document:
        """All pods of these roles, in the trial."""
        if {role for role, _ in self.before} == set(roles):
            return {"matchLabels": dict(self.job)}
        among = {"key": self.role_label, "operator": "In", "values": sorted(set(roles))}
        return {"matchLabels": dict(self.job), "matchExpressions": [among]}

    def meant(self, term: Document) -> list[str]:
        """The roles that it selected in the user's job, and would select no more."""
        selector = term.get("labelSelector")
        if not isinstance(selector, Mapping) or term.keys() & {"namespaces", "namespaceSelector"}:
            return []
        return [
            role
            for role, labels in self.before
            if selects(selector, labels)
            and not selects(selector, {**self.job, self.role_label: role})
        ]


def on_type(spec: Document, type_label: str, gpu_type: str) -> None:
    """Only on nodes of that type, as far as the user's own terms allow these."""
    if spec.get("nodeSelector", {}).pop(type_label, None) is not None and not spec["nodeSelector"]:
        del spec["nodeSelector"]
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    required = affinity.setdefault(REQUIRED, {})
    terms: list[Document] = []
    for term in required.get("nodeSelectorTerms", []):
        if not term.get("matchExpressions") and not term.get("matchFields"):
            continue  # such a term holds nowhere; with ours it would hold on all nodes of the type
        theirs = [one for one in term.get("matchExpressions", []) if one.get("key") != type_label]
        merged = {**term, "matchExpressions": [*theirs, _is_of(type_label, gpu_type)]}
        if merged not in terms:
            terms.append(merged)
    ours = {"matchExpressions": [_is_of(type_label, gpu_type)]}
    required["nodeSelectorTerms"] = terms or [ours]


def arranged(spec: Document, placement: Placement, own: Own, role: str, *, one_node: bool) -> None:
    """Workers together or apart; in place of what the user's job says of that."""
    if placement.arrange is None:
        return
    _drop_arrangement(spec, own, role)
    term = {"labelSelector": own.selector(role), "topologyKey": HOST}
    affinity = spec.setdefault("affinity", {})
    if placement.arrange is Arrange.SPREAD:
        affinity.setdefault("podAntiAffinity", {}).setdefault(REQUIRED, []).append(term)
    elif one_node:
        affinity.setdefault("podAffinity", {}).setdefault(REQUIRED, []).append(term)
    else:
        weighed = {"weight": _MOST_WEIGHT, "podAffinityTerm": term}
        affinity.setdefault("podAffinity", {}).setdefault(PREFERRED, []).append(weighed)


def selecting_its_own(spec: Document, own: Own) -> None:
    """What selected the user's pods selects the trial's."""
    for kind in _KINDS:
        within = spec.get("affinity", {}).get(kind, {})
        for term in within.get(REQUIRED, []):
            _mean_its_own(term, own)
        for weighed in within.get(PREFERRED, []):
            if isinstance(weighed.get("podAffinityTerm"), dict):
                _mean_its_own(weighed["podAffinityTerm"], own)
    for constraint in spec.get("topologySpreadConstraints", []):
        _mean_its_own(constraint, own)


def _is_of(type_label: str, gpu_type: str) -> Document:
    return {"key": type_label, "operator": "In", "values": [gpu_type]}


def _mean_its_own(term: Document, own: Own) -> None:
    if roles := own.meant(term):
        term["labelSelector"] = own.selector(*roles)
        for key in ("matchLabelKeys", "mismatchLabelKeys"):
            term.pop(key, None)


def _drop_arrangement(spec: Document, own: Own, role: str) -> None:
    """What says of the job's own workers, on which hosts they are."""

    def is_one(term: object) -> bool:
        return (
            isinstance(term, dict) and term.get("topologyKey") == HOST and role in own.meant(term)
        )

    affinity = spec.get("affinity", {})
    for kind in _KINDS:
        within = affinity.get(kind, {})
        _keep(within, REQUIRED, lambda term: not is_one(term))
        _keep(within, PREFERRED, lambda one: not is_one(one.get("podAffinityTerm")))
        if kind in affinity and not within:
            del affinity[kind]
    _keep(spec, "topologySpreadConstraints", lambda one: not is_one(one))


def _keep(within: Document, key: str, wanted: Callable[[Document], bool]) -> None:
    kept = [one for one in within.get(key, []) if wanted(one)]
    if kept:
        within[key] = kept
    else:
        within.pop(key, None)
