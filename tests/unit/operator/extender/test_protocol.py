"""What a kube-scheduler asks, and what cannot be one's question."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid_operator.extender.protocol import (
    MOST_NODES,
    FilterResult,
    HostPriority,
    QuestionError,
    read,
    write,
)


def test_a_question_as_a_scheduler_writes_it() -> None:
    # As kube-scheduler 1.33 sends it: with what is nil, and names as Go has them.
    body = b'{"Pod":{"metadata":{"name":"a"}},"Nodes":null,"NodeNames":["n-1","n-2"]}'
    assert read(body) == ({"metadata": {"name": "a"}}, ["n-1", "n-2"])


def test_an_answer_as_a_scheduler_reads_it() -> None:
    kept = json.loads(write(FilterResult(["a"], {"b": "full"})))
    assert kept == {"NodeNames": ["a"], "FailedAndUnresolvableNodes": {"b": "full"}, "Error": ""}
    none = {"NodeNames": [], "FailedAndUnresolvableNodes": {}, "Error": ""}
    assert json.loads(write(FilterResult([]))) == none
    scores = json.loads(write([HostPriority("a", 10), HostPriority("b", 0)]))
    assert scores == [{"Host": "a", "Score": 10}, {"Host": "b", "Score": 0}]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no question of a kube-scheduler"),
        (b"GET / HTTP/1.1", "no question of a kube-scheduler"),
        (b"[]", "no question of a kube-scheduler"),
        (b"null", "no question of a kube-scheduler"),
        (b'{"Pod":[],"NodeNames":[]}', "no question of a kube-scheduler"),
        (b'{"Pod":{},"NodeNames":[1]}', "no question of a kube-scheduler"),
        (b'{"Pod":{},"NodeNames":"a"}', "no question of a kube-scheduler"),
        (b'{"Pod":{"a":"\xff"},"NodeNames":[]}', "no question of a kube-scheduler"),
        (b'{"Pod":{"a":"\\ud800"},"NodeNames":[]}', "no question of a kube-scheduler"),
        (b'{"Pod":' + b'{"a":' * 100_000, "no question of a kube-scheduler"),
        (b'{"Pod":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, "no question of a kube-sched"),
        (b'{"NodeNames":["a"]}', "no pod"),
        (b'{"Pod":null,"NodeNames":["a"]}', "no pod"),
        (b'{"Pod":{},"Nodes":{"items":[]}}', "nodeCacheCapable: true"),
        (b'{"Pod":{},"NodeNames":null}', "nodeCacheCapable: true"),
        (
            json.dumps({"Pod": {}, "NodeNames": ["a"] * (MOST_NODES + 1)}).encode(),
            "20,001 nodes, and at most 20,000",
        ),
    ],
    ids=range(16),
)
def test_what_cannot_be_understood_is_refused_in_words(body: bytes, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        read(body)


def test_as_many_nodes_as_may_be() -> None:
    names = ["a"] * MOST_NODES
    assert read(json.dumps({"Pod": {}, "NodeNames": names}).encode()) == ({}, names)


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode()))
def test_of_no_bytes_whatever_anything_else_comes(body: bytes) -> None:
    with pytest.raises(QuestionError):
        read(body)


@given(
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
    st.lists(st.text(max_size=5), max_size=4),
)
def test_names_come_back_as_they_were(pod: dict[str, object], names: list[str]) -> None:
    body = json.dumps({"Pod": {key: str(found) for key, found in pod.items()}, "NodeNames": names})
    try:
        _, found = read(body.encode())
    except QuestionError:
        assert any("\ud800" <= char <= "\udfff" for char in body)
        return
    assert found == names
    assert json.loads(write(FilterResult(found)))["NodeNames"] == names
