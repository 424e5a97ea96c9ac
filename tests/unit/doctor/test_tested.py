"""Every rule of doctor is provoked on real servers by a test, and stands in the documentation.

What a test's mark says is held to what it finds: by `well_again` in tests/doctor.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from cepheid.doctor.finding import Level, Rule
from tests import REPOSITORY
from tests.doctor import test_cluster, test_metrics
from tests.unit.doctor.test_rules import every_trouble

PAGE = REPOSITORY / "docs/doctor.md"
ROW = re.compile(
    r"^\|(?P<area>[^|]*)\|(?P<finding>[^|]*)\|(?P<rules>[^|]*)\|(?P<level>[^|]*)\|", re.MULTILINE
)
NAMED = re.compile(r"`(?P<rule>[a-z-]+)`(?P<dagger>†?)")


def marked(name: str) -> set[Rule]:
    """By tests of tests/doctor."""
    return {
        rule
        for module in (test_cluster, test_metrics)
        for test in functions_of(module)
        for mark in marks_of(getattr(test, "pytestmark", ()))
        if mark.name == name
        for rule in mark.args
    }


def functions_of(module: ModuleType) -> Iterator[Callable[..., object]]:
    return (thing for name, thing in vars(module).items() if name.startswith("test_"))


def marks_of(marks: Iterable[Any]) -> Iterator[Any]:
    """With those of single cases."""
    for mark in marks:
        yield mark
        if mark.name == "parametrize":
            for case in mark.args[1]:
                yield from (getattr(one, "mark", one) for one in getattr(case, "marks", ()))


def documented() -> dict[Rule, tuple[bool, str]]:
    """Whether it has a dagger, and its level."""
    return {
        Rule(found["rule"]): (bool(found["dagger"]), row["level"].strip())
        for row in ROW.finditer(PAGE.read_text())
        for found in NAMED.finditer(row["rules"])
    }


def test_every_rule_is_provoked_on_real_servers_and_cured_but_for_those_with_a_dagger() -> None:
    cured, provoked = marked("cures"), marked("provokes")
    assert cured | provoked == set(Rule)
    assert not cured & provoked
    assert {rule for rule, (dagger, _) in documented().items() if dagger} == provoked


def test_every_rule_stands_in_the_documentation_with_its_level() -> None:
    levels = {rule: level for rule, (_, level) in documented().items()}
    assert set(levels) == set(Rule)
    assert set(levels.values()) == {"warn", "FAIL"}
    for made in every_trouble():
        assert made.rule is not None
        assert levels[made.rule] == ("FAIL" if made.level is Level.FAIL else "warn")
