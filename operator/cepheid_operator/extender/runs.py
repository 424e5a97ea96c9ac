"""Which earlier runs are there of the job that a pod belongs to?"""

from collections import defaultdict
from dataclasses import dataclass

from cepheid_operator.extender.needs import Run, alike


@dataclass(frozen=True, slots=True)
class Lineage:
    """What the runs of one job have in common."""

    namespace: str
    series: str
    template: str | None = None

    @property
    def place(self) -> tuple[str, str]:
        return self.namespace, self.series

    def __str__(self) -> str:
        return f"{self.namespace}/{self.series}"


def keys_of(lineage: Lineage | None) -> list[tuple[str, str]]:
    """What runs of the same job are found by; none where it is not known."""
    if lineage is None:
        return []
    # No series is called like that: Kubernetes' names have no "#".
    named = [] if lineage.template is None else [(lineage.namespace, f"#{lineage.template}")]
    return [lineage.place, *named]


class Runs:
    """Earlier runs of jobs, by what they were called and by what they were made from."""

    def __init__(self) -> None:
        self._all: dict[str, tuple[Lineage, Run]] = {}
        self._by: defaultdict[tuple[str, str], dict[str, Run]] = defaultdict(dict)

    def put(self, uid: str, lineage: Lineage, run: Run) -> bool:
        """Whether that was news."""
        if self._all.get(uid) == (lineage, run):
            return False
        self.drop(uid)
        self._all[uid] = (lineage, run)
        for key in keys_of(lineage):
            self._by[key][uid] = run
        return True

    def drop(self, uid: str) -> None:
        before = self._all.pop(uid, None)
        for key in () if before is None else keys_of(before[0]):
            self._by[key].pop(uid, None)
            if not self._by[key]:
                del self._by[key]

    def lineage(self, uid: str) -> Lineage | None:
        known = self._all.get(uid)
        return None if known is None else known[0]

    def alike(self, lineage: Lineage) -> list[Run]:
        """Of the same template where there are such, else of the same name; the last one first."""
        found: dict[str, Run] = {}
        for key in keys_of(lineage):
            found |= self._by.get(key, {})
        return alike(found.values(), lineage.template)

    def __len__(self) -> int:
        return len(self._all)
