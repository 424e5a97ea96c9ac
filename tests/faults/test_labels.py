"""What is measured has labels and values that nobody can mean."""

from tests.faults.begun import Begun
from tests.faults.hostile import ELSEWHERE, LEFT_OUT, LIED_ABOUT

MOST_CHARACTERS = 1000


def test_hostile_labels_and_values_change_nothing(begun: Begun) -> None:
    """While they came, something else was told in spite of them: see `begun`."""
    with begun.look("hostile") as seen:
        assert begun.stage.api.annotations("pod", ELSEWHERE, ELSEWHERE) == {}
        seen.kept()
        assert [gpu.index for gpu in seen.facts().gpus] == [0, 1]
        # The policy keeps it from another's pods; of that nothing is said when it is over.
        lied = seen.says(LIED_ABOUT, "cepheid-agent-pods")
        left_out = [seen.says(what) for what in LEFT_OUT]
        seen.agent.untroubled(but=[lied, *left_out, *map(seen.says_over, left_out)])
        assert max(map(len, seen.agent.log.read_text().splitlines())) < MOST_CHARACTERS
