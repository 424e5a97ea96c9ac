"""Which jobs are asked for?"""

from dataclasses import dataclass
from datetime import datetime

from cepheid.jobprofile import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """All that is given must hold; what is None is not asked about."""

    user: str | None = None
    """Whom the job was made for; its service account, where it names nobody."""
    namespace: str | None = None
    kind: str | None = None
    name: str | None = None
    series: str | None = None
    """All runs of the same job."""
    outcome: Outcome | None = None
    since: datetime | None = None
    """Ended then or later; a running job counts at the last look at it."""
    until: datetime | None = None
    """Ended before then."""


EVERY_JOB = Query()
