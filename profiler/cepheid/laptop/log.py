"""What a laptop's commands say to a file, so that a terminal is left to the user's program."""

import logging
import logging.handlers
from pathlib import Path

from cepheid.laptop.settings import LaptopSettings, state_folder

MOST_BYTES = 1_000_000
OLD_FILES = 2


class _Quiet(logging.handlers.RotatingFileHandler):
    """A full disk is no reason to write tracebacks onto somebody's terminal."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 # logging's own name
        pass


def set_up(settings: LaptopSettings) -> None:
    """Never fails: without a folder to write to nothing is logged."""
    path = state_folder(settings) / "cepheid.log"
    root = logging.getLogger("cepheid")
    root.setLevel(settings.log_level.upper())
    root.propagate = False
    root.handlers = [_handler(path)]


def _handler(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = _Quiet(
            path, maxBytes=MOST_BYTES, backupCount=OLD_FILES, encoding="utf-8", delay=True
        )
    except OSError:
        return logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(process)d %(message)s"))
    return handler
