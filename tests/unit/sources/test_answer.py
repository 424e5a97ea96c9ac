"""Any bytes are either series or a SourceError."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cepheid.errors import SourceError
from cepheid.sources.answer import RawSeries, error_of, parse_payload, parse_series

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
sample = st.tuples(st.floats() | st.integers() | anything, st.floats().map(str) | anything)
series = st.fixed_dictionaries(
    {},
    optional={
        "metric": st.dictionaries(st.text(), st.text() | anything, max_size=3) | anything,
        "values": st.lists(sample | anything, max_size=4) | anything,
        "value": sample | anything,
        "histograms": anything,
    },
)
document = st.fixed_dictionaries(
    {"status": st.just("success") | anything},
    optional={
        "data": st.fixed_dictionaries({"result": st.lists(series | anything, max_size=4)})
        | anything,
        "warnings": st.lists(st.text() | anything) | anything,
        "infos": anything,
        "error": anything,
    },
)


def read(body: bytes) -> list[RawSeries]:
    payload = parse_payload(body)
    data = payload.document["data"]
    assert isinstance(data, dict)
    return parse_series(data["result"], max_series=10)


def assert_tells(error: SourceError) -> None:
    assert error.hint
    assert error.message.isprintable()


@given(document.map(lambda found: json.dumps(found).encode()) | st.binary())
@example(b"[" * 100_000)
@example(b'{"status":' + b"[" * 100_000)
@example(b'{"status":' + b"9" * 10_000 + b"}")
@example(b'{"status":"success","data":{"result":[{"metric":{},"value":[1e999,"1"]}]}}')
@example(b'{"status":"success","data":{"result":[{"metric":{},"value":[%s,"1"]}]}}' % (b"9" * 400))
def test_any_bytes_are_series_or_a_source_error(body: bytes) -> None:
    try:
        found = read(body)
    except SourceError as error:
        found = []
        assert_tells(error)
    for one in found:
        assert one.times.size == one.values.size
        assert np.isfinite(one.times).all()
        assert np.all(np.diff(one.times) >= 0)
        assert all(isinstance(value, str) for value in one.labels.values())


@given(st.integers(100, 999), st.dictionaries(st.text(), st.text()), st.binary())
@example(429, {"Retry-After": "inf"}, b"")
@example(503, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, b'{"error": 5}')
def test_any_status_is_an_error_with_a_hint(
    status: int, headers: dict[str, str], body: bytes
) -> None:
    found = error_of(status, headers, body)
    assert isinstance(found, SourceError)
    assert found.hint
    assert len(found.message) < 700


def test_a_series_of_histograms_is_left_out() -> None:
    found = parse_series(
        [{"metric": {}, "histograms": []}, {"metric": {}, "values": [[1, "2"]]}], max_series=5
    )
    assert [list(one.values) for one in found] == [[2.0]]


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf", "1e-3"])
def test_prometheus_own_way_to_write_a_number(text: str) -> None:
    (found,) = parse_series([{"metric": {}, "value": [1, text]}], max_series=5)
    assert found.values[0] == pytest.approx(float(text), nan_ok=True)
