"""The guard of users' PromQL: what is allowed, and everything that tries to read elsewhere."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.placementtrial import TrialError
from cepheid_operator.trials.measuring.queries import MOST_NAMES, guarded

PODS = ("train-w-0", "train.x-w-1")


@pytest.mark.parametrize(
    ("written", "asked", "reach_seconds"),
    [
        ('steps{namespace="$namespace"}', 'steps{namespace="team"}', 0),
        ("steps{namespace='team'}", 'steps{namespace="team"}', 0),
        (
            'sum(rate(steps_total{namespace="$namespace",pod=~"$pods"}[1m]))',
            'sum(rate(steps_total{namespace="team",pod=~"train-w-0|train[.]x-w-1"}[1m]))',
            60,
        ),
        ('rate(a{namespace="team"}[5m] offset 1m)', None, 360),
        ('max_over_time(rate(a{namespace="team"}[5m])[10m:1m])', None, 900),
        ('rate(a{namespace="team"}[30m]) / rate(b{namespace="team"}[20m])', None, 1800),
        ('-(a{namespace="team"} + 1) * 2', None, 0),
        ('topk(1, a{namespace="team"}) > bool 3', None, 0),
        ('label_replace(a{namespace="team"}, "x", "y", "", "")', None, 0),
        ('a{namespace="team"} * on (pod) group_left (x) b{namespace="team"}', None, 0),
        ('a{namespace="team",namespace=~"t.*"}', None, 0),
        ('a{namespace="team"} @ 1700000000', None, 0),
        ('quantile(0.5, a{namespace="team"})', None, 0),
    ],
)
def test_what_reads_its_own_namespace_is_asked(
    written: str, asked: str | None, reach_seconds: float
) -> None:
    query = guarded(written, "team", PODS)
    assert query.reach_seconds == reach_seconds
    if asked is not None:
        assert query.expression == asked


OWN = 'a{namespace="team"}'


@pytest.mark.parametrize(
    "written",
    [
        "steps",
        "steps{}",
        'steps{namespace="other"}',
        'steps{namespace=""}',
        'steps{namespace=~"team"}',
        'steps{namespace!="team"}',
        'steps{namespace!~"x"}',
        'steps{namespace=~"team|other"}',
        'steps{exported_namespace="team"}',
        'steps{Namespace="team"}',
        # no name, or a name by another way
        '{namespace="team"}',
        '{__name__=~".+"}',
        '{__name__=~".+",namespace="team"}',
        '{__name__="steps",namespace="team"}',
        '{"steps",namespace="team"}',
        'steps{namespace="team" or namespace="other"}',
        'steps{pod="x" or namespace="team"}',
        # one of several
        f"{OWN} + b",
        f"b and {OWN}",
        f"{OWN} or b",
        f"{OWN} unless on () b",
        f"{OWN} * on (pod) group_left (secret) b",
        f"sum({OWN}) + sum(b)",
        f"({OWN} + ((b)))",
        f"-b + {OWN}",
        f"topk(scalar(b), {OWN})",
        f"quantile(scalar(sum(b)), {OWN})",
        f"clamp_max({OWN}, scalar(b))",
        f"vector(scalar(b)) + {OWN}",
        f"absent(b) + {OWN}",
        f"{OWN} + absent_over_time(b[5m])",
        f"{OWN} + rate(b[5m])",
        f"{OWN} + max_over_time(rate(b[5m])[10m:1m])",
        f"max_over_time((b)[10m:1m]) + {OWN}",
        f'label_replace(b, "namespace", "team", "", "") + {OWN}',
        f'label_join(b, "namespace", "", "x") + {OWN}',
        'label_replace(b, "namespace", "team", "", "")',
        f'count_values("namespace", b) + {OWN}',
        f"histogram_quantile(scalar(b), {OWN})",
        f"info({OWN})",
        f'info({OWN}, {{secret=~".+"}})',
        # other readings of one text
        'steps # {namespace="team"}',
        '# {namespace="team"}\nsteps',
        'steps{namespace="\\x74eam"}',
        'steps{namespace="team\\"} + b{x="\\""}',
        "steps{namespace=`team`}",
        'steps{namespace="\uff54eam"}',
        '\u0455teps{namespace="team"}',
        'steps{namespace="team"}\x00',
        'steps{namespace="team\u200b"}',
        'WITH (x = b) x + a{namespace="team"}',
        f"{OWN} default b",
        f"{OWN} if b",
        # what measures nothing
        "vector(1)",
        "1",
        "time()",
        '"team"',
        "",
        # what is not ours to put in
        'a{namespace="$team"}',
        "$pods",
        '$pods{namespace="team"}',
        '$namespace{namespace="other"}',
        # too much
        'rate(a{namespace="team"}[2h])',
        'max_over_time(a{namespace="team"}[50m:1s] offset 20m)',
        'max_over_time(a{namespace="team"}[1h:1ms])',
        OWN + " " * 1000,
        "1" + "+1" * 2000 + f"+{OWN}",
        "(" * 450 + OWN,
        OWN + "}",
    ],
)
def test_what_might_read_elsewhere_is_refused(written: str) -> None:
    with pytest.raises(TrialError, match=r"spec\.measure\.promql: ") as refused:
        guarded(written, "team", PODS)
    assert refused.value.hint


def test_pods_of_a_job_of_hundreds_are_named_by_what_they_share() -> None:
    pods = [f"t.rain-{'x' * 40}-worker-{n}" for n in range(500)]
    expression = guarded('a{namespace="$namespace",pod=~"$pods"}', "team", pods).expression
    assert len(expression) < MOST_NAMES
    found = re.search(r'pod=~"([^"]+)"', expression)
    assert found is not None
    assert all(re.fullmatch(found[1], pod) for pod in pods)
    assert not re.fullmatch(found[1], pods[0].replace(".", "_"))


EXPRESSIONS = st.recursive(
    st.sampled_from([OWN, "b", 'c{namespace="other"}', "1", 'b{namespace=~".*"}', "time()"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "or", "and", ">"]), inner),
        st.builds("sum({})".format, inner),
        st.builds("-{}".format, inner),
        st.builds("scalar({})".format, inner),
        st.builds("topk(scalar({}), {})".format, inner, inner),
        st.builds("max_over_time(({})[5m:1m])".format, inner),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
def test_an_expression_with_a_foreign_selector_is_never_asked(expression: str) -> None:
    try:
        query = guarded(expression, "team", PODS)
    except TrialError:
        return
    assert not re.search(r"\bb\b|\bc\b", query.expression)


@given(st.text(max_size=200) | st.text(alphabet='ab{}()[]="namespce~!|,$+- \n:5m', max_size=80))
def test_any_text_is_refused_or_asked_of_its_namespace(text: str) -> None:
    with suppress(TrialError):
        assert 'namespace="team"' in guarded(text, "team", PODS).expression
