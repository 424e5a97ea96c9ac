"""Rates from what training loops print: their own lines, and what nobody should print."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.placementtrial import TrialError
from cepheid_operator.trials.measuring.loglines import MOST_PARTS, Rate, check_pattern, rate_from

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float, text: str) -> str:
    when = (NOON + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return f"{when}123Z {text}"


MEGATRON = (
    " [2024-04-06 02:59:36] iteration       43/     100 | consumed samples:         5504 |"
    " elapsed time per iteration (ms): 5444.9 | throughput per GPU (TFLOP/s/GPU): 239.8 |"
    " learning rate: 8.600000E-06 |{} lm loss: 1.825991E+00 | number of nan iterations:   0 |"
)


@pytest.mark.parametrize(
    ("line", "per_second", "unit"),
    [
        # tqdm, alone and within Lightning and Hugging Face's Trainer
        (" 22%|██▏       | 4/18 [00:17<01:02,  4.47s/it]", 1 / 4.47, "iterations"),
        ("Epoch 0:  28%|██▊  | 5/18 [00:20<00:53, 46.84it/s, loss=9.9]", 46.84, "iterations"),
        ("Epoch 8: : 150it [00:03, 46.84it/s, loss=1.625, v_num=0]", 46.84, "iterations"),
        ("100%|█| 50/50 [00:03<00:00, 1.20kit/s]", 1200.0, "iterations"),
        ("Map: 3%|▎ | 1000/30000 [00:01<00:30, 812.5 examples/s]", 812.5, "samples"),
        ("  1%|  | 3/1000 [00:05<?, 1.5batch/s]", 1.5, "iterations"),
        # our own simulated workload
        ("step 12 loss 3.211 1.02 s/it", 1 / 1.02, "iterations"),
        # PyTorch's examples
        (
            "Epoch: [0][  10/5005]\tTime  0.250 ( 0.461)\tData  0.001 ( 0.060)\tLoss 7.0e+00",
            4.0,
            "iterations",
        ),
        (
            (
                "Epoch: [0]  [ 10/1000]  eta: 0:05:00  lr: 0.1  loss: 6.9 (7.0)  time: 0.2500"
                "  data: 0.0100  max mem: 8000"
            ),
            4.0,
            "iterations",
        ),
        (
            "Epoch: [0]  [ 10/1000]  eta: 0:05:00  lr: 0.1  img/s: 812.4  loss: 6.9  time: 0.25",
            812.4,
            "samples",
        ),
        ("iter 120: loss 2.3452, time 125.00ms, mfu 35.01%", 8.0, "iterations"),
        (
            "eta: 1:02:03  iter: 19  total_loss: 2.1  time: 0.5000  last_time: 0.4  data_time: 0.1",
            2.0,
            "iterations",
        ),
        (
            "Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.9)  Time: 0.500s,  512.10/s  LR: 1e-3",
            2.0,
            "iterations",
        ),
        # Megatron-LM
        (MEGATRON.format(" global batch size:   128 |"), 128 / 5.4449, "samples"),
        (MEGATRON.format(""), 1 / 5.4449, "iterations"),
        # DeepSpeed, GPT-NeoX
        (
            (
                "[2023-07-25 21:03:17,269] [INFO] [timer.py:215:stop] epoch=0/micro_step=34/"
                "global_step=34, RunningAvgSamplesPerSec=7.8646, CurrSamplesPerSec=8.0091,"
                " MemAllocated=59.65GB"
            ),
            8.0091,
            "samples",
        ),
        (
            (
                "[2022-03-11 02:06:58,985] [INFO] [timer.py:189:stop] 0/40,"
                " SamplesPerSec=83.48609168106144, MemAllocated=0.26GB"
            ),
            83.486,
            "samples",
        ),
        (
            (
                " samples/sec: 7.799 | iteration       34/   10000 |"
                " elapsed time per iteration (ms): 4103.1 | learning rate: 2.111E-06 |"
            ),
            7.799,
            "samples",
        ),
        ("steps: 10 loss: 1.2345 iter time (s): 0.500 samples/sec: 64.000", 64.0, "samples"),
        ("steps: 10 loss: 1.2345 iter time (s): 0.500", 2.0, "iterations"),
        ("Running average: iter time (ms): 500.0", 2.0, "iterations"),
        ("step 7 | 12,345.6 tokens/s | loss 2.1", 12345.6, "tokens"),
    ],
)
def test_the_usual_lines_are_recognised(line: str, per_second: float, unit: str) -> None:
    lines = [at(10 * n, line) for n in range(8)]
    rate = rate_from(["starting", *lines, "done"])
    assert rate is not None
    assert rate.per_second == pytest.approx(per_second, rel=1e-4)
    assert rate.unit == unit
    assert rate_from([line] * 8) == rate  # without times as well


@pytest.mark.parametrize(
    "line",
    [
        "Iter #3: 402.1 img/sec per GPU",  # not of all of them
        "Total time: 12.5",
        "elapsed time: 99.0 s",
        "Finished at time: 12:30",
        "  0%|          | 0/18 [00:00<?, ?it/s]",
        "data_time: 0.5",
        "speed 0.00it/s",
        "loss 0.5 accuracy 0.7",
        "",
    ],
)
def test_other_lines_are_no_rates(line: str) -> None:
    assert rate_from([at(n, line) for n in range(9)]) is None


def test_what_was_printed_in_the_warm_up_does_not_count() -> None:
    slow = [at(n, "step 1 loss 3 8.00 s/it") for n in range(10)]
    fast = [at(30 + n, "step 2 loss 3 2.00 s/it") for n in range(6)]
    late = rate_from([*slow, *fast], from_seconds=NOON.timestamp() + 30)
    assert late is not None
    assert late.per_second == 0.5
    assert rate_from(slow, from_seconds=NOON.timestamp() + 30) is None
    early = rate_from([*slow, *fast])
    assert early is not None
    assert early.per_second == 0.125


def test_a_progress_bar_is_one_line_of_which_the_beginning_is_left_out() -> None:
    drawn = ["  0%| | 0/99 [00:00<?, ?it/s]"]
    drawn += [f" 1%| | {n}/99 [00:{n:02}<?, {9 if n < 10 else 2}.00s/it]" for n in range(1, 60)]
    bar = at(0, "\r".join(drawn))
    rate = rate_from([bar], from_seconds=NOON.timestamp() + 30)
    assert rate is not None
    assert rate.per_second == 0.5


def test_a_bar_of_the_preparation_is_not_that_of_the_training() -> None:
    mapping = at(0, "\r".join(["Map: 3%| | 9/99 [00:01<00:30, 812.5 examples/s]"] * 50))
    training = [at(30 + n, "step 2 loss 3 2.00 s/it") for n in range(60)]
    rate = rate_from([mapping, *training], from_seconds=NOON.timestamp() + 20)
    assert rate is not None
    assert (rate.per_second, rate.unit) == (0.5, "iterations")


def test_the_summary_of_a_run_that_ended_is_better_than_nothing() -> None:
    line = "{'train_runtime': 12.3, 'train_samples_per_second': 45.6, 'epoch': 1.0}"
    assert rate_from([at(0, line)]) == Rate(45.6, 0.05, "samples")


def test_the_error_is_that_of_a_median() -> None:
    wild = rate_from([at(n, f"{8 + 2 * (n % 3)}.00it/s") for n in range(30)])
    calm = rate_from([at(n, f"10.0{n % 3}it/s") for n in range(30)])
    assert wild is not None
    assert calm is not None
    assert wild.per_second == 10.0
    assert 0.03 < wild.error_ratio < 0.2
    assert calm.error_ratio == 0.005


@pytest.mark.parametrize(
    ("pattern", "line", "per_second"),
    [
        (r"speed=(?P<rate>[\d.]+)", "speed=12.5", 12.5),
        (r"took (?P<seconds>[\d.]+) s", "batch took 0.5 s", 2.0),
        (r"(?P<rate>[\d,.]+) rows", "1,250.0 rows", 1250.0),
    ],
)
def test_a_pattern_of_the_users_own_is_found(pattern: str, line: str, per_second: float) -> None:
    rate = rate_from([at(n, line) for n in range(5)], pattern)
    assert rate == Rate(per_second, 0.005, "iterations")


def test_steps_are_counted_over_the_time_that_passed() -> None:
    lines = [at(4.0 * n, f"global step {10 * n}") for n in range(12)]
    assert rate_from(lines, r"step (?P<step>\d+)") == Rate(2.5, 0.005, "iterations")
    uneven = [at(4.0 * n + (n % 2), f"step {10 * n}") for n in range(12)]
    rate = rate_from(uneven, r"step (?P<step>\d+)")
    assert rate is not None
    assert rate.per_second == pytest.approx(2.5, rel=0.05)
    assert rate.error_ratio > 0.02
    again = [*lines, *(at(60 + 5.0 * n, f"step {10 * n}") for n in range(5))]
    restarted = rate_from(again, r"step (?P<step>\d+)")
    assert restarted is not None
    assert restarted.per_second == 2.0
    assert rate_from([f"step {n}" for n in range(9)], r"step (?P<step>\d+)") is None


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "no group",
        r"(\d+)",
        r"(?P<rate>\d+) (?P<step>\d+)",
        r"(?P<rate>\d+)(x)?",
        r"(?P<speed>\d+)",
        r"(?P<rate>\d+)(?=x)",
        "(?P<rate>(a{1000}){1000})",
        "\ud800(?P<rate>x)",
        "x" * 2000,
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_a_hint(pattern: str) -> None:
    with pytest.raises(TrialError, match=r"spec\.measure\.pattern: ") as refused:
        check_pattern(pattern)
    assert refused.value.hint


def test_a_pattern_made_to_run_for_ever_does_not() -> None:
    lines = [at(n, "a" * 900) for n in range(2000)]
    assert rate_from(lines, "^(?P<rate>[a]+[a]+[a]+[a]+[a]+[a]+[a]+b)$") is None


def test_megabytes_of_nonsense_are_cut() -> None:
    hostile = [
        "\x00\xff" * 500_000,
        "9" * 1_000_000 + "it/s",
        "\r" * 1_000_000,
        "1" + "0" * 400 + ".5it/s",
        at(0, "\ud800 " * 1000),
        *(["1.00it/s \r"] * (2 * MOST_PARTS)),
    ]
    rate = rate_from(hostile)
    assert rate is not None
    assert rate.per_second == 1.0


@given(
    st.lists(st.text(max_size=60) | st.from_regex(r"\d+\.?\d*(it/s|s/it|ms)", fullmatch=True)),
    st.sampled_from([None, r"(?P<rate>\S+)", r"(?P<step>\d+)", r"(?P<seconds>[\d.]+)"]),
)
def test_any_lines_give_a_rate_that_can_be_or_none(lines: list[str], pattern: str | None) -> None:
    rate = rate_from([at(n, line) for n, line in enumerate(lines)], pattern)
    if rate is not None:
        assert 0 < rate.per_second < math.inf
        assert 0.005 <= rate.error_ratio < math.inf
