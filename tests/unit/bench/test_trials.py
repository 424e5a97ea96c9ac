"""The simulator of trials: its truth, its noise, and what is printed of them."""

import math
import subprocess
import sys

import numpy as np

from cepheid.placementtrial import Goal, State
from tests import REPOSITORY
from tests.bench.trials import figures
from tests.bench.trials.play import search_for, try_all, try_at_random
from tests.bench.trials.scores import Score
from tests.bench.trials.truth import COUNTS, FAMILIES, GOALS, Job, jobs
from tests.bench.trials.trying import LIMITS, OVERHEAD_SECONDS, Ended, try_on


def measured(job: Job, place: int, seconds: float = 300.0) -> Ended:
    return try_on(job, job.candidates[place].placement, seconds, lambda _: False)


def test_jobs_are_the_same_in_every_run_and_of_every_family_and_goal() -> None:
    some = list(jobs(40, seed=5))
    assert some == list(jobs(40, seed=5))
    kinds = [(one.family, one.optimise.goal) for one in some]
    assert set(kinds) == {(family, goal) for family in FAMILIES for goal in GOALS}
    assert len({one.compute_seconds for one in some}) == 40


def test_something_can_run_and_something_is_the_best() -> None:
    for job in jobs(60, seed=5):
        losses = [job.loss(one.placement) for one in job.candidates]
        assert min(losses) == 0
        assert len(job.candidates) == 4 * len(COUNTS)


def test_some_placements_cannot_hold_the_job_and_some_cannot_be_had() -> None:
    some = list(jobs(60, seed=5))
    places = [(job, one.placement) for job in some for one in job.candidates]
    assert 0.02 < np.mean([not job.holds(one) for job, one in places]) < 0.4
    assert 0.02 < np.mean([not job.is_free(one) for job, one in places]) < 0.4


def test_one_that_costs_more_or_comes_late_is_worse() -> None:
    for job in jobs(60, seed=6):
        if job.optimise.goal is not Goal.DEADLINE:
            continue
        deadline, work = job.optimise.deadline_seconds, job.optimise.work
        assert deadline is not None
        assert work is not None
        for one in job.candidates:
            late = work / job.per_second(one.placement) / deadline - 1
            assert job.loss(one.placement) >= min(late, 0.05)


def test_noise_is_as_measured() -> None:
    """About 4 % by the work done, 1 to 2 % by a pulse that can be seen."""
    slow: list[float] = []
    fast: list[float] = []
    for job in jobs(200, seed=7):
        ended = measured(job, 8)
        placement, seen = ended.tried.placement, ended.tried.seen
        if seen is None:
            continue
        off = math.log(seen.per_second / job.per_second(placement))
        is_seen = 52.5 <= job.step_seconds(placement) <= 300 / 3.4
        (slow if is_seen else fast).append(off)
    assert 0.008 < np.std(slow) < 0.025
    assert 0.025 < np.std(fast) < 0.06


def test_measuring_for_longer_is_more_exact() -> None:
    job = next(jobs(1, seed=8))
    short, long = (measured(job, 8, seconds).tried.seen for seconds in (30.0, 300.0))
    assert short is not None
    assert long is not None
    assert long.error_ratio < short.error_ratio


def test_a_trial_never_holds_more_than_was_reserved() -> None:
    for job in jobs(20, seed=9):
        for place, one in enumerate(job.candidates):
            ended = measured(job, place)
            bound = OVERHEAD_SECONDS + LIMITS.warmup_seconds + 300.0
            assert ended.gpu_seconds <= one.placement.gpus * bound
            if not job.is_free(one.placement):
                assert ended.tried.state is State.UNAVAILABLE
            elif not job.holds(one.placement):
                assert ended.tried.state is State.OUT_OF_MEMORY


def test_a_trial_ends_when_it_is_clear() -> None:
    job = next(jobs(1, seed=8))
    answers = iter([False, False, True])
    ended = try_on(job, job.candidates[8].placement, 300.0, lambda _: next(answers))
    assert ended.measured_seconds == 120.0


def test_without_a_budget_nothing_is_tried() -> None:
    game = search_for(next(jobs(1, seed=8)), 0.0)
    assert game.ended == []
    assert game.answer is None


def test_the_grid_tries_everything_and_random_search_spends_no_more_than_it_may() -> None:
    job = next(jobs(1, seed=8))
    grid = try_all(job)
    assert len(grid.ended) == len(job.candidates)
    assert try_at_random(job, grid.spent / 5).spent <= grid.spent / 5


def score(**changes: object) -> Score:
    fields: dict[str, object] = {
        "family": "compute",
        "goal": "cost",
        "placements": 32,
        "loss": 0.01,
        "leader_loss": 0.01,
        "grid_loss": 0.0,
        "random_loss": math.inf,
        "spent": 0.1,
        "trials": 6,
        "out_of_memory": 0,
        "measured_seconds": 100.0,
        "covered": 0.9,
        "cpu_seconds": (0.01, 0.03),
        "words": "enough",
        "tight_budget": 0.04,
        "tight_spent": 0.03,
        "tight_loss": 0.2,
        "parallel": 2,
    }
    return Score(**(fields | changes))  # type: ignore[arg-type]


def test_targets_stand_beside_what_was_reached() -> None:
    text = figures.against_targets([score(), score(loss=0.06, spent=0.3)])
    for row in (
        "| within 5 % of the best | >= 95 % | 50.0 % |",
        "| GPU-seconds of the grid's | <= 40 %, aim 20 % | 20.0 % |",
        "| runs over their budget | 0 | 0 of 4 |",
        "| CPU of a choice, longest | <= 200 ms | 30 ms |",
    ):
        assert row in text
    assert "| 1 of 2 |" in figures.against_targets([score(tight_spent=0.05)])


def test_a_search_without_an_answer_is_no_good_one() -> None:
    assert "| random, for as much | 0.0 % | 100.0 % | 10.0 % |" in figures.beside_others([score()])


def test_too_few_jobs_are_an_error_with_a_hint() -> None:
    command = [sys.executable, "-m", "tests.bench.trials", "--jobs=0"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert run.returncode == 2
    assert "hint:" in run.stderr
    assert not run.stdout


def test_one_command_prints_every_table() -> None:
    command = [sys.executable, "-m", "tests.bench.trials", "--jobs=4", "--wide=1", "--seeds", "9"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert run.returncode == 0, run.stderr
    for words in (
        "## The search against its targets",
        "| plain grid |",
        "| communication |",
        "### With a small budget",
        "## With 104 placements",
    ):
        assert words in run.stdout
