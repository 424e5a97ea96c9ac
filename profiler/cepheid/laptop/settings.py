"""What can be set on a laptop, and where its files are.

A field's name is its variable (`CEPHEID_HISTORY`): commands share these, so they are no flags. The
defaults follow the XDG rules, and nothing has to be set at all.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cepheid.errors import UsageError
from cepheid.settings import read


def _set(default: Any, words: str) -> Any:
    return field(default=default, metadata={"words": words})


@dataclass(frozen=True, slots=True, kw_only=True)
class LaptopSettings:
    """Of `cepheid run`, of the Python API, and of all that reads what they kept."""

    history: str = _set("", "File of SQLite, or URL of PostgreSQL. [~/.local/share/cepheid]")
    state: str = _set("", "Folder of recordings and of the log. [~/.local/state/cepheid]")
    keep_days: float = _set(365.0, "Jobs that ended earlier leave the history.")
    keep_jobs: int = _set(100_000, "Of more jobs the oldest leave it.")
    keep_mib: float = _set(1024.0, "Of more than that the oldest leave it, time series and all.")
    log_level: str = _set("warning", "debug, info, warning or error.")

    def __post_init__(self) -> None:
        for name, least, most in (
            ("keep_days", 0.001, 36500.0),
            ("keep_jobs", 1, 100_000_000),
            ("keep_mib", 0.1, 1e9),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise UsageError(
                    f"CEPHEID_{name.upper()} is {value:g}",
                    hint=f"from {least:g} to {most:g} it can be",
                )
        levels = ("debug", "info", "warning", "error")
        if self.log_level not in levels:
            raise UsageError(
                f"CEPHEID_LOG_LEVEL is {self.log_level!r}", hint=f"one of {', '.join(levels)}"
            )


def of_environment(environment: Mapping[str, str] = os.environ) -> LaptopSettings:
    # An empty variable is as good as none: so shells unset them for one command.
    return read(LaptopSettings, {}, {name: text for name, text in environment.items() if text})


def state_folder(settings: LaptopSettings, environment: Mapping[str, str] = os.environ) -> Path:
    if settings.state:
        return Path(settings.state).expanduser().absolute()
    told = Path(environment.get("XDG_STATE_HOME", ""))
    # The rules say that a relative one is invalid and ignored.
    return (told if told.is_absolute() else Path.home() / ".local/state") / "cepheid"
