"""Which tests may run beside which? For pytest-xdist: `make test` gives it several workers.

All tests of a folder below share a cluster or servers, and the first begins what the last looks at.
So it is one piece, in its order. Every other file is a piece of its own. Most of the time all of
them wait.

The cluster of the end to end tests ends with the worker that runs them, so that one runs nothing
else: as soon as it is done, the machine has one cluster less.
"""

from typing import Any

from xdist.scheduler.loadscope import LoadScopeScheduling

FOLDERS = ("tests/e2e", "tests/faults", "tests/faults_trials")
ALONE = "tests/e2e"
LONG = ("tests/trials/test_trials.py", "tests/faults_trials")
"""A quarter of an hour each: were they begun last, all would wait for them."""
BEFORE_LONG = 6
"""So many are begun before those: not all that starts clusters and servers at once."""


def piece_of(test: str) -> str:
    """Its folder, or its file."""
    file = test.partition("::")[0]
    folder = "/".join(file.split("/")[:2])
    return folder if folder in FOLDERS else file


class Pieces(LoadScopeScheduling):  # type: ignore[misc] # it has no types
    """Hands them out in the order in which they were collected, but for those that take long."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return piece_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        long = next((piece for piece in LONG if piece in self.workqueue), None)
        if long is not None and sum(map(len, self.assigned_work.values())) >= BEFORE_LONG:
            self.workqueue.move_to_end(long, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        others = [one for one in self.nodes if one is not node and not one.shutting_down]
        if others and ALONE in self.assigned_work[node]:
            node.shutdown()  # when it is done with what it has
        else:
            super()._reschedule(node)
