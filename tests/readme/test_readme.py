"""The README's commands, typed one after the other as it shows them."""

import re

import pytest

from tests.cluster import lifecycle
from tests.readme.typed import NAME, Running, commands, type_in

pytestmark = [pytest.mark.e2e, pytest.mark.machine]


@pytest.mark.timeout(1500)  # the demo shows what takes minutes to see
def test_every_command_of_the_readme_and_of_the_demo_works_in_its_order(demo: Running) -> None:
    first, *rest = commands()
    assert first == f"make demo NAME={NAME}"
    said, _, annotations = demo.said(timeout_seconds=1300).partition("\n$ kubectl describe node")
    for address in ("API server   https://", "Prometheus   http://", "kubeconfig   /"):
        assert address in said
    for key in ("gpu-static: {", "job-type: training", "job-type: idle", "-cycle: {"):
        assert key in annotations
    profiles = annotations.partition("\n$ kubectl get jobprofiles")[2]
    assert re.search(r"(?m)^bert-\S+ +MPIJob +running ", profiles)
    assert re.search(r"(?m)^notebook-\S+ +Pod +running ", profiles)
    *next_ones, last = said.partition("Type next:")[2].split("\n  ")[1:]
    assert last.strip() == rest[-1] == f"make down NAME={NAME}"
    assert '"status":"success"' in type_in(next_ones)
    assert NAME in lifecycle.all_names()
    type_in(rest)
    assert NAME not in lifecycle.all_names()
