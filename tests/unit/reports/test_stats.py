"""Sums over many jobs, checked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.jobprofile import JobProfile, Outcome
from cepheid.reports.prices import price_list
from cepheid.reports.stats import GROUPS, key_of, quantile, stats
from tests.unit.history.strategies import PROFILES
from tests.unit.reports.runs import pod_job, process


def test_sums_means_and_shares_are_those_of_the_group() -> None:
    jobs = [
        process(0, seconds=100.0),
        process(1, seconds=300.0),
        process(2, seconds=200.0, outcome=Outcome.FAILED),
        process(3, seconds=50.0, outcome=Outcome.RUNNING),
        pod_job(),
    ]
    found = stats(jobs, key_of("name"))
    train, bert = found.rows
    assert (train.group, train.jobs, train.running) == ("train.py", 4, 1)
    assert train.success_percent == pytest.approx(200 / 3)
    assert train.duration_mean_seconds == 200.0
    assert train.duration_p95_seconds == pytest.approx(290.0)
    assert train.cpu_hours == pytest.approx(3.9 * 650 / 3600)
    assert train.gpu_hours == pytest.approx(650 / 3600)
    assert train.energy_kwh == pytest.approx(4 * 130_000 / 3.6e6)
    assert bert.gpu_hours == pytest.approx(4 * 8040 / 3600)
    assert bert.gpu_util_percent_mean == 91.0
    assert (found.total.jobs, found.total.cost) == (5, None)


def test_utilisation_is_weighted_by_the_hours_that_gpus_were_held() -> None:
    found = stats([process(seconds=1000.0), pod_job(seconds=1000.0)], key_of("kind"))
    assert found.total.gpu_util_percent_mean == pytest.approx((71 + 4 * 91) / 5)


def test_what_was_not_measured_is_not_zero() -> None:
    bare = process(usage=None, process=None, gpus=(), gpu_count=0)
    (row,) = stats([bare], key_of("user")).rows
    assert row.cpu_hours is row.gpu_hours is row.energy_kwh is row.gpu_util_percent_mean is None
    assert stats([], key_of("user")).total.success_percent is None


@pytest.mark.parametrize(
    ("by", "group"),
    [
        ("user", "lin"),
        ("status", "success"),
        ("kind", "MPIJob"),
        ("namespace", "research"),
        ("gpu", "NVIDIA A100-SXM4-80GB"),
        ("host", "gpu-a"),
        ("day", "2026-03-01"),
        ("month", "2026-03"),
        ("reason", "(none)"),
        ("label:team", "vision"),
        ("label:none", "(none)"),
    ],
)
def test_jobs_are_grouped_by_what_was_asked(by: str, group: str) -> None:
    (row,) = stats([pod_job(labels={"team": "vision"})], key_of(by)).rows
    assert row.group == group


@given(st.lists(PROFILES, max_size=5), st.sampled_from(sorted(GROUPS)))
def test_every_job_is_counted_once(profiles: list[JobProfile], by: str) -> None:
    found = stats(profiles, key_of(by), price_list({"gpuHour": 1}))
    assert sum(row.jobs for row in found.rows) == found.total.jobs == len(profiles)


@given(
    st.lists(st.floats(0, 1e9), min_size=1, max_size=50),
    st.floats(0, 1),
)
def test_quantiles_are_numpys(values: list[float], share: float) -> None:
    assert quantile(values, share) == pytest.approx(float(np.quantile(values, share)))
