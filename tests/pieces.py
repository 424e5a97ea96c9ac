"""Which tests may run beside which? For pytest-xdist: `make test` gives it several workers.

All tests of a folder below share a cluster or servers, and the first begins what the last looks at.
So it is one piece, in its order, and whoever runs it runs nothing else: what was started for it
ends with it. Every other file is a piece of its own. Most of the time all of them wait.
"""

from typing import Any

from xdist.scheduler.loadscope import LoadScopeScheduling

FOLDERS = ("tests/e2e", "tests/faults")


def piece_of(test: str) -> str:
    """Its folder, or its file."""
    file = test.partition("::")[0]
    folder = "/".join(file.split("/")[:2])
    return folder if folder in FOLDERS else file


class Pieces(LoadScopeScheduling):  # type: ignore[misc] # it has no types
    """Hands them out in the order in which they were collected: what takes long comes first."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return piece_of(nodeid)

    def _reschedule(self, node: Any) -> None:
        others = [one for one in self.nodes if one is not node and not one.shutting_down]
        if others and any(piece in FOLDERS for piece in self.assigned_work[node]):
            node.shutdown()  # when it is done with what it has
        else:
            super()._reschedule(node)
