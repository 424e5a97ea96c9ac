"""Who holds what others wait for: cases calculated by hand, on a cluster of three nodes."""

import json
import math
import re
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cepheid.jobprofile import HeldBackBy, JobProfile, Outcome, Reason, Spread, Usage
from cepheid.reports.contention.hogs import BY, EXEMPT, HogRow, Hogs, Question, hogs, worst
from tests import REPOSITORY
from tests.unit.history.strategies import BEGIN, several
from tests.unit.reports.contended import DAY, GIB, NODES, hour, idle, ran, waits


def asked(jobs: Sequence[JobProfile], **others: Any) -> Hogs:
    known: dict[str, Any] = {"since": hour(0), "now": hour(24), "nodes": NODES}
    return hogs(jobs, Question(**{**known, **others}))


def only(found: Hogs) -> HogRow:
    (row,) = found.rows
    return row


def example() -> list[JobProfile]:
    """That of docs/hogs.md."""
    return [
        ran("lin", 10, 14, gpus=6, name="bert"),
        ran("ann", 10, 14, gpus=2),
        ran("ben", 14, 15, gpus=4, made=11),
        ran("cy", 14, 15, gpus=1, made=12),
    ]


@pytest.mark.parametrize("nodes", [NODES, ()])
def test_the_example_by_hand(nodes: Any) -> None:
    row = only(asked(example(), nodes=nodes))
    assert (row.who, row.kind, row.resource, row.system) == (
        "lin",
        "beyond fair share",
        "gpu",
        "A100-80",
    )
    # From 11 to 12 the share is 3, from 12 to 14 it is 2.5, which are 3 whole GPUs.
    assert row.held == 6.0
    assert row.fair_share == pytest.approx((3 * 1 + 2.5 * 2) / 3)
    assert row.excess_hours == pytest.approx(3 * 1 + 3 * 2)
    assert (row.waited_seconds, row.held_seconds) == (3 * 3600.0, 4 * 3600.0)
    assert (row.waiting_jobs, row.waiting_users) == (2, 2)
    assert row.why == "6 GPUs held, where a fair share was 2.67; the most by bert"
    assert row.advice == "hold 3 GPUs while others wait, and queue the rest"


@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_the_worst_are_the_first_rows_of_each_hog_without_who_is_exempt(most: int) -> None:
    label = {EXEMPT[0]: EXEMPT[1]}
    jobs = [
        idle(ran("dan", 9, 20, gpus=2, labels=label)),
        idle(ran("eve", 9, 20, gpus=1)),
        idle(ran("lin", 9, 20, gpus=1, name="notebook")),
        *example(),
    ]
    question = Question(since=hour(0), now=hour(24), nodes=NODES)
    rows = hogs(jobs, question).rows
    people = [row.who for row in rows]
    each = [row for place, row in enumerate(rows) if people.index(row.who) == place]
    assert len(rows) > len(each) > 1
    found = worst(jobs, question, most)
    assert (list(found.rows), found.others) == (each[:most], max(0, len(each) - most))


def test_the_documentation_has_the_same_figures() -> None:
    text = (REPOSITORY / "docs/hogs.md").read_text()
    row = only(asked(example()))
    told = re.search(r"in all (\d+) GPU hours in (\d+) hours", text)
    assert told is not None
    assert (float(told[1]), float(told[2])) == (row.excess_hours, row.waited_seconds / 3600)
    assert row.why in text


def test_without_anybody_who_waits_there_is_no_hog() -> None:
    found = asked(example()[:2])
    assert (found.rows, found.count) == ((), 0)
    assert [(row.who, row.verdict) for row in found.left_out] == [("lin", "nobody waited")]


def test_of_who_has_just_begun_to_run_nobody_says_that_it_is_idle() -> None:
    waiter = waits("ben", 10, gpus=8)
    young = idle(ran("lin", 10, None, gpus=2, duration_seconds=60.0))
    told = replace(young, duration_seconds=300.0)
    assert asked([young, waiter], now=hour(14)).rows == ()
    assert only(asked([told, waiter], now=hour(14))).kind == "idle GPUs"


def test_who_was_suspended_holds_nothing_since_and_waits_for_nothing() -> None:
    """Its record is as long as it held something."""
    running = ran("lin", 10, None, gpus=8, duration_seconds=3600.0)
    waiter = ran("ben", 14, 15, gpus=8, made=12)
    assert only(asked([running, waiter])).who == "lin"
    suspended = replace(running, suspended=True)
    assert asked([suspended, waiter]).rows == ()
    holder, waiting = ran("lin", 10, 14, gpus=8), waits("ben", 10, gpus=8)
    assert only(asked([holder, waiting], now=hour(14))).who == "lin"
    assert asked([holder, replace(waiting, suspended=True)], now=hour(14)).rows == ()


def test_who_holds_no_more_than_a_fair_share_is_none_though_others_wait() -> None:
    jobs = [ran("lin", 10, 14, gpus=4), ran("ann", 10, 14, gpus=4), waits("ben", 10, gpus=8)]
    fair = asked([*jobs[:2], waits("lin", 10, gpus=4)], now=hour(14))
    assert fair.rows == ()
    assert {row.who for row in asked(jobs, now=hour(14)).rows} == {"lin", "ann"}


def test_a_job_that_waits_for_a100s_is_not_held_up_by_who_holds_t4s() -> None:
    holder = ran("lin", 10, 14, gpus=4, node="gpu-b")
    waiter = ran("ben", 14, 15, gpus=4, made=11)
    assert asked([holder, waiter]).rows == ()
    on_t4 = ran("ben", 14, 15, gpus=4, made=11, node="gpu-b")
    assert only(asked([holder, on_t4])).system == "T4"


def test_what_a_job_got_in_the_end_counts_before_what_other_runs_of_it_got() -> None:
    holder = ran("lin", 10, 14, gpus=4, node="gpu-b")
    before = ran("ben", 1, 2, gpus=4, node="gpu-b", series="x")
    assert asked([holder, before, ran("ben", 14, 15, gpus=4, made=11, series="x")]).rows == ()


def test_waits_of_less_than_a_minute_are_for_an_image() -> None:
    holder = ran("lin", 10, 12, gpus=8)
    for seconds, count in ((59, 0), (61, 1)):
        waiter = ran("ben", 12, 13, gpus=2, made=12 - seconds / 3600)
        assert asked([holder, waiter], least_seconds=1.0).count == count


def test_of_a_job_that_never_ran_its_earlier_runs_tell_what_it_could_use() -> None:
    holder = ran("lin", 10, 20, gpus=4, node="gpu-b")
    waiter = waits("ben", 12, gpus=4, series="x")
    assert only(asked([holder, waiter], now=hour(14))).who == "lin"
    before = ran("ben", 1, 2, gpus=4, series="x")
    assert asked([holder, waiter, before], now=hour(14)).rows == ()
    elsewhere = ran("ben", 1, 2, gpus=4, series="x", namespace="other")
    assert asked([holder, waiter, elsewhere], now=hour(14)).count == 1


def test_where_enough_is_free_nobody_is_in_the_way() -> None:
    jobs = [ran("lin", 10, 14, gpus=6), ran("ben", 14, 15, gpus=2, made=11)]
    assert asked(jobs).rows == ()
    # Eight A100s are known of nobody but the nodes: of six that were seen, six are held.
    assert only(asked(jobs, nodes=())).fair_share == 4.0


def test_a_clock_that_is_a_little_wrong_does_not_hide_a_hog() -> None:
    jobs = [ran("lin", 10, 14.01, gpus=8), ran("ben", 14, 15, gpus=8, made=11)]
    for nodes in (NODES, ()):
        assert only(asked(jobs, nodes=nodes)).fair_share == 4.0


def test_what_the_nodes_tell_counts_before_what_clocks_make_of_it() -> None:
    jobs = [ran("lin", 10, 14.5, gpus=8), ran("ben", 14, 15, gpus=8, made=11)]
    assert only(asked(jobs)).fair_share == 4.0


def test_of_what_is_short_in_one_place_only_the_scarcest_is_said() -> None:
    large: dict[str, Any] = {"node": "cpu-a", "cpu": "90", "memory": "380Gi"}
    jobs = [ran("lin", 10, 14, **large), ran("ben", 14, 15, made=11, **large)]
    assert only(asked(jobs)).resource == "cpu"


def test_whoever_held_something_for_a_moment_is_no_heavy_user() -> None:
    assert asked([ran("lin", 10, 10.1, gpus=8)]).left_out == ()
    assert len(asked([ran("lin", 10, 10.2, gpus=8)]).left_out) == 1


def test_who_asks_for_more_than_there_is_waits_for_nobody() -> None:
    holder = ran("lin", 10, 14, gpus=8)
    assert asked([holder, waits("ben", 10, gpus=9)], now=hour(14)).rows == ()
    assert asked([holder, waits("ben", 10, gpus=8)], now=hour(14)).count == 1


def test_slices_and_whole_gpus_are_different_things() -> None:
    holder = ran("lin", 10, 14, gpus=8)
    slices = waits("ben", 10, gpus=1, resource="nvidia.com/mig-1g.10gb")
    assert asked([holder, slices], now=hour(14)).rows == ()


def test_ones_own_queue_is_no_reason() -> None:
    jobs = [ran("lin", 10, 14, gpus=8), waits("lin", 10, gpus=8)]
    assert asked(jobs, now=hour(14)).rows == ()
    assert asked(jobs, now=hour(14), by="job").count == 1
    exempt = waits("lin", 10, gpus=8, labels=dict([EXEMPT]))
    assert asked([jobs[0], exempt], now=hour(14)).rows == ()


@pytest.mark.parametrize(
    ("minutes", "reason", "count"),
    [(0.9, None, 0), (9, None, 0), (11, None, 1), (60, Reason.IMAGE, 0), (60, Reason.CONFIG, 0)],
)
def test_short_waits_and_those_for_something_else_do_not_count(
    minutes: float, reason: Reason | None, count: int
) -> None:
    holder = ran("lin", 10, 12, gpus=8)
    waiter = ran("ben", 12, 13, gpus=2, made=12 - minutes / 60, reason=reason)
    assert asked([holder, waiter]).count == count


def test_many_short_jobs_count_as_one_and_a_single_one_not_at_all() -> None:
    waiter = waits("ben", 10, gpus=4)
    short = [
        ran("lin", 10 + at / 20, 10 + at / 20 + 0.04, gpus=8, name=f"s-{at}", series="s")
        for at in range(20)
    ]
    row = only(asked([*short, waiter], now=hour(11)))
    assert (row.who, row.jobs) == ("lin", 20)
    assert row.waited_seconds == pytest.approx(20 * 0.04 * 3600)
    assert asked([short[0], waiter], now=hour(11)).rows == ()
    assert asked([short[0], waiter], now=hour(11), least_seconds=60.0).count == 1


def test_gpus_that_are_held_and_not_used() -> None:
    jobs = [
        idle(ran("lin", 8, 14, gpus=8, name="notebook-7"), percent=4.0),
        waits("ben", 10, gpus=2),
        waits("cy", 12, gpus=1, name="a"),
        waits("cy", 13, gpus=1, name="b"),
    ]
    row = only(asked(jobs, now=hour(14)))
    assert row.kind == "idle GPUs"
    assert row.why == "notebook-7 holds 8 GPUs and used 4 % of them"
    assert (row.held_seconds, row.waited_seconds) == (6 * 3600.0, 4 * 3600.0)
    assert (row.waiting_jobs, row.waiting_users) == (3, 2)
    assert row.excess_hours == pytest.approx(8 * 4)
    assert row.move_to == ("T4",)
    assert "move it to T4" in row.advice


def test_an_idle_holder_within_the_fair_share_is_one_all_the_same() -> None:
    others = [ran("ann", 10, 14, gpus=7), waits("ben", 10, gpus=1)]
    found = asked([idle(ran("lin", 10, 14, gpus=1)), *others], now=hour(14))
    assert {row.who: row.kind for row in found.rows} == {
        "ann": "beyond fair share",
        "lin": "idle GPUs",
    }


def test_what_was_noted_at_most_tells_idle_where_nothing_else_does() -> None:
    live = ran("lin", 10, None, gpus=8)
    noted = replace(live, usage=Usage(gpu_util_percent=Spread(max=3.0)))
    busy = replace(live, usage=Usage(gpu_util_percent=Spread(max=30.0)))
    waiter = waits("ben", 10, gpus=2)
    assert only(asked([noted, waiter], now=hour(12))).kind == "idle GPUs"
    assert only(asked([busy, waiter], now=hour(12))).kind == "beyond fair share"
    unknown = replace(live, usage=None)
    assert only(asked([unknown, waiter], now=hour(12))).gpu_util_percent is None


def test_a_job_without_gpus_on_their_nodes_while_gpus_are_free_and_waited_for() -> None:
    etl = ran("eve", 10, 14, name="etl", cpu="60")
    waiter = waits("ben", 11, gpus=2, cpu="16")
    row = only(asked([etl, waiter], now=hour(14)))
    assert (row.who, row.kind, row.move_to) == ("eve", "no GPU needed", ("cpu-a",))
    assert row.why == "etl needs no GPU and takes 60 cores of A100-80 nodes"
    assert row.waited_seconds == 3 * 3600.0
    assert "cpu-a" in row.advice
    # Where all GPUs are held it is those that they wait for.
    others = ran("ann", 10, 14, gpus=8)
    assert {one.who for one in asked([etl, waiter, others], now=hour(14)).rows} == {"ann"}
    elsewhere = ran("eve", 10, 14, name="etl", cpu="60", node="cpu-a")
    assert asked([elsewhere, waiter], now=hour(14)).rows == ()


def test_memory_alone_stands_in_the_way_too_and_a_little_of_both_does_not() -> None:
    waiter = waits("ben", 11, gpus=2)
    large = ran("eve", 10, 14, cpu="1", memory="500Gi")
    row = only(asked([large, waiter], now=hour(14)))
    assert (row.kind, row.resource, row.held) == ("no GPU needed", "memory", 500 * GIB)
    little = ran("eve", 10, 14, cpu="6", memory="51Gi")
    assert asked([little, waiter], now=hour(14)).rows == ()
    too_large = ran("eve", 10, 14, cpu="1", memory="500Gi")
    assert only(asked([too_large, waiter], now=hour(14))).move_to == ()


def test_small_jobs_on_large_gpus() -> None:
    small = replace(
        ran("lin", 10, 14, gpus=2, name="tiny"),
        usage=Usage(
            gpu_util_percent=Spread(mean=60.0, max=100.0),
            gpu_memory_bytes=Spread(max=2 * 9 * GIB),
            tensor_percent=Spread(mean=12.0),
        ),
    )
    waiter = waits("ben", 11, gpus=8)
    others = ran("ann", 10, 14, gpus=2)
    row = only(asked([small, waiter, others], now=hour(14)))
    assert (row.kind, row.move_to, row.advice) == (
        "small job on large GPUs",
        ("T4",),
        "move it to T4",
    )
    assert row.why == "tiny used 9 of 80 GiB of each GPU and 12 % of the tensor pipes: T4 would do"


@pytest.mark.parametrize(
    ("memory_gib", "tensor"),
    [(14.5, 12.0), (9.0, 17.0), (None, 12.0), (9.0, None)],
)
def test_what_would_not_fit_or_was_not_measured_is_not_small(
    memory_gib: float | None, tensor: float | None
) -> None:
    usage = Usage(
        gpu_util_percent=Spread(mean=60.0),
        gpu_memory_bytes=None if memory_gib is None else Spread(max=memory_gib * GIB),
        tensor_percent=None if tensor is None else Spread(mean=tensor),
    )
    job = replace(ran("lin", 10, 14, gpus=1), usage=usage)
    assert asked([job, waits("ben", 11, gpus=8)], now=hour(14)).rows == ()


def test_cores_beside_gpus_count_only_where_it_is_known_how_many_there_are() -> None:
    jobs = [ran("lin", 10, 14, gpus=1, cpu="60"), waits("ben", 11, gpus=1, cpu="30")]
    row = only(asked(jobs, now=hour(14)))
    # Of 64 cores 30 are wanted and 60 held: 34 are left for who holds them.
    assert (row.resource, row.held, row.fair_share) == ("cpu", 60.0, 34.0)
    assert row.excess_hours == pytest.approx(26 * 3)
    before = ran("old", 1, 2, gpus=8)
    assert asked([*jobs, before], now=hour(14), nodes=()).rows == ()


def test_jobs_without_requests_hold_what_they_use() -> None:
    taken = Usage(cpu_cores=Spread(mean=90.0, max=96.0), memory_bytes=Spread(max=GIB))
    silent = replace(ran("lin", 10, 14, node="cpu-a", cpu="", memory=""), usage=taken)
    row = only(asked([silent, ran("ben", 14, 15, made=11, node="cpu-a", cpu="60")]))
    assert (row.resource, row.held, row.fair_share) == ("cpu", 90.0, 48.0)


def test_disk_and_network_are_taken_from_neighbours_only() -> None:
    def job(user: str, rate: float, **others: Any) -> JobProfile:
        made = ran(user, 10, 14, node=others.pop("node", "cpu-a"))
        return replace(made, usage=Usage(disk_bytes_per_second=Spread(mean=rate)), **others)

    held = HeldBackBy(kind="disk", share_percent=50.0)
    jobs = [job("lin", 900e6), job("ben", 100e6, held_back_by=held), job("far", 9e9, node="gpu-a")]
    row = only(asked(jobs))
    assert (row.who, row.resource, row.node) == ("lin", "disk", "cpu-a")
    assert row.held == pytest.approx(900e6, rel=1e-3)
    assert row.fair_share == pytest.approx(500e6, rel=1e-3)
    assert asked([jobs[0], job("ben", 100e6)]).rows == ()
    little = replace(jobs[1], held_back_by=HeldBackBy(kind="disk", share_percent=5.0))
    assert asked([jobs[0], little]).rows == ()


def test_who_uses_hardly_any_network_is_no_hog_beside_who_waits_for_it() -> None:
    """What a job exchanges between the GPUs of one node is held back by no neighbour."""

    def job(user: str, rate: float, **others: Any) -> JobProfile:
        made = ran(user, 10, 14, node="cpu-a")
        return replace(made, usage=Usage(network_bytes_per_second=Spread(mean=rate)), **others)

    held = HeldBackBy(kind="network", share_percent=53.0)
    waits = job("ben", 100.0, held_back_by=held)
    assert asked([job("lin", 2400.0), waits]).rows == ()
    assert only(asked([job("lin", 2.4e8), waits])).who == "lin"


@pytest.mark.parametrize(
    ("reason", "message", "limit", "count"),
    [
        (Reason.EVICTED, "The node was low on resource: memory.", None, 1),
        (Reason.EVICTED, "The node was low on resource: ephemeral-storage.", None, 0),
        (Reason.OOM_KILLED, None, None, 1),
        (Reason.OOM_KILLED, None, "8Gi", 0),
        (Reason.OOM_KILLED, None, "64Gi", 1),
    ],
)
def test_whoever_was_killed_for_want_of_memory_was_starved_by_neighbours(
    reason: Reason, message: str | None, limit: str | None, count: int
) -> None:
    def job(user: str, memory: float, **others: Any) -> JobProfile:
        made = ran(user, 10, 14, node="cpu-a", **others)
        limits = {} if limit is None else {"memory": limit}
        return replace(
            made,
            usage=Usage(memory_bytes=Spread(max=memory)),
            asked=tuple(replace(one, limits=limits) for one in made.asked),
        )

    victim = job("ben", 8 * GIB, reason=reason, message=message, outcome=Outcome.FAILED)
    found = asked([job("lin", 300 * GIB), victim])
    assert found.count == count
    for row in found.rows:
        assert (row.who, row.resource, row.node) == ("lin", "memory", "cpu-a")
        assert row.waited_seconds == 600.0


def test_shared_gpus_are_held_by_their_memory() -> None:
    shared: dict[str, Any] = {"resource": "nvidia.com/gpu.shared", "node": "gpu-b"}

    def job(user: str, begin: float, end: float, gib: float, **others: Any) -> JobProfile:
        made = ran(user, begin, end, gpus=1, **shared, **others)
        util = Spread(mean=50.0)
        return replace(
            made, usage=Usage(gpu_util_percent=util, gpu_memory_bytes=Spread(max=gib * GIB))
        )

    jobs = [job("lin", 10, 14, 14), job("ann", 10, 14, 1), job("ben", 14, 15, 8, made=11)]
    row = only(asked(jobs))
    assert (row.who, row.resource, row.held) == ("lin", "gpu-memory", 14 * GIB)
    assert row.fair_share == pytest.approx(7 * GIB)


def test_exempt_jobs_are_listed_apart_and_their_owner_answers_for_the_rest() -> None:
    label = dict([EXEMPT])
    jobs = [ran("lin", 10, 14, gpus=8, labels=label), waits("ben", 11, gpus=4)]
    found = asked(jobs, now=hour(14))
    assert found.rows == ()
    assert [(row.who, row.verdict) for row in found.exempt] == [("lin", "exempt")]
    other = [ran("lin", 10, 14, gpus=8, labels={"team": "infra"}), jobs[1]]
    assert asked(other, now=hour(14)).count == 1
    assert asked(other, now=hour(14), exempt=[("team", "infra")]).count == 0
    false = [ran("lin", 10, 14, gpus=8, labels={EXEMPT[0]: "false"}), jobs[1]]
    assert asked(false, now=hour(14)).count == 1


def test_who_is_held_to_account_is_chosen() -> None:
    jobs = [
        ran("lin", 10, 14, gpus=4, namespace="one", name="a-1", series="a"),
        ran("ann", 10, 14, gpus=4, namespace="one", name="b-1", series="b"),
        ran("ben", 14, 15, gpus=2, made=11, namespace="two"),
    ]
    assert asked(jobs).count == 2
    assert only(asked(jobs, by="namespace")).who == "one"
    assert {row.who for row in asked(jobs, by="job").rows} == {"one/a", "one/b"}


def test_only_the_time_asked_for_counts() -> None:
    row = only(asked(example(), since=hour(13)))
    assert (row.waited_seconds, row.held_seconds) == (3600.0, 3600.0)
    assert asked(example(), since=hour(14)).rows == ()
    assert asked(example(), now=hour(11)).rows == ()


def test_what_runs_still_counts_up_to_now_and_a_clock_ahead_does_not_add_time() -> None:
    for known in (None, 60.0):  # when its record was written, which may be long ago
        live = ran("lin", 10, None, gpus=8, duration_seconds=known)
        row = only(asked([live, waits("ben", 11, gpus=4)], now=hour(12)))
        assert (row.held_seconds, row.waited_seconds) == (2 * 3600.0, 3600.0)
    over = ran("lin", 10, None, gpus=8, duration_seconds=60.0, outcome=Outcome.ERROR)
    assert asked([over, waits("ben", 11, gpus=4)], now=hour(12)).rows == ()
    future = ran("lin", 10, 99, gpus=8)
    assert only(asked([future, waits("ben", 11, gpus=4)], now=hour(12))).held_seconds == 7200.0


def test_nodes_that_are_gone_are_known_by_the_gpus_they_had() -> None:
    gone = replace(ran("old", 1, 2, gpus=1, node="gpu-a"), nodes=("gone",))
    gone = replace(gone, gpus=tuple(replace(gpu, node="gone") for gpu in gone.gpus))
    etl = ran("eve", 10, 14, name="etl", cpu="60", node="gone")
    row = only(asked([gone, etl, waits("ben", 11, gpus=2, cpu="16")], now=hour(14)))
    assert (row.kind, row.system) == ("no GPU needed", "A100-80")


@settings(deadline=None)
@given(several(), st.sampled_from([*BY]))
def test_whatever_a_history_holds_the_answer_is_finite(runs: list[JobProfile], by: str) -> None:
    for nodes in ((), NODES):
        for now in (BEGIN, DAY + timedelta(days=40_000)):
            since = now - timedelta(days=30_000)
            found = hogs(
                runs, Question(since=since, now=now, by=by, nodes=nodes, least_seconds=0.0)
            )
            for row in (*found.rows, *found.exempt, *found.left_out):
                json.dumps(asdict(row), allow_nan=False)
                assert row.held >= 0
                assert row.why
                assert row.advice


def test_names_and_figures_of_nobody_are_no_data() -> None:
    found = asked([])
    assert (found.rows, found.exempt, found.left_out) == ((), (), ())


def test_ten_times_the_jobs_do_not_take_a_hundred_times_as_long() -> None:
    few, many = crowd(1_000), crowd(10_000)
    assert took_seconds(many) < 40 * took_seconds(few)


def crowd(count: int) -> list[JobProfile]:
    """Of 200 users, over a month."""
    made = []
    for number in range(count):
        begin = (number * 719.0 / count) % 700
        node = ("gpu-a", "gpu-b", "cpu-a")[number % 3]
        gpus = 0 if node == "cpu-a" else 1 + number % 4
        made.append(
            ran(
                f"user-{number % 200}",
                begin,
                begin + 0.2 + number % 7,
                gpus=gpus,
                node=node,
                made=begin - (number % 11) / 10,
                name=f"j-{number}",
                series=f"s-{number % 900}",
            )
        )
    return made


def took_seconds(jobs: list[JobProfile]) -> float:
    begun = time.process_time()
    found = asked(jobs, now=hour(800))
    took = time.process_time() - begun
    assert found.rows
    assert all(math.isfinite(row.excess_hours) for row in found.rows)
    return took
