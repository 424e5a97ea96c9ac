"""The contract: what is written, that it fits, and that nothing hostile is read."""

import itertools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.codec import (
    PREFIX,
    decode_node,
    decode_pod,
    encode_node,
    encode_pod,
    name_part,
)
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
from tests.unit.annotations.strategies import ANY_NUMBER, ANY_TEXT, NODE_NAMES, nodes, pods

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = re.compile(r"ai\.centaurus\.io/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
PLAIN = re.compile(r"[a-z]+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)

NODE = NodeFacts(
    static=StaticFacts(8, "NVIDIA A100-SXM4-80GB", 80.0),
    gpus=(
        GpuFacts(
            0,
            mem_used_gb=71.2,
            mem_free_gb=8.8,
            pods=1,
            cyclic_pattern=True,
            max_mem_util_percent=66,
            max_gpu_util_percent=100,
            job_type=JobKind.TRAINING,
            cycle=CycleFacts(42.1, 0.93, "power", confirmed=True),
            forecast=ForecastFacts(600, 88, 99, 71.4, 6.1),
        ),
        GpuFacts(1, pods=0, job_type=JobKind.EMPTY),
        GpuFacts(1, 7, mem_used_gb=4.7, cyclic_pattern=False),
        GpuFacts(2, health=HealthFacts(lost=True, xid=79, throttled="thermal", since=NOON)),
    ),
    cpu_forecast=ForecastFacts(600, util_mean_percent=31, util_p95_percent=60, mape_percent=12.5),
    mem_forecast=ForecastFacts(600, mem_peak_gb=412.3),
    free_gpu_score=46,
    valid_until=NOON + timedelta(minutes=20),
)
NODE_TEXT = {
    "ai.centaurus.io/gpu-static": '{"count":8,"model":"NVIDIA A100-SXM4-80GB","mem_gb":80}',
    "ai.centaurus.io/gpu-0": '{"mem_used_gb":71.2,"mem_free_gb":8.8,"pods":1,'
    '"cyclic_pattern":true,"max_mem_util":66,"max_gpu_util":100}',
    "ai.centaurus.io/gpu-0-cycle": '{"period_s":42.1,"strength":0.93,"metric":"power",'
    '"confirmed":true}',
    "ai.centaurus.io/gpu-0-forecast": '{"horizon_s":600,"util_mean":88,"util_p95":99,'
    '"mem_peak_gb":71.4,"mape":6.1}',
    "ai.centaurus.io/gpu-0-job-type": "training",
    "ai.centaurus.io/gpu-1": '{"pods":0}',
    "ai.centaurus.io/gpu-1-job-type": "empty",
    "ai.centaurus.io/gpu-1-mig-7": '{"mem_used_gb":4.7,"cyclic_pattern":false}',
    "ai.centaurus.io/gpu-2-health": '{"lost":true,"xid":79,"throttled":"thermal",'
    '"since":"2026-03-01T12:00:00Z"}',
    "ai.centaurus.io/cpu-forecast": '{"horizon_s":600,"util_mean":31,"util_p95":60,"mape":12.5}',
    "ai.centaurus.io/mem-forecast": '{"horizon_s":600,"mem_peak_gb":412.3}',
    "ai.centaurus.io/free-gpu-score": "46",
    "ai.centaurus.io/valid-until": "2026-03-01T12:20:00Z",
}
POD = PodFacts(
    node="gpu-a",
    cpu_util_percent=38,
    cpu_mem_mb=6200,
    network_mbps=812.4,
    disk_io_mbps=0,
    gpus=(
        PodGpuFacts(0, util_percent=88, mem_mb=62668),
        PodGpuFacts(1, 7, util_percent=12, shared=True),
    ),
    job_type=JobKind.INFERENCE,
    cycle=CycleFacts(600, 0.5, shared=True),
    forecast=ForecastFacts(600, 80, shared=True),
)
POD_TEXT = {
    "ai.centaurus.io/cpu_util": "38",
    "ai.centaurus.io/cpu_mem_mb": "6200",
    "ai.centaurus.io/network_mbps": "812.4",
    "ai.centaurus.io/disk_io_mbps": "0",
    "ai.centaurus.io/gpu-a-gpu-0_util": "88",
    "ai.centaurus.io/gpu-a-gpu-0_mem_mb": "62668",
    "ai.centaurus.io/gpu-a-gpu-1-mig-7_util": '{"value":12,"shared":true}',
    "ai.centaurus.io/gpu-a-gpu-1-mig-7_mem_mb": '{"shared":true}',
    "ai.centaurus.io/job-type": "inference",
    "ai.centaurus.io/cycle": '{"period_s":600,"strength":0.5,"shared":true}',
    "ai.centaurus.io/forecast": '{"horizon_s":600,"util_mean":80,"shared":true}',
}


def test_a_node_as_text_and_back() -> None:
    assert encode_node(NODE) == NODE_TEXT
    assert decode_node(NODE_TEXT).facts == NODE
    assert decode_node(NODE_TEXT).ignored == ()


def test_a_pod_as_text_and_back() -> None:
    assert encode_pod(POD) == POD_TEXT
    assert decode_pod(POD_TEXT).facts == POD
    assert decode_pod(POD_TEXT).ignored == ()


def test_what_is_not_known_is_left_out() -> None:
    assert encode_node(NodeFacts(gpus=(GpuFacts(0), GpuFacts(1, health=HealthFacts())))) == {}
    assert encode_pod(PodFacts(node="gpu-a", gpus=(PodGpuFacts(0),))) == {}
    assert encode_pod(PodFacts(gpus=(PodGpuFacts(0, util_percent=3),))) == {}
    nothing_foreseen = ForecastFacts(600, mape_percent=3.0, shared=True)
    assert encode_pod(PodFacts(forecast=nothing_foreseen)) == {}
    only_when = HealthFacts(since=NOON)
    assert encode_node(NodeFacts(gpus=(GpuFacts(0, health=only_when),))) == {}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (99.6, "100"),
        (103.0, "100"),  # a rate at the edge of a scrape
        (-0.3, "0"),
        (-5, None),
        (9.2e18, None),  # DCGM's blank value
        (math.nan, None),
        (math.inf, None),
    ],
)
def test_percent(value: float, written: str | None) -> None:
    text = encode_pod(PodFacts(cpu_util_percent=value))
    assert text == ({} if written is None else {f"{PREFIX}cpu_util": written})


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (42.0, "42"),
        (42.1234, "42.12"),
        (0.83333, "0.8333"),
        (0.0012345, "0.001234"),
        (86_400.0, "86400"),
        (123_456.0, "123500"),
        (1e-9, None),
        (1e12, None),
        (math.nan, None),
    ],
)
def test_seconds_have_four_digits(seconds: float, written: str | None) -> None:
    text = encode_pod(PodFacts(cycle=CycleFacts(seconds, 0.5)))
    expected = f'{{"period_s":{written},"strength":0.5}}'
    assert text == ({} if written is None else {f"{PREFIX}cycle": expected})


def test_times_are_utc() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    text = encode_node(NodeFacts(valid_until=NOON.astimezone(east)))
    assert text == {f"{PREFIX}valid-until": "2026-03-01T12:00:00Z"}


def test_a_reader_ignores_what_has_expired() -> None:
    node = NodeFacts(valid_until=NOON)
    assert node.holds(NOON - timedelta(seconds=1))
    assert not node.holds(NOON)
    assert not NodeFacts().holds(NOON)


def test_what_is_too_long_loses_decimals_first_and_then_what_matters_least() -> None:
    whole = GpuFacts(
        10,
        mem_used_gb=12_345.6,
        mem_free_gb=12_345.6,
        pods=1000,
        cyclic_pattern=False,
        max_mem_util_percent=100,
        max_gpu_util_percent=100,
    )
    assert encode_node(NodeFacts(gpus=(whole, replace(whole, mig=10)))) == {
        f"{PREFIX}gpu-10": '{"mem_used_gb":12346,"mem_free_gb":12346,"pods":1000,'
        '"cyclic_pattern":false,"max_mem_util":100,"max_gpu_util":100}',
        f"{PREFIX}gpu-10-mig-10": '{"mem_used_gb":12346,"mem_free_gb":12346,"pods":1000,'
        '"max_mem_util":100,"max_gpu_util":100}',
    }


def test_the_line_is_used_to_its_last_character_and_no_further() -> None:
    lengths = set()
    for digits, holders, index, mig in itertools.product(range(5), range(5), range(3), range(4)):
        gpu = GpuFacts(
            10**index,
            None if mig == 0 else 10 ** (mig - 1),
            mem_used_gb=10**digits + 0.5,
            mem_free_gb=10**digits + 0.5,
            pods=10**holders,
            cyclic_pattern=False,
            max_mem_util_percent=100,
            max_gpu_util_percent=100,
        )
        ((key, text),) = encode_node(NodeFacts(gpus=(gpu,))).items()
        lengths.add(len(key) + len(text) + 2)
    assert max(lengths) == 140


@pytest.mark.parametrize(
    ("model", "written"),
    [
        ("Tesla T4", "Tesla T4"),
        ('A"; DROP\n\x00 TABLE', "A DROP TABLE"),
        ("\u00fcber-GPU \U0001f525", "ber-GPU"),
        ("x" * 10_240, "x" * 64),
        ("'\"", None),
    ],
)
def test_a_hostile_name_becomes_a_plain_one(model: str, written: str | None) -> None:
    text = encode_node(NodeFacts(static=StaticFacts(1, model)))
    expected = {"count": 1} | ({} if written is None else {"model": written})
    assert json.loads(text[f"{PREFIX}gpu-static"]) == expected
    assert decode_node(text).facts.static == StaticFacts(1, written)


def assert_in_the_contract(annotations: Mapping[str, str]) -> None:
    for key, text in annotations.items():
        assert KEY.fullmatch(key), key
        assert len(key) + len(text) + 2 <= 140, (key, text)
        assert text.isascii()
        assert text.isprintable()
        if not PLAIN.fullmatch(text):
            parsed = json.loads(text, parse_constant=pytest.fail)
            assert json.dumps(parsed, separators=(",", ":")) == text


@given(nodes(ANY_NUMBER, ANY_TEXT))
def test_whatever_is_said_of_a_node_keeps_to_the_contract(facts: NodeFacts) -> None:
    text = encode_node(facts)
    assert_in_the_contract(text)
    read = decode_node(text)
    assert read.ignored == ()
    assert encode_node(read.facts) == text


@given(pods(ANY_NUMBER, ANY_TEXT))
def test_whatever_is_said_of_a_pod_keeps_to_the_contract(facts: PodFacts) -> None:
    text = encode_pod(facts)
    assert_in_the_contract(text)
    read = decode_pod(text)
    assert read.ignored == ()
    # A name that was cut once is short enough, and stays.
    assert encode_pod(read.facts) == text


@given(NODE_NAMES, NODE_NAMES)
def test_name_parts_are_valid_and_as_different_as_the_names(one: str, two: str) -> None:
    parts = [name_part(name, "-gpu-999-mig-999_mem_mb") for name in (one, two)]
    assert all(KEY.fullmatch(PREFIX + part) for part in parts)
    assert (parts[0] == parts[1]) == (one == two)


def test_a_long_name_keeps_its_beginning() -> None:
    part = name_part("ip-10-0-0-1." + "x" * 241)
    assert part.startswith("ip-10-0-0-1.xxx")
    assert len(part) == 63
    assert name_part("short") == "short"


HOSTILE_TEXT = (
    st.text(max_size=200)
    | st.sampled_from(["NaN", "Infinity", "1E400", "-1", "true", "null", "", "[" * 100, "9" * 110])
    | st.sampled_from(['{"pods":1,"pods":2}', '{"pods":NaN}', '{"pods":true}', '{"pods":1.5}'])
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    ).map(json.dumps)
)
KNOWN_KEYS = st.sampled_from([*NODE_TEXT, *POD_TEXT])
HOSTILE_KEYS = KNOWN_KEYS | st.text(max_size=80).map(PREFIX.__add__)


@given(st.dictionaries(HOSTILE_KEYS, HOSTILE_TEXT))
def test_hostile_annotations_are_ignored_and_counted(annotations: dict[str, str]) -> None:
    for decode, encode in ((decode_node, encode_node), (decode_pod, encode_pod)):
        read: Any = decode(annotations)
        understood = encode(read.facts)
        assert_in_the_contract(understood)
        assert set(understood).isdisjoint(read.ignored)
        assert len(read.ignored) <= len(annotations)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("gpu-0", '{"pods":1,"pods":2}'),
        ("gpu-0", '{"pods":NaN}'),
        ("gpu-0", '{"max_gpu_util":101}'),
        ("gpu-0", '{"max_gpu_util":99.5}'),
        ("gpu-0", '{"max_gpu_util":true}'),
        ("gpu-0", "{'pods': 1}"),
        ("gpu-0", '{"mem_used_gb":1E400}'),
        ("gpu-0", "{}"),
        ("gpu-0", '{"pods":1}' + " " * 140),
        ("gpu-00", '{"pods":1}'),
        ("gpu-1000", '{"pods":1}'),
        ("gpu-\u0660", '{"pods":1}'),
        ("gpu-0-job-type", "Training"),
        ("gpu-0-cycle", '{"strength":0.9}'),
        ("gpu-0-cycle", '{"period_s":3,"strength":1.1}'),
        ("gpu-0-cycle", '{"period_s":3,"strength":0.9,"metric":"a b"}'),
        ("gpu-0-health", '{"since":"2026-03-01T12:00:00Z"}'),
        ("gpu-0-health", '{"lost":false}'),
        ("gpu-static", '{"count":1,"model":"\\u0000"}'),
        ("free-gpu-score", "46.5"),
        ("free-gpu-score", " 46 or 1=1"),
        ("valid-until", "2026-03-01T12:00:00+00:00"),
        ("valid-until", "2026-13-01T12:00:00Z"),
        ("of-a-later-version", "1"),
    ],
)
def test_what_the_contract_does_not_allow_is_ignored(key: str, text: str) -> None:
    read = decode_node({f"{PREFIX}{key}": text, f"{PREFIX}gpu-3-job-type": "idle"})
    assert read.facts == NodeFacts(gpus=(GpuFacts(3, job_type=JobKind.IDLE),))
    assert read.ignored == (f"{PREFIX}{key}",)


def test_a_field_of_a_later_version_does_not_spoil_the_others() -> None:
    read = decode_node({f"{PREFIX}gpu-0": '{"pods":1,"colour":"red"}'})
    assert read.facts.gpus == (GpuFacts(0, pods=1),)


def test_a_pod_is_on_one_node() -> None:
    read = decode_pod({f"{PREFIX}a-gpu-0_util": "1", f"{PREFIX}b-gpu-0_util": "2"})
    assert read.facts == PodFacts(node="a", gpus=(PodGpuFacts(0, util_percent=1),))
    assert read.ignored == (f"{PREFIX}b-gpu-0_util",)


def test_a_key_that_kubernetes_would_not_take_is_ignored() -> None:
    key = f"{PREFIX}{'n' * 60}-gpu-0_util"
    assert decode_pod({key: "1"}).facts == PodFacts()


def test_a_node_may_be_called_like_a_gpu() -> None:
    facts = PodFacts(node="x-gpu-1", gpus=(PodGpuFacts(0, util_percent=1),))
    assert decode_pod(encode_pod(facts)).facts == facts


def test_foreign_keys_are_none_of_our_business() -> None:
    read = decode_node({"kubernetes.io/x": "{", "ai.centaurus.io.evil/gpu-0": "{"})
    assert (read.facts, read.ignored) == (NodeFacts(), ())
