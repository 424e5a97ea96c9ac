"""May the operator ask a user's PromQL? Only of the user's own namespace.

The operator reads the metrics of everybody; who may create a PlacementTrial reads those of one
namespace. So the expression is parsed, every selector in it has to name a metric and to say
namespace="<own>", and what is then asked is not the text that was written but the expression as it
was understood: two parsers may read one text in two ways.
"""

import os.path
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from cepheid.placementtrial import TrialError

if TYPE_CHECKING:
    from promql_parser import Expr, VectorSelector

MOST_CHARACTERS = 1000
"""As written. The parser recurses: of 10,000 characters `1+1+1...` overflows the stack."""
MOST_NAMES = 4000
"""Characters of the pods' names; of more, what they have in common."""
LONGEST_SECONDS = 3600.0
"""So far back a selector or subquery may reach: trials are minutes."""
# Nothing that servers may understand in another way: no escapes, raw strings, comments, or letters
# that only look like others.
_PLAIN = re.compile(r"[\t\n\r -~]*", re.ASCII)
_NOT_PLAIN = "\\`#"
_HINT = (
    'name the metric, and say namespace="$namespace": '
    'rate(steps_total{namespace="$namespace",pod=~"$pods"}[1m])'
)


class Query(NamedTuple):
    expression: str
    reach_seconds: float
    """So far back from its time the answer looks."""


def guarded(promql: str, namespace: str, pods: Sequence[str]) -> Query:
    """With `$namespace` and `$pods` put in; TrialError where any selector reads elsewhere."""
    import promql_parser  # noqa: PLC0415 - only for who measures by it

    if len(promql) > MOST_CHARACTERS:
        raise _refused(f"it has {len(promql)} characters, {MOST_CHARACTERS} are allowed")
    if not _PLAIN.fullmatch(promql) or any(mark in promql for mark in _NOT_PLAIN):
        raise _refused(
            "it has characters other than plain ASCII, or one of backslash, ` and #",
            hint="in a regular expression write [.] and [0-9]",
        )
    text = promql.replace("$namespace", namespace).replace("$pods", _any_of(pods))
    if "$" in text:
        raise _refused("it has a $ that is neither $namespace nor $pods")
    try:
        expression = promql_parser.parse(text).prettify()
        parsed = promql_parser.parse(expression)  # what is checked is what will be asked
        parts = list(_all(parsed))
    except (ValueError, RecursionError) as problem:
        raise _refused(f"it is no PromQL: {str(problem)[:200]}") from problem
    selectors = [part for part in parts if isinstance(part, promql_parser.VectorSelector)]
    if not selectors:
        raise _refused("it selects no metric")
    for selector in selectors:
        _check(selector, namespace)
    reach = _reach_seconds(parsed)
    if reach > LONGEST_SECONDS:
        raise _refused(f"it looks back for {reach:g} s, {LONGEST_SECONDS:g} s are allowed")
    return Query(expression, reach)


def _any_of(pods: Sequence[str]) -> str:
    """A regular expression; of Kubernetes' names only the dot is more than itself."""
    names = "|".join(pods)
    if len(names) <= MOST_NAMES:
        return names.replace(".", "[.]")
    shared = os.path.commonprefix(list(pods))  # noqa: RUF071 - letter by letter is right here
    return shared.replace(".", "[.]") + ".*"


def _all(expr: "Expr") -> Iterator["Expr"]:
    yield expr
    for inner in _inner(expr):
        yield from _all(inner)


def _inner(expr: "Expr") -> Sequence["Expr"]:
    """What is not known is refused: it might select."""
    import promql_parser as known  # noqa: PLC0415

    match expr:
        case known.NumberLiteral() | known.StringLiteral() | known.VectorSelector():
            return []
        case known.MatrixSelector():
            return [expr.vector_selector]
        case known.SubqueryExpr() | known.ParenExpr() | known.UnaryExpr():
            return [expr.expr]
        case known.BinaryExpr():
            return [expr.lhs, expr.rhs]
        case known.AggregateExpr():
            return [expr.expr] if expr.param is None else [expr.expr, expr.param]
        case known.Call() if expr.func.name != "info":
            return expr.args
        case known.Call():
            raise _refused("info() reads series that no selector names")
        case _:
            raise _refused(f"a {type(expr).__name__} is not allowed")


def _check(selector: "VectorSelector", namespace: str) -> None:
    from promql_parser import MatchOp  # noqa: PLC0415

    matchers = selector.matchers.matchers
    if selector.matchers.or_matchers:
        raise _refused(f"{selector.name} has matchers joined by `or`")
    if not selector.name or any(one.name == "__name__" for one in matchers):
        raise _refused("a selector does not name its metric before the braces")
    if not any(
        one.name == "namespace" and one.op == MatchOp.Equal and one.value == namespace
        for one in matchers
    ):
        raise _refused(f'{selector.name} is not held to namespace="{namespace}"')


def _reach_seconds(expr: "Expr") -> float:
    import promql_parser as known  # noqa: PLC0415

    own = 0.0
    if isinstance(expr, known.MatrixSelector | known.SubqueryExpr):
        own += _seconds(expr.range)
    if isinstance(expr, known.VectorSelector | known.SubqueryExpr):
        own += max(0.0, _seconds(expr.offset))
    if isinstance(expr, known.SubqueryExpr) and 0 < _seconds(expr.step) < 1:
        raise _refused(f"a subquery has steps of {_seconds(expr.step):g} s, 1 s is allowed")
    return own + max((_reach_seconds(inner) for inner in _inner(expr)), default=0.0)


def _seconds(time: timedelta | None) -> float:
    return 0.0 if time is None else time.total_seconds()


def _refused(why: str, *, hint: str = _HINT) -> TrialError:
    return TrialError(f"spec.measure.promql: {why}", hint=hint)
