"""What stands on a job: written so that it fits, read so that nothing hostile gets through."""

import json
import string
from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.codec import PREFIX
from cepheid.annotations.facts import CycleFacts
from cepheid.annotations.job_codec import WORDS, decode_job, encode_job, worker_key
from cepheid.annotations.job_facts import (
    FIGURES,
    BestPlacement,
    IdleFacts,
    JobFacts,
    JobUsageFacts,
    WorkerFacts,
)
from cepheid.placementtrial import Arrange, Goal
from tests.unit.annotations.strategies import ANY_NUMBER, ANY_TEXT, KINDS, cycles

POD_NAMES = st.text(string.ascii_lowercase + string.digits + "-.", min_size=1, max_size=253)
FLAGS = st.booleans()
WORKERS = st.builds(WorkerFacts, *[ANY_NUMBER] * 6, FLAGS, ANY_TEXT)
USAGE = st.none() | st.builds(JobUsageFacts, *[ANY_NUMBER] * 6, FLAGS, ANY_NUMBER)
MOMENTS = st.datetimes(timezones=st.just(UTC))
JOBS = st.builds(
    JobFacts,
    st.dictionaries(POD_NAMES.map(worker_key), WORKERS, max_size=4),
    USAGE,
    KINDS,
    cycles(ANY_NUMBER, ANY_TEXT),
    ANY_TEXT,
    st.none()
    | st.builds(
        BestPlacement, ANY_TEXT, *[ANY_NUMBER] * 2, ANY_TEXT, ANY_NUMBER, ANY_TEXT, ANY_TEXT
    ),
    st.none() | st.builds(IdleFacts, MOMENTS, ANY_NUMBER, ANY_TEXT, st.none() | MOMENTS, FLAGS),
)
LABELS = st.from_regex(r"\A[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?\Z")
PLACEMENTS = st.builds(
    BestPlacement,
    LABELS,
    st.integers(1, 1024),
    st.integers(1, 64),
    st.none() | st.sampled_from(Arrange).map(str),
    st.none() | st.integers(1, 999).map(lambda tenths: tenths / 10),
    st.none() | st.sampled_from(Goal).map(str),
    st.none() | LABELS,
)
WHOLE = st.datetimes(
    datetime(1970, 1, 1),  # noqa: DTZ001 # the zone comes beside it
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
).map(lambda at: at.replace(microsecond=0))
SANE = st.builds(
    JobFacts,
    st.dictionaries(
        st.text("abc", min_size=1, max_size=10).map(worker_key),
        st.builds(
            WorkerFacts,
            *[st.none() | st.integers(0, most) for most in (100, 99_999, 100, 99_999, 999, 999)],
            st.just(False),
            st.none() | st.just("gpu-a"),
        ),
        max_size=4,
    ),
    st.none(),
    KINDS,
    st.none(),
    st.none() | st.just("ask for 6.9Gi of memory instead of 12Gi"),
    st.none() | st.just(BestPlacement("Tesla-T4", 4, 1, "packed", 2.3, "cost", "bert-base")),
    st.none() | st.builds(IdleFacts, WHOLE, st.integers(1, 8), st.just("none"), st.none() | WHOLE),
)
FULL = WorkerFacts(38, 6200, 88, 71000, 120.5, 3.2, shared=False, node="gpu-a")


def test_a_worker_is_written_whole_where_there_is_room() -> None:
    written = encode_job(JobFacts(workers={"train-worker-0": FULL}))
    assert written == {
        f"{PREFIX}train-worker-0": '{"node":"gpu-a","cpu":38,"mem_mb":6200,"gpu":88,'
        '"gpu_mem_mb":71000,"net_mbps":120.5,"disk_mbps":3.2}'
    }
    assert decode_job(written).facts.workers == {"train-worker-0": FULL}


def test_the_least_important_goes_first_where_room_is_short() -> None:
    key = worker_key("a-very-long-name-of-a-job-that-somebody-typed-worker-127" + "x" * 60)
    assert len(key) == 63
    written = encode_job(JobFacts(workers={key: FULL}))
    assert json.loads(written[PREFIX + key]) == {"mem_mb": 6200, "gpu": 88, "gpu_mem_mb": 71000}


@pytest.mark.parametrize("length", range(1, 64))
def test_figures_that_grow_push_no_other_out(length: int) -> None:
    small = WorkerFacts(1, 9, 1, 9, 1, 1, shared=False, node="gpu-node-a")
    large = WorkerFacts(100, 999_999, 100, 999_999, 99_990, 99_990, shared=False, node="gpu-node-a")
    names = [
        set(json.loads(*encode_job(JobFacts(workers={"a" * length: w})).values()))
        for w in (small, large)
    ]
    assert names[0] == names[1]
    assert {"mem_mb", "gpu_mem_mb"} <= names[0]


@pytest.mark.parametrize("name", [*sorted(WORDS), "a" * 64, "x" * 253, "a.b-c", "-bad-"])
def test_a_workers_key_is_one_that_kubernetes_takes_and_no_word_of_ours(name: str) -> None:
    key = worker_key(name)
    assert len(key) <= 63
    assert key not in WORDS
    assert worker_key(key) == key


def test_what_is_no_key_of_a_worker_is_not_written() -> None:
    with pytest.raises(ValueError, match="no key of a worker"):
        encode_job(JobFacts(workers={"advice": FULL}))


def test_all_that_is_said_of_a_job_comes_back() -> None:
    facts = JobFacts(
        workers={"w-0": FULL},
        usage=JobUsageFacts(36, 12100, 85, 142000, 240, 6, workers=2),
        job_type=JobKind.TRAINING,
        cycle=CycleFacts(42.1, 0.93, "power", confirmed=True),
        advice="memory asked 1.7x: 6.9Gi will do",
        best_placement=BestPlacement("Tesla-T4", 4, 1, "packed", 2.3, "cost", "bert-base"),
    )
    assert decode_job(encode_job(facts)).facts == facts


def test_advice_is_cut_at_a_word() -> None:
    written = encode_job(JobFacts(advice="ask for less memory " * 20))
    text = written[f"{PREFIX}advice"]
    assert text.endswith(("memory...", "less...", "for...", "ask..."))
    assert len(f"{PREFIX}advice") + len(text) + 2 <= 140
    assert decode_job(written).facts.advice == text


def test_of_a_best_placement_what_to_ask_for_is_the_last_to_go() -> None:
    best = BestPlacement("NVIDIA-A100-SXM4-80GB", 4, 1, "packed", 2.3, "cost", "bert-base")
    key = f"{PREFIX}best-placement"
    said = {"type": best.gpu_type, "workers": 4, "gpus": 1}
    more = {"arrange": "packed", "gain": 2.3}
    for facts, expected in (
        (best, {**said, **more, "goal": "cost"}),
        (replace(best, goal="throughput-per-gpu"), {**said, **more}),
        (replace(best, gpu_type="x" * 63, workers=1024, gpus_per_worker=64), None),
    ):
        written = encode_job(JobFacts(best_placement=facts))
        assert len(key) + len(written[key]) + 2 <= 140
        asked = {"type": "x" * 63, "workers": 1024, "gpus": 64}
        assert json.loads(written[key]) == (expected or asked)


@given(PLACEMENTS)
def test_a_best_placement_comes_back_and_nothing_of_it_is_altered(best: BestPlacement) -> None:
    read = decode_job(encode_job(JobFacts(best_placement=best))).facts.best_placement
    assert read is not None
    told = {field.name: getattr(read, field.name) for field in fields(read)}
    assert replace(best, **{name: told[name] for name in told if told[name] is None}) == read
    assert (read.gpu_type, read.workers) == (best.gpu_type, best.workers)
    assert read.gpus_per_worker == best.gpus_per_worker


def test_a_type_that_no_label_can_have_is_no_placement() -> None:
    assert encode_job(JobFacts(best_placement=BestPlacement("a b", 1, 1))) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("w-0", "38"),
        ("w-0", '{"mem_mb":-1}'),
        ("w-0", '{"mem_mb":"6200"}'),
        ("w-0", '{"mem_mb":1,"mem_mb":2}'),
        ("w-0", '{"node":"gpu-a"}'),
        ("w-0", '{"node":"a\\u001b[31m","mem_mb":1}'),
        ("w-0", "[" * 100),
        ("w-0", ""),
        ("-w", '{"mem_mb":1}'),
        ("job-usage", '{"workers":2}'),
        ("job-type", "sabotage"),
        ("cycle", "{}"),
        ("advice", "a\nb"),
        ("advice", "\x1b[31m"),
        ("best-placement", "{"),
        ("best-placement", "[]"),
        ("best-placement", '{"gpu":"A100","count":2}'),
        ("best-placement", '{"type":"Tesla-T4","workers":4}'),
        ("best-placement", '{"type":"Tesla T4","workers":4,"gpus":1}'),
        ("best-placement", '{"type":"Tesla-T4","workers":0,"gpus":1}'),
        ("best-placement", '{"type":"Tesla-T4","workers":true,"gpus":1}'),
        ("best-placement", '{"type":"Tesla-T4","workers":4,"gpus":1e9}'),
        ("best-placement", '{"type":"Tesla-T4","workers":4,"gpus":1,"gain":NaN}'),
        ("best-placement", '{"type":"Tesla-T4","workers":4,"gpus":1,"gain":-2}'),
        ("best-placement", '{"type":"Tesla-T4","workers":4,"gpus":1,"arrange":"; rm"}'),
        ("best-placement", '{"type":"Tesla-T4","workers":4,"gpus":1,"trial":"../x"}'),
    ],
)
def test_what_is_not_of_the_contract_is_ignored_and_listed(name: str, text: str) -> None:
    read = decode_job({PREFIX + name: text})
    assert read.facts == JobFacts()
    assert read.ignored == (PREFIX + name,)


def test_what_is_nested_deeper_than_python_goes_is_ignored() -> None:
    assert decode_job({f"{PREFIX}best-placement": "[" * 90 + "]" * 20}).ignored


@given(JOBS)
def test_whatever_is_known_is_written_in_lines_that_are_read_again(facts: JobFacts) -> None:
    written = encode_job(facts)
    assert all(len(key) + len(text) + 2 <= 140 for key, text in written.items())
    read = decode_job(written)
    assert read.ignored == ()
    assert encode_job(read.facts).items() <= written.items()


@given(SANE)
def test_sane_facts_come_back_as_they_were(facts: JobFacts) -> None:
    said = {
        name: worker
        for name, worker in facts.workers.items()
        if any(getattr(worker, figure) is not None for figure in FIGURES)
    }
    read = decode_job(encode_job(facts)).facts
    assert read.workers == said
    assert (read.job_type, read.advice) == (facts.job_type, facts.advice)
    assert read.best_placement == facts.best_placement


@given(
    st.dictionaries(
        st.sampled_from([PREFIX + word for word in (*sorted(WORDS), "w-0", "gpu-0")])
        | st.text(max_size=90),
        st.text(max_size=160),
    )
)
def test_hostile_annotations_are_read_or_ignored(annotations: dict[str, str]) -> None:
    read = decode_job(annotations)
    ours = [key for key in annotations if key.startswith(PREFIX)]
    assert len(read.ignored) <= len(ours)
