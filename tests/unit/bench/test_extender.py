"""What the benchmark of the extender fills a cluster with, asks, counts and prints."""

import ipaddress
import json
from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest

from cepheid.annotations.codec import decode_node
from cepheid.jobprofile import from_document
from cepheid.jobs.lineage import series_of
from cepheid_operator.extender.needs import run_of
from cepheid_operator.extender.protocol import read
from tests.bench.extender import figures, fleet
from tests.bench.extender.constant import Constant
from tests.bench.extender.load import CONNECTIONS, Answered, Plan, ask, ask_here
from tests.bench.extender.measure import (
    CONSTANT,
    FILTER,
    ORDINARY,
    PRIORITIZE,
    RELISTED,
    Load,
    Measured,
    share,
)
from tests.bench.extender.scheduling import (
    GPU,
    NAMES,
    PLAIN,
    WITH,
    WITHOUT,
    Scheduled,
    choice,
    config,
)
from tests.cluster.pki import Authority
from tests.stage.processes import Usage

MIB = 2**20


def test_pods_hold_as_many_gpus_of_a_node_as_its_agent_says() -> None:
    for number in range(fleet.NODES):
        gpus = decode_node(fleet.annotations(number, 0)).facts.gpus
        assert len(gpus) == fleet.GPUS
        assert sum(gpu.pods or 0 for gpu in gpus) == fleet.held(number)
    assert sum(fleet.held(number) > 0 for number in range(fleet.NODES)) == fleet.NODES // 2


def test_every_job_has_earlier_runs_of_which_something_is_known() -> None:
    runs = [fleet.run(number) for number in range(fleet.SERIES * fleet.RUNS)]
    known = {
        (profile.job.namespace, profile.series)
        for document in runs
        for profile in [from_document(document)]
        if (run := run_of(profile)) is not None and run.gpu_type and run.memory_gb
    }
    jobs = [fleet.job(number) for number in range(fleet.SERIES)]
    assert {(job["metadata"]["namespace"], series_of(job)) for job in jobs} == known


def test_a_question_is_one_that_the_extender_understands() -> None:
    pod = fleet.gpu_pod("train-0", 3, "a-uid", 2)
    pod["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    names = [fleet.node_name(number) for number in range(3)]
    asked, told = read(json.dumps(fleet.question(pod, names)).encode())
    assert (asked["metadata"]["name"], told) == ("train-0", names)
    assert "managedFields" not in asked["metadata"]


def test_answers_count_from_when_they_should_have_been_asked(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("server", "server", addresses=[ipaddress.IPv4Address("127.0.0.1")])
    with Constant(tmp_path, pair, b"[]") as server:
        plan = Plan(server.port, authority.certificate, "prioritize", (b"{}",), 20.0, 1.0)
        answered = ask(plan)
        assert (len(answered.latencies), answered.answer) == (20, b"[]")
        assert not answered.failures
        server.freeze()
        Timer(2.0, server.thaw).start()
        late = ask_here(replace(plan, per_second=50.0, seconds=0.2))
    # Those that wait behind others on their connection are no less late.
    assert len(late.latencies) == 10 > CONNECTIONS
    assert min(late.latencies) > 0.5


def test_kube_scheduler_asks_about_pods_with_gpus_alone_and_sends_names() -> None:
    (extender,) = config(WITH, 9443, Path("ca.crt"))["extenders"]
    assert extender["nodeCacheCapable"] is True
    assert [one["name"] for one in extender["managedResources"]] == ["nvidia.com/gpu"]
    assert "extenders" not in config(WITHOUT, 9443, Path("ca.crt"))


def test_what_a_scheduler_took_before_does_not_count() -> None:
    begin = "scheduler_scheduling_algorithm_duration_seconds"
    before = f"{begin}_sum 1.0\n{begin}_count 10\n"
    after = f'{begin}_bucket{{le="1"}} 30\n{begin}_sum 1.5\n{begin}_count 30\n'
    assert choice(before, after) == pytest.approx(0.025)
    assert choice("", before) == pytest.approx(0.1)


def test_the_page_shows_the_targets_beside_what_was_reached() -> None:
    usage = Usage(100 * MIB, 120 * MIB, 2.0, 9)
    load = Load(Answered([0.002] * 98 + [0.004, 0.030]), 2.0, (usage, usage), 1.5, 0.25)
    found = Measured(1000, last=usage)
    found.loads = dict.fromkeys((PRIORITIZE, FILTER, RELISTED, CONSTANT), load)
    found.loads[ORDINARY] = replace(load, answered=Answered([0.050] * 100))
    found.scheduled = Scheduled(
        seconds={name: [0.030 if name == (WITH, GPU) else 0.020] for name in NAMES},
        choices=dict.fromkeys(NAMES, 0.01),
        rates={name: [100.0, 50.0, 60.0] for name in NAMES},
        asked={name: 600 if name == (WITH, GPU) else 0 for name in NAMES},
    )
    page = figures.against_targets(found)
    # What the machine's other work adds stands first, and is not left out.
    assert "p99, shared with others | <= 20 ms | 50.0 ms |" in page
    assert "no right to precedence there | <= 20 ms | 30.0 ms |" in page
    assert "with precedence" in figures.against_targets(replace(found, alone=True))
    assert "| <= 200 MiB | 120 MiB |" in page
    assert "a pod with GPUs, median | <= 10 ms | 10.0 ms |" in page
    assert "another pod, median | nothing | 0.0 ms |" in page
    assert "without GPUs | 0 | 0 |" in page
    assert "| 2.0 ms | 30.0 ms | 30.0 ms | 0 | 0.0 ms | 0% | 1.5, 25% idle |" in figures.of_loads(
        found
    )
    assert "| 120 MiB" not in figures.of_process(found)
    assert "| 60 | 600 |" in figures.of_scheduling(found.scheduled)
    assert (PLAIN, share([3.0, 1.0, 2.0], 0.5)) == ("plain", 2.0)
