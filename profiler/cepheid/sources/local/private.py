"""Memory that the tree shares with nobody (USS): the costly figure, so a seldom one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.sources.local import catalog
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.seldom import Seldom


@dataclass(slots=True, eq=False)
class PrivateMemory:
    """The kernel walks every page for it, some 10 ms a GB, in which the process cannot map memory:
    the more there is the seldomer it is read."""

    tree: Tree
    seldom: Seldom = field(default_factory=Seldom)
    columns: tuple[str, ...] = catalog.of("uss")

    def read(self) -> Sequence[float]:
        if not self.seldom.due():
            return (math.nan,)
        found = [self.tree.processes.private_bytes(pid) for pid in self.tree.pids]
        self.seldom.done()
        known = [amount for amount in found if amount is not None]
        # Who ended meanwhile has none any more. Of whom it is not told, the sum is not known.
        return (sum(known) if known else math.nan,)
