"""Everything that Cepheid raises on purpose.

    CepheidError                   somebody who reads the message can do something about it
    ├── UsageError                 the command line itself is wrong
    ├── SourceError                metrics could not be read; what was read before stays
    │   ├── SourceUnreachableError no connection, no trust, or no answer in time
    │   ├── SourceRefusedError     it wants other settings: address, credentials
    │   ├── SourceBusyError        it asks to come back later
    │   ├── QueryRejectedError     it did not like the question
    │   ├── AnswerBrokenError      it failed, or what came is not what Prometheus answers
    │   └── AnswerTooLargeError    more than was allowed; nothing of it was used
    ├── LeaseLostError             another instance may act now: nothing was written, and we end
    ├── ApiError                   the API server did not do what was asked
    │   ├── GoneError              the object is no more, or another one has its name: forget it
    │   ├── ForbiddenError         a right is missing, or an admission policy said no
    │   ├── LoginError             the credentials are not accepted, also after reading them again
    │   ├── TooLargeError          the object has no room for more annotations
    │   ├── ThrottledError         it asks to come back later
    │   └── UnavailableError       no connection, no answer in time, or it failed: try again
    └── HistoryError               profiles of jobs could not be kept or read
        ├── HistoryAwayError       no connection, locked, or full: try again
        ├── HistoryRefusedError    it wants other settings: address, password, rights, a library
        ├── HistoryVersionError    a newer Cepheid made it
        ├── HistoryBrokenError     what is kept there cannot be read
        ├── NoSuchJobError         no job has that uid, or more than one begins with it
        └── ImportBrokenError      a file to import, or a line of it, is no profile

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


class SourceError(CepheidError):
    """Metrics could not be read. Never holds a secret."""


class SourceUnreachableError(SourceError):
    """No connection, no trust in the certificate, or no answer in time."""


class SourceRefusedError(SourceError):
    """Nothing will change until somebody changes a setting."""


class SourceBusyError(SourceError):
    """It works, but not for us now."""

    def __init__(
        self, message: str, *, hint: str | None = None, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_seconds = retry_after_seconds


class QueryRejectedError(SourceError):
    """The server understood the request, and would not or could not compute it."""


class AnswerBrokenError(SourceError):
    """The server failed, or something between it and us answered in its place."""


class AnswerTooLargeError(SourceError):
    """The answer was above a limit; nothing of it was used."""


class LeaseLostError(CepheidError):
    """The Lease could not be renewed in time, or somebody else has it."""


class ApiError(CepheidError):
    """The API server did not do what was asked, and no other word for it fits better."""


class GoneError(ApiError):
    """The object was deleted, or deleted and made again under the same name."""


class ForbiddenError(ApiError):
    """Authorization or admission refused it; the next try will fare no better."""


class LoginError(ApiError):
    """The API server does not know who we are."""


class TooLargeError(ApiError):
    """All annotations of the object together would be more than Kubernetes takes."""


class ThrottledError(ApiError):
    """The API server protects itself."""

    def __init__(self, message: str, *, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class UnavailableError(ApiError):
    """The API server, or the way to it, failed."""


class HistoryError(CepheidError):
    """The database of profiles did not do what was asked. Never holds a secret."""


class HistoryAwayError(HistoryError):
    """The same will work again, when the database does."""


class HistoryRefusedError(HistoryError):
    """Nothing will change until somebody changes a setting."""


class HistoryVersionError(HistoryError):
    """Its tables are of a newer version; to write to them would lose what that one added."""


class HistoryBrokenError(HistoryError):
    """What stands there was not written by Cepheid, or did not stay as it was written."""


class NoSuchJobError(HistoryError):
    """Nobody answers to it, or more than one does."""


class ImportBrokenError(HistoryError):
    """What was to be imported is no profile; whatever was imported before it stays."""
