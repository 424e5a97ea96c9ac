"""Trials read from a real Prometheus that scraped a simulated job, and from a log."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from cepheid.annotations.api import ApiServer, connect
from cepheid.errors import SourceBusyError, UnavailableError
from cepheid.jobs.pods import Container, Phase, PodState
from cepheid.placementtrial import Measure, Reading, Ruler, TrialError
from cepheid.sources.access import Access
from cepheid.sources.jobs import JobReader
from cepheid.sources.prometheus import PrometheusClient
from cepheid_operator.trials.measuring.readings import Read, read, read_log
from tests.stage.exporters import exporters
from tests.stage.levels import Level
from tests.stage.prometheus import Prometheus
from tests.stage.world import Pod, World
from tests.unit.annotations.server import Answer, refusal, serving
from tests.unit.annotations.test_api import kubeconfig
from tests.unit.sources import servers
from tests.unit.sources.servers import Front

EVERY_SECONDS = 5.0
RAN_SECONDS = 600.0
WARMUP_SECONDS = 60.0
TENSOR, DUTY = 0.6, 0.7


class Iterations:
    """Busy for a part of each, none as long as the other."""

    def __init__(self, mean_seconds: float, begin: float, jitter: float = 0.02) -> None:
        count = int(2 * RAN_SECONDS / mean_seconds) + 10
        lengths = mean_seconds * np.random.default_rng(7).normal(1, jitter, count)
        starts = begin + np.concatenate(([0.0], np.cumsum(lengths)))
        self._edges = np.append(
            np.column_stack((starts[:-1], starts[:-1] + DUTY * lengths)).ravel(), starts[-1]
        )
        levels = np.tile([1.0, 0.0], count)
        self._done = np.concatenate(([0.0], np.cumsum(levels * np.diff(self._edges))))

    def at(self, when: float) -> float:
        return float(np.searchsorted(self._edges, when, side="right") % 2)

    def integral(self, begin: float, end: float) -> float:
        first, last = np.interp([begin, end], self._edges, self._done)
        return float(last - first)


class Trials:
    """What Prometheus saw: `slow` on two workers of two GPUs each, `fast` on one H100."""

    def __init__(self, url: str, began_seconds: float, now_seconds: float) -> None:
        self.client = PrometheusClient(Access(url=url, timeout_seconds=10.0))
        self.began, self.now = began_seconds, now_seconds

    def read(self, *pods: PodState, namespace: str = "team", **measure: object) -> Read:
        return read(
            JobReader(self.client),
            namespace,
            pods,
            Measure(**measure),  # type: ignore[arg-type]
            began_seconds=self.began,
            warmup_seconds=WARMUP_SECONDS,
            now_seconds=self.now,
        )


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    world = World(gpus_every_seconds=EVERY_SECONDS)
    begin = time.time() - RAN_SECONDS
    for node, pods, gpus, model, level in (
        ("gpu-a", ["slow-0", "slow-1"], 2, "NVIDIA A100-SXM4-80GB", Iterations(40.0, begin)),
        ("gpu-b", ["fast-0"], 1, "NVIDIA H100 80GB HBM3", Iterations(0.8, begin)),
    ):
        made = world.add_node(node, gpus=gpus * len(pods), model=model)
        free = iter(made.gpus)
        for name in pods:
            pod = Pod("team", name, since=begin)
            pod.cores.become(2.0, begin)
            made.pods.append(pod)
            for number in range(gpus):
                busy: Level = level
                next(free).hold(pod, busy=busy, memory_mib=8000.0 + 1000 * number, since=begin)
    with exporters(world) as served:
        prometheus = Prometheus(tmp_path_factory.mktemp("trials"), served, EVERY_SECONDS)
        prometheus.backfill(RAN_SECONDS)
        try:
            prometheus.start()
            found = Trials(prometheus.url, begin, time.time())
            yield found
            found.client.close()
        finally:
            prometheus.close()


def worker(name: str, gpus: int, role: str = "Worker") -> PodState:
    created = datetime(2026, 3, 1, tzinfo=UTC)
    return PodState(
        f"uid-{name}",
        name,
        "team",
        created,
        Phase.RUNNING,
        node="gpu-a",
        role=role,
        started=created,
        gpu_count=gpus,
        containers=(Container("main"), Container("sidecar")),
    )


SLOW = (worker("slow-0", 2), worker("slow-1", 2))
FAST = worker("fast-0", 1)


def reading_of(found: Read) -> Reading:
    assert found.why is None
    assert found.reading is not None
    return found.reading


def test_the_period_and_the_work_of_a_slow_job_are_measured(trials: Trials) -> None:
    reading = reading_of(trials.read(*SLOW))
    assert reading.period_seconds is not None
    assert reading.period_error_percent is not None
    assert reading.period_seconds == pytest.approx(40.0, rel=0.03)
    assert abs(reading.period_seconds / 0.4 - 100) < 3 * reading.period_error_percent
    assert 0.2 < reading.period_error_percent < 2
    assert reading.cycles == pytest.approx((RAN_SECONDS - WARMUP_SECONDS) / 40, rel=0.1)
    assert reading.teraflops == pytest.approx(4 * 312 * TENSOR * DUTY, rel=0.03)
    assert reading.teraflops_error_percent is not None
    assert reading.teraflops_error_percent < 3
    assert reading.gpu_memory_mib == pytest.approx(9000, rel=0.01)
    power = 55 + (400 - 55) * DUTY * (0.2 + 0.5 * TENSOR + 0.3 * 0.5)
    assert reading.watts == pytest.approx(4 * power, rel=0.03)
    assert reading.seconds == pytest.approx(RAN_SECONDS - WARMUP_SECONDS, rel=0.05)


def test_iterations_too_fast_for_the_scrapes_are_measured_by_their_work(trials: Trials) -> None:
    reading = reading_of(trials.read(FAST))
    assert (reading.period_seconds, reading.period_error_percent) == (None, None)
    assert reading.teraflops == pytest.approx(989 * TENSOR * DUTY, rel=0.03)
    told = trials.read(FAST, by=Ruler.PULSE)
    assert told.why is not None
    assert "no period" in told.why
    assert told.reading is not None
    assert told.reading.teraflops is not None


def test_pods_that_nobody_measured_are_no_reading(trials: Trials) -> None:
    found = trials.read(worker("nobody-0", 1))
    assert found.reading is None
    assert found.why is not None
    assert "no GPU metrics" in found.why
    assert trials.read(*SLOW, namespace="other").reading is None


def test_a_promql_of_the_users_own_is_asked(trials: Trials) -> None:
    own = 'namespace="$namespace",pod=~"$pods",container="main"'
    cores = f"sum(rate(container_cpu_usage_seconds_total{{{own}}}[1m]))"
    reading = reading_of(trials.read(*SLOW, by=Ruler.PROMQL, promql=cores))
    assert reading.rate_per_second == pytest.approx(4.0, rel=0.02)
    assert reading.rate_error_percent is not None
    assert reading.rate_error_percent < 2
    assert reading.rate_unit == "units"
    assert reading.watts is not None


@pytest.mark.parametrize(
    ("promql", "why"),
    [
        (
            'container_processes{namespace="$namespace",pod=~"$pods",container="main"}',
            "gives 2 series",
        ),
        ('no_such_metric{namespace="$namespace"}', "gives 0 series"),
        (
            '-sum(container_memory_working_set_bytes{namespace="$namespace"})',
            "a number above 0 is needed",
        ),
        ('sum(container_memory_working_set_bytes{namespace="$namespace"}) * 0', "the value 0"),
        ('sum(container_memory_working_set_bytes{namespace="$namespace"}) / 0', "the value inf"),
        ("sum(container_memory_working_set_bytes)", "is not held to namespace"),
        ('sum(rate(x{namespace="$namespace"}[50m]))', "looks back for 3000 s"),
        (
            (
                'container_processes{namespace="$namespace"} + on (pod)'
                ' container_memory_working_set_bytes{namespace="$namespace"}'
            ),
            "Prometheus answered 422",
        ),
        (None, "there is no spec.measure.promql"),
    ],
)
def test_a_promql_that_tells_no_rate_is_said_in_words(
    trials: Trials, promql: str | None, why: str
) -> None:
    found = trials.read(*SLOW, by=Ruler.PROMQL, promql=promql)
    assert found.why is not None
    assert why in found.why
    assert found.reading is not None
    assert found.reading.rate_per_second is None
    assert found.reading.watts is not None


def test_the_log_is_read_beside_prometheus(trials: Trials) -> None:
    begin = trials.began + WARMUP_SECONDS
    when = [datetime.fromtimestamp(begin + 5 * n - 30, UTC) for n in range(20)]
    lines = [
        f"{at:%Y-%m-%dT%H:%M:%S}Z step {n} loss 3 {9 if n < 6 else 0.5:.2f} s/it"
        for n, at in enumerate(when)
    ]

    def by_log(lines: Callable[[], list[str]]) -> Read:
        return read(
            JobReader(trials.client),
            "team",
            SLOW,
            Measure(by=Ruler.LOG),
            began_seconds=trials.began,
            warmup_seconds=WARMUP_SECONDS,
            now_seconds=trials.now,
            lines=lines,
        )

    reading = reading_of(by_log(lambda: lines))
    assert (reading.rate_per_second, reading.rate_unit) == (2.0, "iterations")
    silent = by_log(lambda: ["nothing of interest"])
    assert silent.why == "its log has too few lines that tell a rate"

    def forbidden() -> list[str]:
        raise TrialError("reading the log: no right", hint="ask for it")

    refused = by_log(forbidden)
    assert refused.why == "reading the log: no right hint: ask for it"
    assert refused.reading is not None


def test_before_the_warm_up_is_over_nothing_is_asked(trials: Trials) -> None:
    asked = trials.client.traffic.queries
    found = read(
        JobReader(trials.client),
        "team",
        SLOW,
        Measure(),
        began_seconds=trials.began,
        warmup_seconds=WARMUP_SECONDS,
        now_seconds=trials.began + WARMUP_SECONDS,
    )
    assert found == Read(None, "its warm-up is not over")
    assert trials.client.traffic.queries == asked


@pytest.fixture
def front() -> Iterator[Front]:
    with servers.front() as served:
        yield served


def test_prometheus_away_is_an_error_to_be_tried_again(front: Front) -> None:
    front.reply = servers.answer(503, b"")
    trials = Trials(front.url, 0.0, 600.0)
    with pytest.raises(SourceBusyError):
        trials.read(*SLOW)
    trials.client.close()


LOG = Answer(200, b"2026-03-01T12:00:00Z 1%|\r2%|\n2026-03-01T12:00:01Z \xff\xfe 2.0it/s\n", {})


def server_at(folder: Path, address: str) -> ApiServer:
    return ApiServer(lambda: connect(str(kubeconfig(folder, address))))


@pytest.mark.parametrize(
    ("pods", "asked"),
    [
        ((worker("w-10", 1), worker("w-2", 1)), "w-2"),
        ((worker("w-0", 1), worker("x-launcher-abc", 0, "Launcher")), "x-launcher-abc"),
        ((worker("w-0", 1), worker("x-master-0", 1, "Master")), "x-master-0"),
    ],
)
def test_the_log_is_that_of_the_pod_that_speaks_for_the_job(
    tmp_path: Path, pods: tuple[PodState, ...], asked: str
) -> None:
    with serving(LOG) as fake, server_at(tmp_path, fake.address) as server:
        lines = read_log(server, "team", pods, since_seconds=90.2)
        (request,) = fake.requests
    path, _, parameters = request.path.partition("?")
    assert path == f"/api/v1/namespaces/team/pods/{asked}/log"
    assert set(parameters.split("&")) == {
        "container=main",
        "timestamps=true",
        "sinceSeconds=91",
        "limitBytes=1048576",
    }
    assert lines[0] == "2026-03-01T12:00:00Z 1%|\r2%|"
    assert lines[1].endswith("2.0it/s")


def test_a_log_is_cut_also_where_the_kubelet_does_not(tmp_path: Path) -> None:
    with serving(LOG) as fake, server_at(tmp_path, fake.address) as server:
        lines = read_log(server, "team", SLOW, since_seconds=90, limit_bytes=25)
    assert lines == ["2026-03-01T12:00:00Z 1%|\r"]


def test_without_the_right_to_read_logs_it_says_how_to_give_it(tmp_path: Path) -> None:
    with (
        serving(refusal(403)) as fake,
        server_at(tmp_path, fake.address) as server,
        pytest.raises(TrialError) as refused,
    ):
        read_log(server, "team", SLOW, since_seconds=90)
    assert "manifests/trial-logs.yaml" in str(refused.value)


def test_an_api_server_that_is_away_is_no_missing_right(tmp_path: Path) -> None:
    with (
        serving(refusal(500)) as fake,
        server_at(tmp_path, fake.address) as server,
        pytest.raises(UnavailableError),
    ):
        read_log(server, "team", SLOW, since_seconds=90)
