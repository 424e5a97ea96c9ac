"""What can be set, by flag or variable, and that it is documented."""

import re

import pytest

from cepheid.errors import UsageError
from cepheid.settings import AgentSettings, ExtenderSettings, OperatorSettings, flag, options, read
from tests import REPOSITORY

DOCUMENTATION = REPOSITORY / "docs/settings.md"


@pytest.mark.parametrize(
    ("command", "settings"),
    [("agent", AgentSettings), ("operator", OperatorSettings), ("extender", ExtenderSettings)],
)
def test_every_setting_is_documented_with_its_variable_and_default_and_nothing_else_is(
    command: str, settings: type
) -> None:
    (section,) = (
        section
        for section in DOCUMENTATION.read_text().split("\n## ")
        if section.startswith(f"Settings of the {command}: `cepheid {command}`")
    )
    row = re.compile(r"^\| `--([a-z-]+)` \| `(\w+)` \| (.*?) \| (.*?) \|$", re.MULTILINE)
    expected = [
        (flag(o.name), o.variable, "" if o.default in ("", ...) else f"`{o.default}`", o.words)
        for o in options(settings)
    ]
    assert row.findall(section) == expected


def test_a_flag_wins_over_a_variable_and_that_over_the_default() -> None:
    environment = {"CEPHEID_NODE_NAME": "a", "CEPHEID_PASS_SECONDS": "15", "CEPHEID_OTHER": "x"}
    settings = read(AgentSettings, {"node_name": "b", "pass_seconds": None}, environment)
    assert (settings.node_name, settings.pass_seconds) == ("b", 15.0)
    assert settings.window_seconds == 3600.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "name of the node"),
        ({"node_name": "n", "pass_seconds": 0.5}, "pass-seconds is 0.5"),
        ({"node_name": "n", "pass_seconds": float("nan")}, "pass-seconds is nan"),
        ({"node_name": "n", "window_seconds": 1e9}, "window-seconds"),
        ({"node_name": "n", "prometheus_url": "prometheus:9090"}, "prometheus-url"),
        ({"node_name": "n", "log_format": "xml"}, "log-format"),
        ({"node_name": "n", "log_level": "loud"}, "log-level"),
        ({"node_name": "n", "listen": "9402"}, "listen"),
        ({"node_name": "n", "listen": ":99999"}, "listen"),
        ({"node_name": "n", "prometheus_headers": "tenant"}, "prometheus-headers"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words) as problem:
        read(AgentSettings, given, {})
    assert problem.value.hint


def test_a_header_that_cannot_be_read_is_not_repeated_in_the_error() -> None:
    with pytest.raises(UsageError) as problem:
        read(AgentSettings, {"node_name": "n", "prometheus_headers": "a=b,S3CRET"}, {})
    assert "S3CRET" not in str(problem.value)


def test_a_variable_of_the_wrong_kind_is_named() -> None:
    with pytest.raises(UsageError, match="CEPHEID_PASS_SECONDS is 'soon'"):
        read(AgentSettings, {}, {"CEPHEID_NODE_NAME": "n", "CEPHEID_PASS_SECONDS": "soon"})


def test_addresses_and_headers_are_taken_apart() -> None:
    settings = AgentSettings(node_name="n", listen="[::1]:9", prometheus_headers="X-Scope=a=b, Y=c")
    assert settings.listen_address == ("::1", 9)
    assert settings.headers == {"X-Scope": "a=b", "Y": "c"}
