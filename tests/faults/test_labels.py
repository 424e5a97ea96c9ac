"""What is measured has labels and values that nobody can mean."""

from tests.cluster.progress import wait_for
from tests.faults.begun import Begun
from tests.faults.hostile import ELSEWHERE

MOST_CHARACTERS = 1000


def test_hostile_labels_and_values_change_nothing(begun: Begun) -> None:
    """While they came, something else was told in spite of them: see `begun`."""
    with begun.look("hostile") as seen:
        assert begun.stage.api.annotations("pod", ELSEWHERE, ELSEWHERE) == {}
        seen.kept()
        assert [gpu.index for gpu in seen.facts().gpus] == [0, 1]
        wait_for("the end of it in the log", lambda: len(seen.overs()) >= 2)
        said = sorted(str(entry["message"]) for entry in seen.agent.troubles())
        elsewhere, containers, gpus = said
        assert elsewhere.startswith(f"annotating Pod {ELSEWHERE}/{ELSEWHERE}: ")
        assert "cepheid-agent-pods" in elsewhere  # the policy that keeps it from another's pods
        assert sorted(words.partition(": over")[0] for words in seen.overs()) == [containers, gpus]
        assert max(map(len, seen.agent.log.read_text().splitlines())) < MOST_CHARACTERS
