"""docs/trials.md names every field, in the words and with the default that the records have."""

import json
import re
from collections.abc import Iterator

import msgspec
import pytest
import yaml
from msgspec import inspect

from cepheid.annotations.job_codec import decode_job
from cepheid.placementtrial import Phase, State, TrialSpec, TrialStatus, spec_from
from cepheid_operator.api import PLACEMENT_TRIAL
from tests import REPOSITORY

PAGE = (REPOSITORY / "docs/trials.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(
    record: type, path: str = "", seen: set[type] | None = None
) -> Iterator[tuple[str, str, str]]:
    """Of a record and of those in it, each of them once: path, default, words."""
    info = inspect.type_info(record)
    assert isinstance(info, inspect.StructType)
    seen = set() if seen is None else seen
    for field in info.fields:
        words = _words(field.type)
        inner = _record(field.type)
        name = f"{path}{field.encode_name}"
        if inner is None:
            yield name, _default(field), words
        else:
            cls, ending = inner
            yield f"{name}{ending}", "", words
            if cls not in seen:
                seen.add(cls)
                yield from rows(cls, f"{name}{ending}.", seen)


def _default(field: inspect.Field) -> str:
    if field.default is msgspec.NODEFAULT or field.default in (None, ()):
        return ""
    return f"`{json.dumps(field.default)}`".replace('"', "")


def _words(kind: inspect.Type) -> str:
    """The outermost description."""
    if isinstance(kind, inspect.Metadata):
        found = (kind.extra_json_schema or {}).get("description")
        return found or _words(kind.type)
    return ""


def _record(kind: inspect.Type) -> tuple[type, str] | None:
    """The record that it holds, or a list of them."""
    match kind:
        case inspect.Metadata():
            return _record(kind.type)
        case inspect.StructType():
            return kind.cls, ""
        case inspect.VarTupleType():
            inner = _record(kind.item_type)
            return None if inner is None else (inner[0], "[]")
        case inspect.UnionType():
            return next((found for one in kind.types if (found := _record(one))), None)
    return None


@pytest.mark.parametrize(
    ("title", "record"), [("What can be set", TrialSpec), ("What is found", TrialStatus)]
)
def test_every_field_stands_there_with_its_words_and_nothing_else_does(
    title: str, record: type
) -> None:
    row = re.compile(r"^\| `([\w.\[\]]+)` \| (.*?) \| (.*?) \|$", re.MULTILINE)
    told = row.findall(section(title))
    assert told == [(name, default, words) for name, default, words in rows(record)]


def test_the_example_can_be_applied() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", section("From a job to an answer"), re.DOTALL)
    document = yaml.safe_load(text)
    assert document["apiVersion"] == PLACEMENT_TRIAL.api_version
    assert document["kind"] == PLACEMENT_TRIAL.name
    spec = spec_from(document["spec"])
    assert spec.job.name == document["metadata"]["name"]
    assert set(spec.try_on.gpu_types) == set(spec.optimise.prices)


def test_every_phase_and_every_end_of_a_trial_is_explained() -> None:
    told = set(re.findall(r"`([\w-]+)`", section("What happens when")))
    assert {str(phase) for phase in Phase} <= told
    assert {str(state) for state in State if state.is_over} <= told


def test_the_annotation_that_is_shown_can_be_read() -> None:
    (text,) = re.findall(r"(ai\.centaurus\.io/best-placement): (\{.*\})", PAGE)
    read = decode_job(dict([text]))
    assert read.ignored == ()
    assert read.facts.best_placement is not None
