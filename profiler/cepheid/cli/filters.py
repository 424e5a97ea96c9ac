"""Which jobs are meant: options that several commands take, and what they ask of a history."""

import inspect
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheid.errors import UsageError
from cepheid.units import length_seconds

if TYPE_CHECKING:
    from cepheid.history import Query
    from cepheid.jobprofile import JobProfile

_PATTERN = re.compile(r"[*?\[]")


class Status(StrEnum):
    """As cepheid.jobprofile.Outcome has them, which takes a library to load."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"
    ERROR = "error"


class Chosen:
    """The jobs that somebody asked for."""

    def __init__(self, now: datetime, given: dict[str, Any]) -> None:
        self._given = given
        self.since = moment(given["since"], "--since", now)
        self.until = moment(given["until"], "--until", now)
        if self.since and self.until and self.since >= self.until:
            raise UsageError(
                f"--since {given['since']} is not before --until {given['until']}",
                hint="--since is where it begins, --until where it ends",
            )

    @property
    def is_any(self) -> bool:
        """Whether something was asked at all."""
        return any(value is not None for value in self._given.values())

    @property
    def pattern(self) -> str | None:
        """Of names, where more than one can fit."""
        name: str | None = self._given["name"]
        return name if name is not None and _PATTERN.search(name) else None

    def query(self, namespace: str | None = None) -> "Query":
        from cepheid.history import Query
        from cepheid.jobprofile import Outcome

        status: Status | None = self._given["status"]
        return Query(
            name=None if self.pattern else self._given["name"],
            outcome=None if status is None else Outcome(status.value),
            user=self._given["user"],
            kind=self._given["kind"],
            namespace=namespace,
            since=self.since,
            until=self.until,
        )

    def fits(self, profile: "JobProfile") -> bool:
        """What a query cannot ask: whether the name is like the pattern."""
        return self.pattern is None or fnmatchcase(profile.job.name, self.pattern)


def filters(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command, which takes `chosen`, the options that say which jobs."""

    def choosing(**given: Any) -> None:
        mine = {name: given.pop(name) for name in _OPTIONS}
        command(chosen=Chosen(datetime.now(UTC), mine), **given)

    return with_options(choosing, command, "chosen", _OPTIONS)


def with_options(
    outer: Callable[..., None],
    command: Callable[..., None],
    made: str,
    options: dict[str, Any],
) -> Callable[..., None]:
    """`outer` makes the argument `made` of `command` from these options."""
    others = [one for one in _parameters(command) if one.name != made]
    ours = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in others] + ours
    outer.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    outer.__annotations__ = {each.name: each.annotation for each in parameters}
    outer.__doc__, outer.__name__ = command.__doc__, command.__name__
    return outer


def moment(text: str | None, option: str, now: datetime) -> datetime | None:
    """`12h` or `7d` ago, or a date; without a zone it is in UTC."""
    if text is None:
        return None
    if text in ("today", "yesterday"):
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight if text == "today" else midnight - timedelta(days=1)
    seconds = length_seconds(text)
    try:
        if seconds is not None:
            return now - timedelta(seconds=seconds)
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option} is {text!r}", hint="such as 90min, 12h, 7d, yesterday or 2026-03-01T10:00"
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _parameters(command: Callable[..., None]) -> Iterator[inspect.Parameter]:
    yield from inspect.signature(command).parameters.values()


_OPTIONS: dict[str, Any] = {
    "name": (
        Annotated[
            str | None,
            typer.Option("--name", help="Only jobs of this name; * and ? stand for anything."),
        ],
        None,
    ),
    "status": (Annotated[Status | None, typer.Option("--status", help="Only these.")], None),
    "user": (Annotated[str | None, typer.Option("--user", help="Only this user's.")], None),
    "kind": (
        Annotated[str | None, typer.Option("--kind", help="Only of this kind: Process, MPIJob.")],
        None,
    ),
    "since": (
        Annotated[
            str | None,
            typer.Option("--since", help="Ended since then: 12h, 7d, yesterday, 2026-03-01."),
        ],
        None,
    ),
    "until": (Annotated[str | None, typer.Option("--until", help="Ended before then.")], None),
}
