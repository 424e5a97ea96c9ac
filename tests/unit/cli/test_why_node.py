"""`cepheid why-node` on a screen: it fits, and nothing that somebody else wrote is obeyed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cepheid.cli.why_node import lines
from cepheid.reports.plain import plain
from cepheid.reports.why_node import node_rows
from cepheid.reports.why_node_events import Told
from cepheid.whynode import Considered, LeftOut, Scored
from tests.unit.history.strategies import ATTACKS
from tests.unit.reports.considered import CONSIDERED, FULL, NOW, PARTS, POD


def shown(told: Considered, columns: int = 80) -> list[str]:
    return lines(POD, Told(told, NOW), node_rows(POD, told), columns)


def test_the_answer_comes_first_then_what_was_expected_then_the_nodes() -> None:
    assert shown(CONSIDERED)[:11] == [
        "train-0 runs on gpu-a, which had the highest score of 3 nodes: 10 of 10.",
        "",
        "  job      research/bert, 5 earlier runs",
        "  needs    1 GPU, 12.4 GB, for 9 min",
        "  best on  not known",
        "  speed    A100-80 100 %, T4 21 % of the fastest",
        "",
        "NODE   SCORE   TYPE   FIT  FREE  APART   PACK  SOUND",
        "gpu-a     10  100 %  16 %  91 %  100 %   75 %  100 %  its node",
        "gpu-b      4  100 %  16 %  81 %   67 %   75 %  100 %  -",
        "gpu-d      0   21 %  96 %  91 %  100 %  100 %  100 %  -",
    ]


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_long_names_fit_the_screen(columns: int) -> None:
    name = "gpu-" + "x" * 240
    best = tuple(Scored(node=f"{name}-{n}", score=9, parts=PARTS) for n in range(10))
    out = tuple(LeftOut(node=f"{name}-{n}", why=FULL) for n in range(10, 20))
    told = replace(CONSIDERED, best=best, out=out, nodes=400, left_out=30)
    assert max(map(len, shown(told, columns))) <= columns


texts = st.text(max_size=300) | st.sampled_from(ATTACKS) | st.just(" " * 200 + "x")


@given(texts, texts, texts.filter(bool), st.floats(0, allow_infinity=False), st.integers(40, 120))
def test_nothing_that_an_event_says_is_obeyed_or_breaks_it(
    why: str, job: str, kind: str, amount: float, columns: int
) -> None:
    expected = replace(
        CONSIDERED.expected,
        job=job,
        best_type=kind,
        speeds={kind: amount, job: 0.5, why: -amount},
        memory_gb=amount,
        seconds=amount,
    )
    told = replace(
        CONSIDERED, expected=expected, unknown=why, out=(LeftOut(node="gpu-c", why=why),)
    )
    made = shown(told, columns)
    assert all(line.isprintable() and len(line) <= columns for line in made)
    assert all(line == plain(line) for line in made)
