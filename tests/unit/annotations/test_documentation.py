"""docs/annotations.md says what the codec writes: every key, and examples that can be read."""

import re
from datetime import UTC, datetime

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.codec import PREFIX, decode_node, encode_node, encode_pod
from cepheid.annotations.facts import (
    CycleFacts,
    ForecastFacts,
    GpuFacts,
    HealthFacts,
    NodeFacts,
    PodFacts,
    PodGpuFacts,
    StaticFacts,
)
from cepheid.annotations.job_codec import WORDS, decode_job, encode_job
from cepheid.annotations.job_facts import (
    BestPlacement,
    IdleFacts,
    JobFacts,
    JobUsageFacts,
    WorkerFacts,
)
from tests import REPOSITORY

PAGE = (REPOSITORY / "docs/annotations.md").read_text()


def rows(section: str) -> list[list[str]]:
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]


ROWS = rows("On a Node") + rows("On a Pod")
JOB_ROWS = rows("On a job")
FORECAST = ForecastFacts(600.0, 88.0, 99.0, 71.4, 6.1)
CYCLE = CycleFacts(42.1, 0.93, "power", confirmed=True)
NODE = NodeFacts(
    static=StaticFacts(8, "NVIDIA A100-SXM4-80GB", 80.0),
    gpus=(
        GpuFacts(
            *(3, None, 71.2, 8.8, 1, True, 66.0, 100.0, JobKind.TRAINING),
            *(CYCLE, FORECAST, HealthFacts(xid=79, since=datetime(2026, 3, 1, tzinfo=UTC))),
        ),
    ),
    cpu_forecast=FORECAST,
    mem_forecast=FORECAST,
    free_gpu_score=46,
    valid_until=datetime(2026, 3, 1, tzinfo=UTC),
)
POD = PodFacts(
    "gpu-a", 38.0, 6200.0, 10.0, 3.0, (PodGpuFacts(3, None, 88.0, 62.0),), JobKind.IDLE, CYCLE
)

JOB = JobFacts(
    workers={"train-worker-0": WorkerFacts(38, 6200, 88, 71_000, 120, 3, node="gpu-a")},
    usage=JobUsageFacts(38, 6200, 88, 71_000, 120, 3, workers=1),
    job_type=JobKind.TRAINING,
    cycle=CYCLE,
    advice="ask for less",
    best_placement=BestPlacement("Tesla-T4", 4, 1),
    idle=IdleFacts(datetime(2026, 3, 1, tzinfo=UTC), 8, "dry-run"),
)


def keys_of(row: list[str]) -> list[str]:
    return re.findall(r"`([^`]+)`", row[0])


def test_every_key_that_is_written_is_explained() -> None:
    explained = {key for row in ROWS for key in keys_of(row)}
    for key in (*encode_node(NODE), *encode_pod(POD)):
        plain = key.removeprefix(PREFIX).replace("gpu-3", "gpu-<i>").replace("gpu-a-", "<node>-")
        assert plain in explained


def test_the_examples_are_such_as_are_written() -> None:
    told = {
        PREFIX + key.replace("<i>", "3"): re.findall(r"`([^`]+)`", row[1])[0]
        for row in ROWS
        if len(row) == 3
        for key in keys_of(row)
        if not key.startswith(("cpu-", "mem-"))
    }
    assert len(told) == 8
    read = decode_node(told)
    assert read.ignored == ()
    assert encode_node(read.facts) == told


def test_every_key_of_a_job_is_explained() -> None:
    explained = {key for row in JOB_ROWS for key in keys_of(row)}
    assert explained == {"<pod-name>", *WORDS}
    plain = {key.removeprefix(PREFIX) for key in encode_job(JOB)}
    assert plain == {"train-worker-0", *WORDS}


def test_the_examples_of_a_job_are_such_as_are_written() -> None:
    told = {
        PREFIX + key.replace("<pod-name>", "train-worker-0"): re.findall(r"`([^`]+)`", row[1])[0]
        for row in JOB_ROWS
        for key in keys_of(row)
    }
    read = decode_job(told)
    assert read.ignored == ()
    assert encode_job(read.facts) == told
