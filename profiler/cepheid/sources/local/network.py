"""What the interfaces of the tree's network namespace received and sent."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.sources.local import catalog
from cepheid.sources.local.files import Roots, read_bytes

_PASSING_ON = re.compile(
    r"veth|docker|br-|bridge|virbr|vnet|tap|tun|wg|ifb|cni|flannel|cali|cilium|lxc|bond|team|dummy"
    r"|ipvlan|macvlan|utun|awdl|llw|gif|stf|anpi|.*[.@]"
)
"""Names of interfaces whose traffic is, or was, another's too: bridges, tunnels, their ends."""
_RECEIVED, _SENT = 0, 8
_FIELDS = 16

Counters = dict[str, tuple[float, float]]


@dataclass(slots=True, eq=False)
class NetworkTraffic:
    """Counted from 0 on: an interface may come and go, and the process may enter a namespace."""

    pid: int | None
    """Whose namespace; None for our own."""
    roots: Roots = field(default_factory=Roots)
    columns: tuple[str, ...] = catalog.of("network")
    _namespace: str | None = None
    _last: Counters = field(default_factory=dict)
    _total: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        self._namespace, self._last = self._look()

    def read(self) -> Sequence[float]:
        namespace, now = self._look()
        if namespace != self._namespace:
            # Another namespace's counters: what stood there before is not ours.
            self._namespace, self._last = namespace, now
        received, sent = self._total
        for name, (into, out) in now.items():
            before = self._last.get(name, (0.0, 0.0))
            received += into - before[0] if into >= before[0] else into
            sent += out - before[1] if out >= before[1] else out
        self._last, self._total = now, (received, sent)
        return self._total

    def _look(self) -> tuple[str | None, Counters]:
        if not os.path.exists(f"{self.roots.proc}/self/net/dev"):  # noqa: PTH110
            return None, counted_on(_elsewhere())
        for who in (str(self.pid), "self"):
            try:
                # A zombie has none any more.
                namespace = os.readlink(f"{self.roots.proc}/{who}/ns/net")  # noqa: PTH115
                data = read_bytes(f"{self.roots.proc}/{who}/net/dev")
            except OSError:
                if who == "self":
                    raise
                continue
            if who == "self" and self._namespace is not None and namespace != self._namespace:
                return self._namespace, self._last  # its namespace ended with it
            return namespace, counted_on(interfaces(data))
        raise AssertionError  # pragma: no cover


def interfaces(data: bytes) -> Counters:
    """What stands in /proc/net/dev, behind its two lines of headings."""
    found: Counters = {}
    for line in data.splitlines()[2:]:
        name, colon, rest = line.rpartition(b":")
        fields = rest.split()
        if colon and len(fields) >= _FIELDS:
            found[name.decode(errors="replace").strip()] = (
                float(fields[_RECEIVED]),
                float(fields[_SENT]),
            )
    return found


def counted_on(found: Counters) -> Counters:
    """Those whose traffic no other one has too; all, where only such are (rootless containers)."""
    outward = {name: counted for name, counted in found.items() if name not in ("lo", "lo0")}
    own = {name: counted for name, counted in outward.items() if not _PASSING_ON.match(name)}
    return own or outward


def _elsewhere() -> Counters:
    import psutil  # noqa: PLC0415 (where there is no /proc)

    return {
        name: (float(counted.bytes_recv), float(counted.bytes_sent))
        for name, counted in psutil.net_io_counters(pernic=True).items()
    }
