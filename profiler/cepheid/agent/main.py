"""The process: everything put together once, then passes until SIGTERM."""

import logging
import random
import signal
import threading
import time

from cepheid import __version__, logs
from cepheid.agent.loop import Agent
from cepheid.agent.objects import Objects
from cepheid.agent.telemetry import Telemetry
from cepheid.annotations.api import TIMEOUT_SECONDS, ApiServer
from cepheid.serving import serve
from cepheid.settings import AgentSettings
from cepheid.sources.access import access_of
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.reader import NodeReader
from cepheid.sources.selection import Target
from cepheid.sources.window import Bounds

LOG = logging.getLogger("cepheid.agent")
JITTER = 0.1
"""Of a pass: so that the agents of a cluster do not ask all at once."""
SLOWEST = 4
"""Passes that fail come ever later, up to so many times the usual distance."""


class _Told(BaseException):
    """To end, in the middle of a pass: whoever comes next reads and writes what is missing."""


def run(settings: AgentSettings) -> None:
    logs.set_up(settings.log_format, settings.log_level)
    longest = settings.prometheus_timeout_seconds + TIMEOUT_SECONDS
    telemetry = Telemetry(settings.pass_seconds, answer_seconds=longest)
    server = serve(telemetry, settings.listen_address)
    LOG.info("cepheid %s profiles node %s", __version__, settings.node_name)
    stop = threading.Event()

    def end(*_: object) -> None:
        # Not at the end of the pass: a server that hangs would outlast the pod's grace period.
        if not stop.is_set():
            stop.set()
            raise _Told

    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        _run_passes(settings, telemetry, stop)
    except _Told:
        pass
    LOG.info("stopped")
    server.shutdown()


def _run_passes(settings: AgentSettings, telemetry: Telemetry, stop: threading.Event) -> None:
    troubles = logs.Troubles(LOG)
    with ApiServer() as api:
        agent = Agent(
            settings,
            NodeReader(
                PrometheusClient(access_of(settings), telemetry.alive),
                Target(node=settings.node_name),
                Bounds(window_seconds=settings.window_seconds, max_series=settings.most_series),
            ),
            Objects(api, telemetry, troubles),
            telemetry,
            troubles,
            wall=time.time,
            steady=time.monotonic,
        )
        failed = 0
        while not stop.is_set():
            begin = time.monotonic()
            good = agent.one_pass()
            telemetry.pass_seconds.observe(time.monotonic() - begin)
            telemetry.pass_ended(good=good)
            failed = 0 if good else failed + 1
            distance = settings.pass_seconds * min(SLOWEST, max(1, failed))
            distance *= random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 # no secret
            stop.wait(max(0.0, begin + distance - time.monotonic()))
