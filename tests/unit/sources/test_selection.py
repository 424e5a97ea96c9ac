"""The one text from outside that stands in a query cannot leave its place."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cepheid.sources.catalog import Source
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.selection import Found, Target, quote, quote_regex, selectors, ways
from tests.unit.sources.samples import END


@given(name=st.text(max_size=30))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_name_is_one_string_to_prometheus(
    name: str, full: str, client: Callable[..., PrometheusClient]
) -> None:
    one = client(full)
    (back,) = one.instant(f'label_replace(vector(1), "x", {quote(name)}, "", "")', END).series
    # label_replace expands $: and a lone surrogate cannot be sent.
    if "$" not in name:
        assert back.labels.get("x", "") == name
    (match,) = one.instant(
        f'label_replace(vector(1), "x", "yes", "", {quote(quote_regex(name) + "|")})', END
    ).series
    assert match.labels["x"] == "yes"


def test_a_selector_asks_for_this_node_alone() -> None:
    target = Target(node='a"b\\', addresses=("10.0.0.1", "fd00::1"))
    (selector,) = selectors(target, Found(Source.DCGM, "Hostname"))
    assert selector.startswith('{__name__=~"DCGM_FI_DEV_GPU_UTIL|')
    assert selector.endswith(',Hostname="a\\"b\\\\"}')
    (selector,) = selectors(target, Found(Source.AMD, "instance"))
    assert selector.endswith(
        'instance=~"(?:a\\"b\\\\\\\\|10\\\\.0\\\\.0\\\\.1|\\\\[fd00::1\\\\])(?::[0-9]+)?"}'
    )


def test_every_way_of_every_source_is_asked_for_by_the_node() -> None:
    target = Target(node="node-a")
    for way in ways(target):
        assert all("node-a" in selector for selector in selectors(target, way))


def test_settings_that_are_no_names_are_refused() -> None:
    with pytest.raises(ValueError, match="label"):
        selectors(Target(node="a"), Found(Source.DCGM, 'x="y",z'))
    with pytest.raises(ValueError, match="begin"):
        selectors(Target(node="a", amd_prefix='"} or {'), Found(Source.AMD, "node"))
