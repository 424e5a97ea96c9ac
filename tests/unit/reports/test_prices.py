"""A cost is a whole one, or none."""

import pytest
from msgspec.structs import replace

from cepheid.errors import UsageError
from cepheid.reports.prices import cost, price_list
from tests.unit.reports.runs import pod_job, process


@pytest.mark.parametrize(
    "model", ["NVIDIA A100-SXM4-80GB", "NVIDIA-A100-SXM4-80GB", "A100-80", "a100-80"]
)
def test_a_model_is_found_by_whatever_it_is_called(model: str) -> None:
    assert cost(pod_job(), price_list({model: 3.0})) == pytest.approx(4 * 3.0 * 8040 / 3600)


def test_cpu_time_and_energy_have_prices_of_their_own() -> None:
    prices = price_list({"RTX3090": 0.0, "cpuHour": 0.5, "kWh": 0.3, "currency": "EUR"})
    assert prices.currency == "EUR"
    expected = 0.5 * 3.9 * 720 / 3600 + 0.3 * 130_000 / 3.6e6
    assert cost(process(), prices) == pytest.approx(expected)


def test_what_has_no_price_or_was_not_measured_has_no_cost() -> None:
    assert cost(process(), price_list({"A100-80": 3.0})) is None
    assert cost(process(), price_list({"A100-80": 3.0, "gpuHour": 1.0})) == pytest.approx(0.2)
    assert cost(replace(pod_job(), gpus=()), price_list({"A100-80": 3.0})) is None
    unmeasured = process(usage=None, process=None, gpus=(), gpu_count=0)
    assert cost(unmeasured, price_list({"cpuHour": 1.0})) is None
    assert cost(unmeasured, price_list({"A100-80": 3.0})) == 0.0


@pytest.mark.parametrize(
    "content",
    [None, [], {}, "A100", {"A100": "much"}, {"A100": -1}, {"A100": True}, {"A100": float("inf")}],
)
def test_what_is_no_price_list_is_refused_with_an_example(content: object) -> None:
    with pytest.raises(UsageError) as problem:
        price_list(content)
    assert "A100-80" in (problem.value.hint or "")
