"""What a process says of itself: a line an event, as text or JSON, and of trouble once each way."""

import json
import logging
import sys
from datetime import UTC, datetime

_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {"message"}


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        extra = [f"{k}={v}" for k, v in vars(record).items() if k not in _STANDARD]
        # What comes from the cluster must not be able to make up a line of its own.
        words = " ".join([record.getMessage(), *extra]).encode("unicode_escape").decode()
        line = f"{_time(record)} {record.levelname.lower():7} {words}"
        return line + (f"\n{self.formatException(record.exc_info)}" if record.exc_info else "")


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def set_up(log_format: str, level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if log_format == "json" else _Text())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # A line for every request is for those who debug us, not for those who run us.
    for noisy in ("httpx", "httpx2", "httpcore", "httpcore2", "urllib3"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLogger().level))


class Troubles:
    """Says once that something went wrong, and once that it is over."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._open: dict[str, int] = {}

    def say(self, what: str, *, happens: bool) -> None:
        """Of a state, not of an error."""
        if happens:
            self._begin(what, what)
        else:
            self.over(what)

    def happened(self, what: str, problem: Exception) -> None:
        self._begin(what, f"{what}: {problem}".replace("\nhint:", "; hint:"))

    def _begin(self, what: str, words: str) -> None:
        if what not in self._open:
            self._log.warning("%s", words)
        self._open[what] = self._open.get(what, 0) + 1

    def over(self, what: str) -> None:
        if times := self._open.pop(what, 0):
            self._log.info("%s: over, after %d time%s", what, times, "s" * (times != 1))

    def forget(self, what: str) -> None:
        """It is over because what it was about is gone: no news."""
        self._open.pop(what, None)

    def __contains__(self, what: str) -> bool:
        return what in self._open

    def __len__(self) -> int:
        return len(self._open)
