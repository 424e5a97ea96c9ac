"""Rows on stdout: a table for people, or JSON, CSV or YAML for programs.

A table fits the terminal, or 80 columns where there is none: what nobody has a value for is left
out, then what matters least, and long texts are cut. The other forms hold every field of every row,
with the unit in its name. Whatever users called their jobs, no form hands a terminal something to
obey, or a spreadsheet something to compute.
"""

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any, Generic, NamedTuple, TextIO, TypeVar

from cepheid.reports.plain import clipped, padded, plain, width

GAP = "  "
NOTHING = "-"
COLUMNS = 80
LEAST_COLUMNS = 40
ALWAYS = 9
LINES_AT_ONCE = 1000
Row = TypeVar("Row")


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    YAML = "yaml"


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    title: str
    cell: Callable[[Row], str]
    """Empty where there is nothing to say."""
    right: bool = False
    matters: int = 5
    """From 1 to 9: where there is no room, what matters least goes first; 9 always stays."""
    least: int | None = None
    """It may be cut to so many columns of the screen; None for never."""
    middle: bool = False
    """Where it is cut its end stays too."""


def show(
    rows: Sequence[Row], of: type[Row], columns: Sequence[Column[Row]], output: Output
) -> None:
    """Rows `of` one dataclass or Struct: programs get its fields, people the columns."""
    if output is Output.TABLE:
        if rows:
            write_lines(table(rows, columns, screen_columns()))
        return
    names = _field_names(of)
    records = [{name: getattr(row, name) for name in names} for row in rows]
    if output is Output.CSV:
        _write_csv(names, records, sys.stdout)
    else:
        document(records, output)


def _field_names(of: Any) -> Sequence[str]:
    # By its attribute: to ask msgspec would load it for tables that have nothing to do with it.
    of_struct: tuple[str, ...] | None = getattr(of, "__struct_fields__", None)
    return of_struct or [field.name for field in fields(of)]


def document(content: Any, output: Output) -> None:
    """One thing for programs, in JSON or YAML."""
    sys.stdout.write(in_yaml(content) if output is Output.YAML else in_json(content))


def write_lines(lines: Iterable[str]) -> None:
    # Many at once: where output is not buffered each write is one of the system's calls.
    remaining = iter(lines)
    while some := [f"{line}\n" for line in islice(remaining, LINES_AT_ONCE)]:
        sys.stdout.write("".join(some))


def screen_columns() -> int:
    """Of the terminal; COLUMNS, where it is set, counts in a pipe too."""
    return max(LEAST_COLUMNS, shutil.get_terminal_size((COLUMNS, 24)).columns)


def table(rows: Sequence[Row], columns: Sequence[Column[Row]], most: int) -> list[str]:
    """Its lines, the titles first, none wider than `most`."""
    shown = _shown(rows, columns, most)
    least = {one.column.title: one.least for one in shown}
    natural = {one.column.title: one.natural for one in shown}
    left = most - sum(least.values()) - len(GAP) * (len(shown) - 1)
    widths = _shared(least, natural, left)
    titles, laid = [], []
    for one in shown:
        room, right = widths[one.column.title], one.column.right
        titles.append(padded(one.column.title, room, right=right))
        fitting = {text: _laid(said, one.column, room) for text, said in one.texts.items()}
        laid.append(map(fitting.__getitem__, one.cells))
    lines = map(GAP.join, zip(*laid, strict=True))
    return [GAP.join(titles).rstrip(), *map(str.rstrip, lines)]


class _Filled(NamedTuple):
    """A column with what stands in it."""

    column: Column[Any]
    cells: Sequence[str]
    """A text for each row, as it came."""
    texts: Mapping[str, str]
    """How each of them is shown. A long table says the same few things again and again: each is
    made harmless, measured and cut once."""
    natural: int
    """As wide as it would be."""

    @property
    def least(self) -> int:
        """As wide as it must be."""
        if self.column.least is None:
            return self.natural
        return min(self.natural, max(self.column.least, len(self.column.title)))


def _shown(rows: Sequence[Row], columns: Sequence[Column[Row]], most: int) -> list[_Filled]:
    """What matters most first, as long as there is room: the cells of others are not even made."""
    found: dict[str, _Filled] = {}
    room = most
    for one in sorted(columns, key=lambda one: -one.matters):
        stays = one.matters == ALWAYS
        if not stays and len(one.title) > room and _says_anything(rows, one):
            break
        filled = _filled(rows, one)
        if not stays and not any(filled.texts.values()):
            continue
        if not stays and filled.least > room:
            break
        found[one.title] = filled
        room -= filled.least + len(GAP)
    return [found[one.title] for one in columns if one.title in found]


def _says_anything(rows: Sequence[Row], column: Column[Row]) -> bool:
    return any(plain(column.cell(row)).strip() for row in rows)


def _filled(rows: Sequence[Row], column: Column[Row]) -> _Filled:
    cells = list(map(column.cell, rows))
    texts = {text: plain(text).strip() for text in {*cells}}
    return _Filled(column, cells, texts, max([len(column.title), *map(width, texts.values())]))


def _laid(text: str, column: Column[Row], room: int) -> str:
    cut = clipped(text or NOTHING, room, middle=column.middle)
    return padded(cut, room, right=column.right)


def _shared(least: Mapping[str, int], natural: Mapping[str, int], room: int) -> dict[str, int]:
    """What is left goes in equal parts to those that would be cut."""
    widths = dict(least)
    while room > 0:
        short = [title for title in widths if widths[title] < natural[title]]
        if not short:
            break
        for title in short[:room]:
            widths[title] += 1
        room -= len(short[:room])
    return widths


def in_json(content: Any) -> str:
    import json

    text = json.dumps(content, indent=2, ensure_ascii=False, default=_as_text) + "\n"
    if _is_harmless(text):
        return text
    # Only inside of texts can there be such: there an escape means the same.
    return "".join(
        one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text
    )


def in_yaml(content: Any) -> str:
    import yaml

    simple = _simple(content)
    text = yaml.safe_dump(simple, sort_keys=False, allow_unicode=True, width=COLUMNS)
    if _is_harmless(text):
        return text
    return yaml.safe_dump(simple, sort_keys=False, allow_unicode=False, width=COLUMNS)


def _is_harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def _write_csv(names: Sequence[str], records: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    import csv

    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(value) for value in record.values()] for record in records)


def _cell(value: Any) -> Any:
    from cepheid.history.sheet import neutral

    if isinstance(value, datetime):
        return _as_text(value)
    return neutral(plain(value)) if isinstance(value, str) else value


def _simple(content: Any) -> Any:
    """Of plain types: PyYAML has its own ideas of times, and none of enumerations."""
    if isinstance(content, Mapping):
        return {str(key): _simple(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_simple(value) for value in content]
    if isinstance(content, datetime):
        return _as_text(content)
    return str(content) if isinstance(content, StrEnum) else content


def _as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
