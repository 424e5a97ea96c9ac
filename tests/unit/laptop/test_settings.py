"""What can be set on a laptop, and that it is documented."""

import re
from pathlib import Path

import pytest

from cepheid.errors import UsageError
from cepheid.laptop.settings import LaptopSettings, of_environment, state_folder
from cepheid.settings import options
from tests import REPOSITORY


def test_every_variable_is_documented_with_its_default_and_no_other_is() -> None:
    text = (REPOSITORY / "docs/settings.md").read_text()
    (section,) = (part for part in text.split("\n## ") if part.startswith("Settings of the laptop"))
    found = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", section, re.MULTILINE)
    assert found == [
        (one.variable, f"`{one.default}`" if one.default != "" else "", one.words)
        for one in options(LaptopSettings)
    ]


def test_folders_follow_the_xdg_rules_and_what_was_set() -> None:
    plain = LaptopSettings()
    assert state_folder(plain, {}) == Path.home() / ".local/state/cepheid"
    assert state_folder(plain, {"XDG_STATE_HOME": "relative"}) == state_folder(plain, {})
    assert state_folder(plain, {"XDG_STATE_HOME": "/x"}) == Path("/x/cepheid")
    assert state_folder(LaptopSettings(state="/y"), {"XDG_STATE_HOME": "/x"}) == Path("/y")


def test_an_empty_variable_is_none() -> None:
    assert of_environment({"CEPHEID_KEEP_DAYS": "", "CEPHEID_HISTORY": ""}) == LaptopSettings()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CEPHEID_KEEP_DAYS", "-1"),
        ("CEPHEID_KEEP_DAYS", "nan"),
        ("CEPHEID_KEEP_JOBS", "many"),
        ("CEPHEID_KEEP_MIB", "0"),
        ("CEPHEID_LOG_LEVEL", "loud"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=name) as problem:
        of_environment({name: text})
    assert problem.value.hint
