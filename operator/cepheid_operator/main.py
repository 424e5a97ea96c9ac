"""The process: waits for the Lease, acts while it holds it, and ends when it does not any more."""

import logging
import os
import signal
import socket
import threading
from functools import partial

from cepheid import __version__, logs
from cepheid.annotations.api import ApiServer, connect
from cepheid.errors import LeaseLostError
from cepheid.logs import Troubles
from cepheid.serving import serve
from cepheid.settings import OperatorSettings
from cepheid_operator import handlers
from cepheid_operator.acting import Acting
from cepheid_operator.holding import TIMEOUT_SECONDS, Holding
from cepheid_operator.telemetry import Telemetry

LOG = logging.getLogger("cepheid.operator")


def run(settings: OperatorSettings) -> int:
    logs.set_up(settings.log_format, settings.log_level)
    handlers.quieten(logging.getLogger().level)
    telemetry = Telemetry()
    server = serve(telemetry, settings.listen_address)
    LOG.info("cepheid %s, operator", __version__)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with ApiServer(partial(connect, timeout_seconds=TIMEOUT_SECONDS)) as api:
        holding = Holding(
            api,
            settings.namespace,
            _identity(settings),
            Troubles(LOG),
            looked=telemetry.lease_seen,
            tried=partial(telemetry.alive, "lease"),
        )
        code = _act(settings, holding, telemetry, stop) if holding.acquire(stop) else 0
    LOG.info("stopped")
    server.shutdown()
    return code


def _act(
    settings: OperatorSettings, holding: Holding, telemetry: Telemetry, stop: threading.Event
) -> int:
    code = 0

    def fail() -> None:
        nonlocal code
        code = 1
        stop.set()

    acting = Acting(settings, holding, telemetry, fail)
    telemetry.acting.set(1)
    acting.start()
    try:
        holding.keep(stop)
    except LeaseLostError as lost:
        LOG.error("%s", str(lost).replace("\nhint:", "; hint:"))
        # At once: whatever still runs here must not go on.
        os._exit(1)
    telemetry.acting.set(0)
    acting.stop()
    holding.release()
    return code


def _identity(settings: OperatorSettings) -> str:
    """Another one for each process: who comes back after a crash is somebody else."""
    name = settings.identity or socket.gethostname()
    return f"{name}_{os.getpid()}_{os.urandom(4).hex()}"
