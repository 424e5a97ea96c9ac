"""Which runs are runs of the same job, and what their profiles are called."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.jobs.lineage import series_of, template_of, without_suffix
from cepheid.jobs.names import profile_name
from cepheid.jobs.owners import Reference
from tests.unit.jobs.samples import NAMES, load
from tests.unit.jobs.strategies import HOSTILE, JOBS

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("nightly-29384756", "nightly"),  # CronJob: minutes since 1970
        ("train-x7k2p", "train"),  # generateName
        ("train-bfgst", "train"),
        ("train-1", "train"),
        ("train-run-7", "train"),
        ("resnet-2026-03-01", "resnet"),
        ("resnet-20260301-1020", "resnet"),
        ("resnet-20260301t102030z", "resnet"),
        ("eval-3f2a9c1d", "eval"),
        ("eval-123e4567-e89b-12d3-a456-426614174000", "eval"),
        ("sweep-4-x7k2p", "sweep"),
        ("mnist", "mnist"),
        ("bert-train", "bert-train"),
        ("llama-7b", "llama-7b"),
        ("resnet50", "resnet50"),
        ("gpt-train-tests", "gpt-train-tests"),
        ("deadbeef", "deadbeef"),
        ("7", "7"),
    ],
)
def test_runs_are_told_by_their_names_without_what_was_generated(name: str, series: str) -> None:
    assert without_suffix(name) == series


def test_a_generated_name_tells_its_series_by_itself() -> None:
    job = {"metadata": {"name": "train-7b-abcde", "generateName": "train-7b-"}}
    assert series_of(job) == "train-7b"
    forged = {"metadata": {"name": "train-7b-abcde", "generateName": "another-"}}
    assert series_of(forged) == "train-7b-abcde"


@pytest.mark.parametrize("name", [n for n in NAMES if "series" in load(n).expected])
def test_the_series_of_the_samples(name: str) -> None:
    sample = load(name)
    owners = sample.job["metadata"].get("ownerReferences", [])
    cron = Reference("batch/v1", "CronJob", owners[0]["name"], "u") if owners else None
    assert series_of(sample.job, cron) == sample.expected["series"]


@given(st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,60}[a-z0-9])?", fullmatch=True))
def test_something_of_every_name_is_left(name: str) -> None:
    assert without_suffix(name)
    assert name.startswith(without_suffix(name))


def reordered(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {key: reordered(thing[key]) for key in reversed(thing)}
    return [reordered(item) for item in thing] if isinstance(thing, list) else thing


@pytest.mark.parametrize("job", JOBS, ids=NAMES)
def test_a_template_does_not_depend_on_the_order_of_keys_nor_on_the_run(job: Any) -> None:
    again = reordered(json.loads(json.dumps(job)))
    again["metadata"] = {"name": "another", "uid": "another", "labels": {"controller-uid": "x"}}
    again["status"] = {}
    assert template_of(again) == template_of(job)


def test_a_template_changes_with_what_runs() -> None:
    job = load("job-out-of-memory").job
    changed = json.loads(json.dumps(job))
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "another"
    assert template_of(changed) != template_of(job)
    assert template_of({"apiVersion": "batch/v1", "kind": "Job"}) is None


def test_what_the_api_server_puts_into_a_pod_is_not_part_of_its_template() -> None:
    plain = load("pod-succeeded").job
    injected = json.loads(json.dumps(plain))
    injected["spec"]["nodeName"] = "gpu-z"
    injected["spec"]["volumes"] = [{"name": "kube-api-access-x7k2p", "projected": {}}]
    other = json.loads(json.dumps(injected))
    other["spec"]["volumes"][0]["name"] = "kube-api-access-zzzzz"
    assert template_of(injected) == template_of(other)


@given(HOSTILE)
def test_hostile_objects_have_a_series_and_maybe_a_template(job: dict[str, object]) -> None:
    assert series_of(job)
    assert template_of(job) is None or len(template_of(job) or "") == 16


@given(st.text(max_size=300), st.text(max_size=60))
def test_a_profile_has_a_name_that_kubernetes_takes(name: str, uid: str) -> None:
    found = profile_name(name, uid)
    assert len(found) <= 253
    assert SUBDOMAIN.fullmatch(found)
    assert found == profile_name(name, uid)


def test_a_job_that_is_made_again_has_another_profile() -> None:
    assert profile_name("train", "uid-1").startswith("train-")
    assert profile_name("train", "uid-1") != profile_name("train", "uid-2")
    assert profile_name("a" * 253, "uid-1") != profile_name("a" * 252 + "b", "uid-2")
