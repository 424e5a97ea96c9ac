"""Facts as they can be, and figures as they should never be."""

import string
from datetime import UTC, datetime

from hypothesis import strategies as st

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.facts import (
    CycleFacts,
    ForecastFacts,
    GpuFacts,
    HealthFacts,
    NodeFacts,
    PodFacts,
    PodGpuFacts,
    StaticFacts,
)

ANY_NUMBER = st.none() | st.floats() | st.integers(-(10**20), 10**20)
ANY_TEXT = st.none() | st.text(max_size=300)
TIMES = st.integers(946_684_800, 32_503_680_000 - 1).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC)
)
MAYBE = st.none() | st.booleans()
KINDS = st.none() | st.sampled_from(JobKind)
INDEX = st.integers(0, 999)
NODE_NAMES = st.text(string.ascii_lowercase + string.digits + "-.", min_size=1, max_size=253)


def cycles(
    numbers: st.SearchStrategy[float | None], words: st.SearchStrategy[str | None]
) -> st.SearchStrategy[CycleFacts | None]:
    number = numbers.filter(lambda value: value is not None)
    return st.none() | st.builds(CycleFacts, number, number, words, MAYBE, st.booleans())


def forecasts(numbers: st.SearchStrategy[float | None]) -> st.SearchStrategy[ForecastFacts | None]:
    number = numbers.filter(lambda value: value is not None)
    return st.none() | st.builds(
        ForecastFacts, number, numbers, numbers, numbers, numbers, st.booleans()
    )


def gpus(
    numbers: st.SearchStrategy[float | None], words: st.SearchStrategy[str | None]
) -> st.SearchStrategy[tuple[GpuFacts, ...]]:
    health = st.builds(HealthFacts, st.booleans(), numbers, words, st.none() | TIMES)
    one = st.builds(
        GpuFacts,
        INDEX,
        st.none() | INDEX,
        numbers,
        numbers,
        numbers,
        MAYBE,
        numbers,
        numbers,
        KINDS,
        cycles(numbers, words),
        forecasts(numbers),
        st.none() | health,
    )
    return st.lists(one, max_size=3, unique_by=lambda gpu: (gpu.index, gpu.mig)).map(tuple)


def nodes(
    numbers: st.SearchStrategy[float | None], words: st.SearchStrategy[str | None]
) -> st.SearchStrategy[NodeFacts]:
    number = numbers.filter(lambda value: value is not None)
    return st.builds(
        NodeFacts,
        st.none() | st.builds(StaticFacts, number, words, numbers),
        gpus(numbers, words),
        forecasts(numbers),
        forecasts(numbers),
        numbers,
        st.none() | TIMES,
    )


def pods(
    numbers: st.SearchStrategy[float | None], words: st.SearchStrategy[str | None]
) -> st.SearchStrategy[PodFacts]:
    gpu = st.builds(PodGpuFacts, INDEX, st.none() | INDEX, numbers, numbers, st.booleans())
    return st.builds(
        PodFacts,
        st.none() | NODE_NAMES,
        numbers,
        numbers,
        numbers,
        numbers,
        st.lists(gpu, max_size=3, unique_by=lambda gpu: (gpu.index, gpu.mig)).map(tuple),
        KINDS,
        cycles(numbers, words),
        forecasts(numbers),
    )
