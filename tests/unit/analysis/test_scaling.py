"""What is said of placements that were not tried: near the truth, and honest about how near."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.analysis.scaling import GpuType, Seen, fit
from cepheid.placementtrial import Arrange, Placement
from tests.bench.trials.truth import jobs
from tests.simgpu.silicon import MODELS, Model
from tests.simgpu.step_model import modelled_step

NAMES = {"A100": "NVIDIA A100-SXM4-80GB", "H100": "NVIDIA H100 80GB HBM3", "T4": "Tesla T4"}
KNOWN: dict[str, Model] = {short: MODELS[name] for short, name in NAMES.items()}
TYPES = tuple(
    GpuType(short, one.memory_mib, one.tensor_tflops, one.dram_gbps, 8)
    for short, one in KNOWN.items()
)


def at(gpu_type: str, workers: int, arrange: Arrange | None = None) -> Placement:
    return Placement(gpu_type=gpu_type, workers=workers, arrange=arrange)


def rate(placement: Placement, bound: str) -> float:
    model = KNOWN[placement.gpu_type]
    return 1 / modelled_step(60.0, bound, model, placement.gpus).total


def see(bound: str, *placements: Placement, error: float = 0.01) -> list[Seen]:
    return [Seen(one, rate(one, bound), error) for one in placements]


def off(seen: Sequence[Seen], bound: str, *placements: Placement) -> list[float]:
    bands = fit(seen, TYPES).band(placements)
    return [
        math.log(band.per_second / rate(one, bound))
        for band, one in zip(bands, placements, strict=True)
    ]


def width(seen: Sequence[Seen], placement: Placement) -> float:
    (band,) = fit(seen, TYPES).band([placement])
    return math.log(band.high / band.low)


@pytest.mark.parametrize("bound", ["compute", "memory", "communication", "input"])
def test_a_count_between_two_that_were_tried_is_foreseen(bound: str) -> None:
    seen = see(bound, at("A100", 1), at("A100", 4), at("A100", 8))
    assert np.abs(off(seen, bound, at("A100", 2), at("A100", 6))).max() < 0.06


@pytest.mark.parametrize("bound", ["compute", "memory", "input"])
def test_one_trial_of_another_type_tells_of_its_other_counts(bound: str) -> None:
    seen = see(bound, at("A100", 1), at("A100", 4), at("A100", 8), at("T4", 1))
    assert np.abs(off(seen, bound, at("T4", 2), at("T4", 4), at("T4", 8))).max() < 0.25


def test_what_was_measured_is_believed() -> None:
    seen = see("compute", at("A100", 1), at("A100", 4), at("T4", 2))
    scaling = fit(seen, TYPES)
    for one, band in zip(seen, scaling.band([one.placement for one in seen]), strict=True):
        assert band.low < one.per_second < band.high
        assert band.high / band.low < 1.1


def test_a_larger_error_counts_for_less() -> None:
    placement = at("A100", 2)
    sure = see("compute", at("A100", 1), at("A100", 4))
    wrong = Seen(placement, 3 * rate(placement, "compute"), 0.5)
    exact = Seen(placement, 3 * rate(placement, "compute"), 0.005)
    assert abs(off([*sure, wrong], "compute", placement)[0]) < 0.15
    assert off([*sure, exact], "compute", placement)[0] > 0.5


def test_each_trial_narrows_the_band() -> None:
    far = at("A100", 16)
    placements = [at("A100", 1), at("A100", 4), at("A100", 8), at("A100", 12)]
    widths = [width(see("compute", *placements[:count]), far) for count in range(1, 5)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.5 < widths[0]


def test_a_type_of_which_nothing_is_known_is_less_sure() -> None:
    seen = see("compute", at("A100", 1), at("A100", 4))
    foreign = Placement(gpu_type="never heard of", workers=4)
    assert width(seen, foreign) > 1.1 * width(seen, at("T4", 4))


def test_the_data_sheet_is_where_a_guess_begins() -> None:
    fast, slow = fit(see("compute", at("A100", 1)), TYPES).band([at("H100", 1), at("T4", 1)])
    assert slow.high < fast.low


def test_over_nodes_is_slower_than_in_one_once_that_was_seen() -> None:
    near, far = at("A100", 8, Arrange.PACKED), at("A100", 8, Arrange.SPREAD)
    seen = [
        *see("communication", at("A100", 1)),
        Seen(near, rate(near, "communication"), 0.01),
        Seen(far, 0.5 * rate(far, "communication"), 0.01),
    ]
    packed, spread = fit(seen, TYPES).band(
        [at("A100", 6, Arrange.PACKED), at("A100", 6, far.arrange)]
    )
    assert spread.per_second < 0.75 * packed.per_second


def test_the_unit_does_not_matter() -> None:
    seen = see("compute", at("A100", 1), at("A100", 4), at("T4", 1))
    tokens = [Seen(one.placement, 1e7 * one.per_second, one.error_ratio) for one in seen]
    placements = [at("A100", 8), at("T4", 8)]
    plain, large = fit(seen, TYPES).band(placements), fit(tokens, TYPES).band(placements)
    for one, other in zip(plain, large, strict=True):
        assert 1e7 * one.per_second == pytest.approx(other.per_second, rel=0.05)


def test_the_same_again_is_the_same() -> None:
    seen = see("communication", at("A100", 1), at("A100", 8))
    placements = [at("A100", 16), at("T4", 3)]
    once, again = (fit(seen, TYPES).samples(placements) for _ in range(2))
    assert np.array_equal(once, again)


def test_the_band_is_honest_on_jobs_that_are_no_sum_of_parts() -> None:
    chance = np.random.default_rng(4)
    inside = []
    for job in jobs(40, seed=4):
        placements = [one.placement for one in job.candidates]
        tried = chance.choice(len(placements), 5, replace=False)
        noise = np.exp(0.02 * chance.standard_normal(5))
        seen = [
            Seen(placements[place], job.per_second(placements[place]) * off, 0.02)
            for place, off in zip(tried, noise, strict=True)
        ]
        rest = [one for place, one in enumerate(placements) if place not in tried]
        bands = fit(seen, job.types).band(rest)
        inside += [
            band.low <= job.per_second(one) <= band.high
            for one, band in zip(rest, bands, strict=True)
        ]
    assert 0.8 < np.mean(inside) < 0.98


def test_the_words_say_what_a_step_consists_of() -> None:
    counts = (1, 2, 4, 8)
    talks = fit(see("communication", *(at("A100", n) for n in counts)), TYPES)
    works = fit(see("compute", *(at("A100", n) for n in counts)), TYPES)
    eight = at("A100", 8)
    assert talks.divided_share(eight) < 0.35
    assert works.divided_share(eight) > 0.75
    percent = round(100 * talks.divided_share(eight))
    assert f"on 8xA100 about {percent} % of a step divides" in talks.words()
    assert "twice the GPUs would be 1.0" in talks.words()
    assert fit([], TYPES).words() == "nothing was measured"


COUNTS = st.integers(1, 64)
PLACEMENTS = st.builds(
    Placement,
    gpu_type=st.sampled_from(["A100", "T4", "unheard"]),
    gpus_per_worker=COUNTS,
    workers=st.integers(1, 1024),
    arrange=st.sampled_from([None, *Arrange]),
)
FIGURES = st.floats(allow_nan=True, allow_infinity=True) | st.floats(1e-6, 1e9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.builds(Seen, PLACEMENTS, FIGURES, FIGURES), max_size=6), PLACEMENTS)
def test_whatever_was_measured_a_throughput_is_foreseen(seen: list[Seen], one: Placement) -> None:
    draws = fit(seen, TYPES).log_samples([one])
    assert np.isfinite(draws).all()
