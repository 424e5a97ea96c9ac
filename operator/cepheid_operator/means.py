"""What every part of the operator works with."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from cepheid.logs import Troubles
from cepheid_operator.hands import Hands
from cepheid_operator.telemetry import Telemetry

LOG = logging.getLogger("cepheid.operator")


@dataclass(frozen=True, slots=True)
class Means:
    hands: Hands
    check: Callable[[], None]
    """Before every write: raises where another instance may act."""
    telemetry: Telemetry
    troubles: Troubles
    steady: Callable[[], float]
    """Seconds that never jump."""
    wall: Callable[[], datetime]
    """The time of day, as the API server has it."""

    def lived_through(self, about: object, problem: Exception) -> None:
        """A bug of ours, or what nobody foresaw. It is about one object: all others go on."""
        LOG.error("%s is left alone for a while", about, exc_info=problem)
        self.telemetry.errors.labels("bug").inc()
