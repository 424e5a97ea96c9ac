"""Which tests may run beside which? For pytest-xdist: `make test` gives it several workers.

All tests of a folder below share a cluster or servers, and the first begins what the last looks at.
So it is one piece, in its order. Every other file is a piece of its own. Most of the time all of
them wait.
"""

from typing import Any

from xdist.scheduler.loadscope import LoadScopeScheduling

FOLDERS = ("tests/e2e", "tests/readme", "tests/faults", "tests/faults_trials", "tests/scheduling")
AFTER = {"tests/trials": "tests/readme", "tests/listening": "tests/readme"}
"""On the same worker, since each has a cluster: a third one would take what two cores have left."""
FIRST = ("tests/e2e", "tests/readme", "tests/faults", "tests/faults_operator")
"""What takes long, or waits long, with room beside it for all that is short."""
LONG = ("tests/faults_trials",)
"""A quarter of an hour: were it begun last, all would wait for it."""
BEFORE_LONG = 6
"""So many are begun before it: not all that starts servers at once."""


def piece_of(test: str) -> str:
    """Its folder, or its file."""
    file = test.partition("::")[0]
    folder = AFTER.get(_folder(file), _folder(file))
    return folder if folder in FOLDERS else file


def _folder(piece: str) -> str:
    return "/".join(piece.split("/")[:2])


class Pieces(LoadScopeScheduling):  # type: ignore[misc] # it has no types
    """Hands out what takes long before the rest, and that in the order of its collection."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return piece_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=self._turn), last=False)
        super()._assign_work_unit(node)

    def _turn(self, piece: str) -> int:
        handed_out = sum(map(len, self.assigned_work.values()))
        if piece in LONG and handed_out >= BEFORE_LONG:
            return -1
        folder = _folder(piece)
        return FIRST.index(folder) if folder in FIRST else len(FIRST)
