"""What is held, as columns: in the order of the jobs, and the same whichever way it came."""

import numpy as np

from cepheid.reports.contention.findings import heaviest
from cepheid.reports.contention.hogs import Question, hogs
from cepheid.reports.contention.rows import Rows, Times
from tests.unit.reports.contended import NODES, hour, ran

TIMES = Times.of([(0, 5), None, (2, 9), (3, 4)])
ROWS = [(0, 0, 5, 7), (2, 2, 9, 1), (3, 3, 4, 7)]
YEAR_US = 365 * 86400 * 1_000_000


def test_jobs_that_hold_alike_stand_in_the_order_of_all_jobs() -> None:
    assert [*Rows.alike([([0, 3], 7), ([2], 1)], TIMES).each()] == ROWS
    assert TIMES.runs == [0, 2, 3]


def test_parts_are_joined_in_the_order_of_the_jobs() -> None:
    parts = [Rows.of(ROWS[1:]), Rows.of(ROWS[:1])]
    assert [*Rows.joined(parts).each()] == ROWS
    assert [*Rows.joined([]).each()] == []


def test_pieces_of_one_job_keep_their_order() -> None:
    pieces = [(4, 7, 8, 1), (1, 0, 1, 1), (4, 2, 3, 1)]
    assert [*Rows.of(pieces).each()] == [pieces[1], pieces[0], pieces[2]]


def test_a_year_of_much_memory_does_not_overflow() -> None:
    (found,) = Rows.of([(0, 0, YEAR_US, 2**36)]).amounts_us()
    assert found == YEAR_US * 2**36 > np.iinfo(np.int64).max


def test_the_heaviest_holds_the_most_for_the_longest_and_of_equals_is_the_first() -> None:
    assert heaviest(Rows.of([(0, 0, 5, 2), (1, 0, 20, 1), (2, 0, 10, 2), (3, 0, 1, 9)])) == 1


def test_cores_and_memory_beside_gpus_are_nobody_s_heavy_use() -> None:
    jobs = [ran("lin", 1, 3, gpus=1, cpu="48", memory="300Gi"), ran("ann", 1, 3, gpus=4)]
    found = hogs(jobs, Question(since=hour(0), now=hour(4), nodes=NODES))
    assert [(row.who, row.resource) for row in found.left_out] == [("ann", "gpu")]
