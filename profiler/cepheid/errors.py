"""Everything that Cepheid raises on purpose.

    CepheidError        somebody who reads the message can do something about it
    └── UsageError      the command line itself is wrong

Whatever else comes out of Cepheid is a bug, and keeps its traceback.
"""

from typing import ClassVar


class CepheidError(Exception):
    """Says what failed, with the value and the limit, and in `hint` what the reader can do."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class UsageError(CepheidError):
    """What was typed cannot be understood; nothing was done."""

    exit_code: ClassVar[int] = 2
