"""docs/cli.md has every command, every option and every word that an option takes."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from cepheid.cli.commands import COMMANDS, load
from cepheid.cli.places import VARIABLE
from cepheid.jobprofile import Outcome
from cepheid.reports.stats import GROUPS
from tests import REPOSITORY

DOCUMENT = (REPOSITORY / "docs/cli.md").read_text()
ELSEWHERE = {"agent", "operator", "extender", "uninstall"}
"""Of a cluster: docs/settings.md and the manifests have their options."""
SHARED = {
    "Where jobs are read from": {
        "--history",
        "--context",
        "--namespace",
        "-n",
        "--all-namespaces",
        "-A",
        "--local",
    },
    "Which jobs": {"--name", "--status", "--user", "--kind", "--since", "--until"},
}


def commands() -> dict[str, Any]:
    return {name: load(name) for name in COMMANDS}


def options(command: Any) -> Iterator[str]:
    """Of a command, and of those under it."""
    for under in getattr(command, "commands", {}).values():
        yield from options(under)
    for parameter in command.params:
        for name in (*parameter.opts, *parameter.secondary_opts):
            if name.startswith("-") and name != "--help":
                yield name


def section(title: str) -> str:
    """What stands under a heading, up to the next one."""
    found = re.search(
        rf"^## [^\n]*{re.escape(title)}(?!\w)[^\n]*\n(.*?)(?=^## |\Z)",
        DOCUMENT,
        re.MULTILINE | re.DOTALL,
    )
    return "" if found is None else found[1]


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_stands_in_the_list(name: str) -> None:
    assert f"`cepheid {name}" in DOCUMENT.partition("##")[0]


@pytest.mark.parametrize("name", sorted(set(commands()) - ELSEWHERE))
def test_every_option_stands_in_its_section(name: str) -> None:
    text = section(f"cepheid {name}")
    assert text, f"there is no section for {name}"
    offered = set(options(commands()[name]))
    for title, shared in SHARED.items():
        if shared <= offered:
            text += section(title)
    missing = {one for one in offered if not re.search(rf"`{one}(?![\w-])", text)}
    assert not missing


def test_what_is_documented_exists() -> None:
    known = {one for command in commands().values() for one in options(command)}
    shown = set(re.findall(r"`(--[a-z][a-z-]+)", DOCUMENT))
    assert not shown - known


def test_words_that_options_take_are_documented() -> None:
    for word in (*GROUPS, *(outcome.value for outcome in Outcome), VARIABLE):
        assert f"`{word}`" in DOCUMENT


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says_first(name: str) -> None:
    words = COMMANDS[name].words
    assert " ".join(load(name).help.split()).startswith(words)
    assert len(words) < 66, "it has one line"
