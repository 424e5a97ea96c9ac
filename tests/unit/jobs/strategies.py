"""Objects as they should never be, and pods as they can be."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.facts import CycleFacts, PodFacts, PodGpuFacts
from cepheid.jobprofile import Reason
from cepheid.jobs.failures import Failure
from cepheid.jobs.pods import Container, Phase, PodState
from tests.unit.jobs.samples import NAMES, load

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        ["True", "Failed", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "x" * 400]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(thing: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(thing, Mapping):
        for key, value in thing.items():
            found += _paths(value, (*path, key))
    elif isinstance(thing, list):
        for index, value in enumerate(thing):
            found += _paths(value, (*path, index))
    return found


@st.composite
def spoilt(draw: st.DrawFn, *documents: Mapping[str, Any]) -> dict[str, Any]:
    """A real object with something else in some of its places."""
    document = json.loads(json.dumps(draw(st.sampled_from(documents))))
    for _ in range(draw(st.integers(1, 4))):
        paths = _paths(document)
        if not paths:
            break
        *way, last = draw(st.sampled_from(paths))
        place: Any = document
        for step in way:
            place = place[step]
        place[last] = draw(ANYTHING)
    return dict(document)


JOBS = tuple(load(name).job for name in NAMES)
RAW_PODS = tuple(pod for name in NAMES for pod in load(name).raw_pods)
HOSTILE: st.SearchStrategy[dict[str, Any]] = spoilt(*JOBS) | st.dictionaries(
    st.sampled_from(["apiVersion", "kind", "metadata", "spec", "status"]), ANYTHING
)
HOSTILE_PODS: st.SearchStrategy[dict[str, Any]] = spoilt(*RAW_PODS) | st.dictionaries(
    st.sampled_from(["metadata", "spec", "status"]), ANYTHING
)

TIMES = st.integers(0, 7200).map(lambda seconds: NOON + timedelta(seconds=seconds))
FAILURES = st.builds(
    Failure, st.sampled_from(Reason), st.none() | TIMES, st.none() | st.integers(-1, 255)
)
NAMES_OF_PODS = st.sampled_from(["w-0", "w-1", "w-2", "cycle", "a" * 80, "launcher"])
FACTS = st.builds(
    PodFacts,
    st.none(),
    *[st.none() | st.integers(0, most) for most in (100, 10**6, 10**4, 10**4)],
    st.lists(
        st.builds(
            PodGpuFacts,
            st.integers(0, 3),
            st.none(),
            st.none() | st.integers(0, 100),
            st.none() | st.integers(0, 80_000),
            st.booleans(),
        ),
        max_size=3,
        unique_by=lambda gpu: gpu.index,
    ).map(tuple),
    st.none() | st.sampled_from(JobKind),
    st.none() | st.builds(CycleFacts, st.integers(1, 500), st.integers(0, 1), st.none(), st.none()),
)
POD_STATES = st.builds(
    PodState,
    uid=st.uuids().map(str),
    name=NAMES_OF_PODS,
    namespace=st.just("ns"),
    created=TIMES,
    phase=st.sampled_from(Phase),
    node=st.none() | st.sampled_from(["gpu-a", "gpu-b"]),
    role=st.none() | st.sampled_from(["Worker", "Launcher"]),
    service_account=st.none() | st.just("trainer"),
    started=st.none() | TIMES,
    finished=st.none() | TIMES,
    containers=st.sampled_from(
        [(), (Container("main", (("memory", "4Gi"),), (("cpu", "2"), ("memory", "8Gi"))),)]
    ),
    gpu_count=st.integers(0, 8),
    restarts=st.integers(0, 3),
    failure=st.none() | FAILURES,
    facts=FACTS,
)
