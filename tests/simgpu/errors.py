"""The one exception that a user may see: what failed, then something to do about it."""

from __future__ import annotations


class SimgpuError(Exception):
    """Printed as `error: ...` and `hint: ...`; anything else is a bug and shows its traceback."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\nhint: {self.hint}" if self.hint else message
