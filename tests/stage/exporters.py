"""Serves a world to Prometheus: each node's dcgm-exporter and kubelet, by path, from this process.

For hostile pages: `more` is appended to a page, `instead` takes its place.

    exporters.more[exporters.dcgm_path("gpu-a")] = 'DCGM_FI_DEV_GPU_UTIL{gpu="\\\\"} 1\\n'
    exporters.instead[exporters.cadvisor_path("gpu-a")] = answer(500, b"")
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.stage import cadvisor, dcgm
from tests.stage.world import World
from tests.unit.sources.servers import Reply, answer, front

TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Exporters:
    def __init__(self, world: World, clock: Callable[[], float] = time.time) -> None:
        self.world = world
        self.address = ""
        """host:port, once it serves."""
        self.more: dict[str, str] = {}
        self.instead: dict[str, Reply] = {}
        self._clock = clock

    @staticmethod
    def dcgm_path(node: str) -> str:
        return f"/{node}/dcgm/metrics"

    @staticmethod
    def cadvisor_path(node: str) -> str:
        return f"/{node}/metrics/cadvisor"

    def page(self, path: str, when: float) -> str | None:
        """As it is, or was at any moment since the machines are up; None where there is none."""
        for node in list(self.world.nodes):
            if path == self.dcgm_path(node.name):
                return dcgm.page(self.world, node, when)
            if path == self.cadvisor_path(node.name):
                return cadvisor.page(self.world, node, when)
        return None

    def reply(self, handler: BaseHTTPRequestHandler) -> None:
        text = self.page(handler.path, self._clock())
        if handler.path in self.instead:
            self.instead[handler.path](handler)
        elif text is None:
            answer(404, b"no such node")(handler)
        else:
            whole = text + self.more.get(handler.path, "")
            answer(200, whole.encode(), Content_Type=TEXT)(handler)


def page_of(text: str) -> Reply:
    """For `instead`: a page made up whole."""
    return answer(200, text.encode(), Content_Type=TEXT)


@contextmanager
def exporters(world: World) -> Iterator[Exporters]:
    with front() as served:
        made = Exporters(world)
        made.address = served.url.removeprefix("http://")
        served.reply = made.reply
        yield made
