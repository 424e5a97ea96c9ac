"""Which labels does a selector mean? As Kubernetes reads it, for pods and for nodes."""

from collections.abc import Mapping

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw

Labels = Mapping[str, str]


def selects(selector: Raw, labels: Labels) -> bool:
    """A label selector, of pods. An empty one selects everything."""
    wanted = fields.part(selector, "matchLabels")
    return all(labels.get(key) == given for key, given in wanted.items()) and all(
        meets(expression, labels) for expression in fields.items(selector, "matchExpressions")
    )


def meets(expression: Raw, labels: Labels) -> bool:
    """One expression, of either kind; what cannot be understood is never met."""
    key, given = fields.name(expression, "key"), expression.get("values")
    if key is None:
        return False
    values: list[object] = given if isinstance(given, list) else []
    found = labels.get(key)
    met = {
        "In": found is not None and found in values,
        "NotIn": found is None or found not in values,
        "Exists": found is not None,
        "DoesNotExist": found is None,
        "Gt": any(_is_larger(found, one) for one in values[:1]),
        "Lt": any(_is_larger(one, found) for one in values[:1]),
    }
    operator = expression.get("operator")
    return isinstance(operator, str) and met.get(operator, False)


def takes(pod_spec: Raw, name: str, labels: Labels, *, ignoring: str) -> bool:
    """Whether a pod's own node selector and required affinity allow a node.

    What they say of the label `ignoring` does not count: that is what a trial replaces.
    """
    wanted = fields.part(pod_spec, "nodeSelector")
    if any(labels.get(key) != given for key, given in wanted.items() if key != ignoring):
        return False
    terms = list(
        fields.items(
            pod_spec,
            *("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
            "nodeSelectorTerms",
        )
    )
    return not terms or any(_holds(term, name, labels, ignoring) for term in terms)


def tolerates(pod_spec: Raw, taint: Raw) -> bool:
    return any(_tolerates(one, taint) for one in fields.items(pod_spec, "tolerations"))


def _holds(term: Raw, name: str, labels: Labels, ignoring: str) -> bool:
    expressions = list(fields.items(term, "matchExpressions"))
    of_fields = list(fields.items(term, "matchFields"))
    if not expressions and not of_fields:
        return False  # so Kubernetes has it
    return all(meets(one, labels) for one in expressions if one.get("key") != ignoring) and all(
        meets(one, {"metadata.name": name}) for one in of_fields
    )


def _tolerates(toleration: Raw, taint: Raw) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key") or ""
    if toleration.get("operator") == "Exists":
        return key in ("", taint.get("key"))
    return key == taint.get("key") and (toleration.get("value") or "") == (taint.get("value") or "")


def _is_larger(one: object, other: object) -> bool:
    numbers = [int(text) for text in (one, other) if isinstance(text, str) and _is_whole(text)]
    return len(numbers) == 2 and numbers[0] > numbers[1]  # noqa: PLR2004


def _is_whole(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and len(text) < 20  # noqa: PLR2004
