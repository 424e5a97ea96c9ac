"""What `cepheid run` can be told: one table, for the parser that is light and for typer's help.

Typer alone would be a third of the memory that sampling may take.
"""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from cepheid.errors import UsageError
from cepheid.laptop.sampling import INTERVAL_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS
from cepheid.sources.local.catalog import COLLECTORS

GRANULARITIES = ("summary", "time-series")
HINT = "`cepheid run --help` shows what works"
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class RunOption:
    name: str
    words: str
    kind: type = str
    default: Any = None
    repeated: bool = False


OPTIONS = (
    RunOption("name", "What the run is called. [the program's name]"),
    RunOption("tag", "Something to find it by, as key=value; may be repeated.", repeated=True),
    RunOption(
        "interval",
        "From one sample to the next: 0.5 s shows steps of 2 s and longer, 0.1 s those of 0.3 s at"
        " five times the cost; for hours 1 s to 5 s will do. Of a run of days samples become"
        f" fewer by themselves. [default: {INTERVAL_SECONDS} s]",
    ),
    RunOption(
        "granularity",
        "summary, or time-series to keep every sample for `cepheid plot`. [default: summary]",
    ),
    RunOption("timeout", "After this long it is stopped: 90, 15m, 2h. Exit code 124 then."),
    RunOption("quiet", "Say nothing afterwards.", kind=bool),
    RunOption("no-profile", "Run the command as if it had been typed alone.", kind=bool),
    RunOption(
        "without",
        f"Leave out a collector, may be repeated: {', '.join(COLLECTORS)}.",
        repeated=True,
    ),
    RunOption("per-thread", "Also CPU time by thread, which costs a little more.", kind=bool),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWanted:
    command: tuple[str, ...]
    name: str | None
    tags: dict[str, str]
    interval_seconds: float
    granularity: str
    timeout_seconds: float | None
    quiet: bool
    no_profile: bool
    without: tuple[str, ...]
    per_thread: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=HINT)


def parse(arguments: Sequence[str]) -> RunWanted:
    parser = _Parser(prog="cepheid run", add_help=False, allow_abbrev=False)
    for option in OPTIONS:
        flag = f"--{option.name}"
        if option.kind is bool:
            parser.add_argument(flag, action="store_true")
        elif option.repeated:
            parser.add_argument(flag, action="append", default=[])
        else:
            parser.add_argument(flag)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return wanted_of(vars(parser.parse_args(list(arguments))))


def wanted_of(given: dict[str, Any]) -> RunWanted:
    command = tuple(given["command"] or ())
    if command[:1] == ("--",):
        command = command[1:]
    if not command:
        raise UsageError("no command is named", hint="cepheid run -- python train.py")
    interval = INTERVAL_SECONDS
    if given["interval"] is not None:
        interval = seconds_of("interval", given["interval"])
    if not SHORTEST_SECONDS <= interval <= LONGEST_SECONDS:
        raise UsageError(
            f"interval is {interval:g} s",
            hint=f"from {SHORTEST_SECONDS:g} to {LONGEST_SECONDS:g} s it can be",
        )
    granularity = given["granularity"] or "summary"
    if granularity not in GRANULARITIES:
        raise UsageError(
            f"granularity is {granularity!r}", hint=f"one of {', '.join(GRANULARITIES)}"
        )
    without = tuple(given["without"] or ())
    for name in without:
        if name not in COLLECTORS:
            raise UsageError(
                f"there is no collector {name!r}", hint=f"one of {', '.join(COLLECTORS)}"
            )
    timeout = given["timeout"]
    return RunWanted(
        command=command,
        name=given["name"],
        tags=dict(_tag(text) for text in given["tag"] or ()),
        interval_seconds=interval,
        granularity=granularity,
        timeout_seconds=None if timeout is None else seconds_of("timeout", timeout),
        quiet=bool(given["quiet"]),
        no_profile=bool(given["no_profile"]),
        without=without,
        per_thread=bool(given["per_thread"]),
    )


def seconds_of(name: str, text: str) -> float:
    found = _DURATION.fullmatch(text.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0 < seconds < 1e9:  # noqa: PLR2004
        raise UsageError(f"{name} is {text!r}", hint="seconds, or such as 15m, 2h, 1d")
    return seconds


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"tag is {text!r}", hint="key=value, such as --tag model=bert")
    return key.strip(), value.strip()
