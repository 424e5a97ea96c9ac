"""What takes a minute or two to show: begun before all other tests, and looked at after them.

lost        a GPU of two is not measured any more
silent      the exporter of the GPUs does not answer
replaced    another board is at the place of the second GPU
hostile     labels and values that nobody can mean, for a while
ahead       the node's clock is a minute ahead
behind      the node's clock is a minute behind
"""

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler

from tests.faults.hostile import ELSEWHERE, LEFT_OUT, LIED_ABOUT, of_containers, of_gpus
from tests.faults.watch import SOON, Watched, populate, watched
from tests.simgpu.faults import GpuFaults
from tests.stage.agent import Agent
from tests.stage.exporters import page_of
from tests.stage.surroundings import Stage
from tests.unit.sources.servers import Reply, answer

SHIFTS_SECONDS = {"ahead": 60, "behind": -60}
COMES_AND_GOES = "comes-and-goes"
"""A node for whoever needs one in these surroundings."""
SILENT_VALID_SECONDS, SILENT_WINDOW_SECONDS = 60, 300
"""The shortest that there are."""
SELDOM = SOON | {"pass_seconds": 3, "write_seconds": 3600}
"""From the first test to the last is long enough for noise to spend every write that there is: so
only what must not wait is written. And there are six of them, on a machine that has other work."""
BEFORE_ALL_OTHERS = "GPU-00000000-0000-0000-0000-000000000001"
CLOCK = (
    "import sys, time; real, shift = time.time, float(sys.argv.pop(1));"
    "time.time = lambda: real() + shift; from cepheid.cli import main; sys.exit(main())"
)


@dataclass
class Begun:
    stage: Stage
    contexts: dict[str, tuple[AbstractContextManager[Watched], Watched]]

    @contextmanager
    def look(self, name: str) -> Iterator[Watched]:
        """At one of them, which ends with it."""
        context, seen = self.contexts.pop(name)
        with ExitStack() as stack:
            stack.push(context)
            yield seen

    def close(self) -> None:
        """Those that nobody looked at: ended, and not judged."""
        for _, seen in self.contexts.values():
            seen.agent.close()


def prepare(stage: Stage) -> None:
    """Before Prometheus starts."""
    for name in FAULTS:
        populate(stage, name)
    populate(stage, COMES_AND_GOES, others=2)
    stage.api.node(ELSEWHERE)
    stage.api.pod(ELSEWHERE, ELSEWHERE, ELSEWHERE)
    for name, shift in SHIFTS_SECONDS.items():
        path = stage.exporters.cadvisor_path(name)
        stage.exporters.instead[path] = _by_a_wrong_clock(stage, path, shift)


def begin(stage: Stage) -> Begun:
    begun = Begun(stage, {})
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(partial(_begin, begun), FAULTS))
    except BaseException:
        begun.close()
        raise
    return begun


def _begin(begun: Begun, name: str) -> None:
    (node,) = (node for node in begun.stage.world.nodes if node.name == name)
    context = watched(begun.stage, node, _agent(begun.stage, name))
    seen = context.__enter__()
    begun.contexts[name] = (context, seen)
    FAULTS[name](seen)


def _agent(stage: Stage, name: str) -> Agent:
    if name == "silent":
        short = {"valid_seconds": SILENT_VALID_SECONDS, "window_seconds": SILENT_WINDOW_SECONDS}
        return stage.agent(name, **SELDOM | short)
    agent = stage.agent(name, **SELDOM | {"window_seconds": 3600})  # longer than all tests take
    if name in SHIFTS_SECONDS:
        # The same program, told another time.
        agent.command = [sys.executable, "-c", CLOCK, str(SHIFTS_SECONDS[name]), "agent"]
    return agent


def _lose(seen: Watched) -> None:
    seen.touched.add(1)
    seen.node.gpus[1].faults = GpuFaults(lost=True)


def _silence(seen: Watched) -> None:
    exporters = seen.stage.exporters
    exporters.instead[exporters.dcgm_path(seen.node.name)] = answer(500, b"")
    seen.more_passes(5)
    seen.before = seen.objects()  # with what the last samples told


def _replace(seen: Watched) -> None:
    seen.touched.add(1)
    gpu = seen.node.gpus[1]
    (device,) = gpu.hardware.devices
    devices = (replace(device, uuid=BEFORE_ALL_OTHERS),)
    gpu.hardware = replace(gpu.hardware, uuid=BEFORE_ALL_OTHERS, devices=devices)


def _be_hostile(seen: Watched) -> None:
    """Only until all of it was read, and something else was told in spite of it."""
    exporters, name = seen.stage.exporters, seen.node.name
    elsewhere = seen.stage.api.admin.within(ELSEWHERE).get("pod", ELSEWHERE)["metadata"]["uid"]
    exporters.more[exporters.dcgm_path(name)] = of_gpus(name, seen.node.gpus[0].uuid)
    exporters.more[exporters.cadvisor_path(name)] = of_containers(elsewhere)
    for what in (LIED_ABOUT, *LEFT_OUT):
        seen.says(what)
    seen.change()
    seen.tells()
    seen.kept()
    exporters.more.clear()


FAULTS: dict[str, Callable[[Watched], None]] = {
    "lost": _lose,
    "silent": _silence,
    "replaced": _replace,
    "hostile": _be_hostile,
    "ahead": Watched.change,
    "behind": Watched.change,
}


def _by_a_wrong_clock(stage: Stage, path: str, shift_seconds: float) -> Reply:
    """A kubelet says when it measured, by the clock of its node."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        text = stage.exporters.page(path, time.time() + shift_seconds)
        page_of(text or "")(handler)

    return reply
