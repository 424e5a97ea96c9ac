"""The clock jumps, and is put right again."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.progress import wait_for
from tests.faults_operator.conftest import Start
from tests.faults_operator.submitted import Submitted, used
from tests.stage.operator import Operator

Make = Callable[..., Submitted]
CLOCK = """
import sys, time, pathlib
real, shift = time.time, pathlib.Path(sys.argv.pop(1))
time.time = lambda: real() + float(shift.read_text())
from cepheid.cli import main
sys.exit(main())
"""
DAY = 86_400


@pytest.mark.parametrize("days", [-400, 400], ids=["back", "ahead"])
def test_a_clock_that_jumps_neither_loses_the_lease_nor_ages_a_profile(
    start: Start, job: Make, tmp_path: Path, days: int
) -> None:
    shift = tmp_path / "shift"
    shift.write_text("0")
    operator = _on_another_clock(start, shift)
    before = job("before")
    before.succeed()
    before.finished()
    shift.write_text(str(days * DAY))
    # By now it has renewed the Lease, and seen by the API server's answer that its clock is off.
    wait_for("the trouble", lambda: any("clock" in one["message"] for one in operator.troubles()))
    during = job("during")
    during.add_pod("during-0", usage=used(40, 900))
    wait_for("annotations", during.annotations)
    during.delete()
    profile = during.finished()
    assert profile["ended"][:4] == profile["created"][:4]
    assert profile["durationSeconds"] < 600
    shift.write_text("0")
    after = job("after")
    after.succeed()
    after.finished()
    assert operator.acts
    assert before.profile() is not None


def _on_another_clock(start: Start, shift: Path) -> Operator:
    made = start("a", keep_days=30)
    wait_for("an operator that acts", lambda: made.acts)
    made.stop()
    # The same program, told another time.
    made.command = [sys.executable, "-c", CLOCK, str(shift), "operator"]
    made.start()
    wait_for("an operator that acts", lambda: made.acts)
    return made
