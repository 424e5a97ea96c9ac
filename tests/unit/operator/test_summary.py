"""The columns of a table: short, true, and absent where nothing is known."""

from typing import Any

import pytest

from cepheid.jobprofile import Asked, CycleSeen, GpuHeld, Spread, Summary, Usage
from cepheid_operator.summary import with_summary
from tests.unit.operator.stories import profile

GIB = 2.0**30


def gpus(count: int, model: str | None) -> tuple[GpuHeld, ...]:
    return tuple(GpuHeld(node="a", index=index, model=model) for index in range(count))


A100, T4 = "NVIDIA A100-SXM4-80GB", "Tesla T4"


@pytest.mark.parametrize(
    ("known", "column", "text"),
    [
        ({"duration_seconds": 8040.0}, "duration", "2h14m"),
        ({"duration_seconds": 0.0}, "duration", "0s"),
        ({"gpus": gpus(4, A100)}, "gpus", "4xA100-80"),
        ({"gpus": gpus(2, A100) + gpus(1, T4)}, "gpus", "2xA100-80+1xT4"),
        ({"gpu_count": 3}, "gpus", "3"),
        ({"usage": Usage(gpu_util_percent=Spread(mean=87.4))}, "gpu_util", "87%"),
        (
            {"gpus": gpus(1, A100), "usage": Usage(gpu_memory_bytes=Spread(max=61 * GIB))},
            "gpu_memory",
            "61/80Gi",
        ),
        (
            {"gpus": gpus(1, T4), "usage": Usage(gpu_memory_bytes=Spread(max=1.5 * GIB))},
            "gpu_memory",
            "1.5Gi",
        ),
        (
            {
                "usage": Usage(memory_bytes=Spread(max=38 * GIB)),
                "asked": (Asked(container="m", pods=2, limits={"memory": "32Gi"}),),
            },
            "memory",
            "38/64Gi",
        ),
        (
            {
                "usage": Usage(memory_bytes=Spread(max=38 * GIB)),
                "asked": (
                    Asked(container="m", limits={"memory": "32Gi"}),
                    Asked(container="side"),
                ),
            },
            "memory",
            "38Gi",
        ),
        ({"cycle": CycleSeen(period_seconds=42.13, strength=0.9)}, "period", "42.1s"),
        ({"cycle": CycleSeen(period_seconds=5400.0, strength=0.9)}, "period", "1h30m"),
    ],
)
def test_a_column(known: dict[str, Any], column: str, text: str) -> None:
    summary = with_summary(profile(**known)).summary
    assert summary is not None
    assert getattr(summary, column) == text


def test_what_is_not_known_has_no_column() -> None:
    assert with_summary(profile()).summary == Summary(duration="1h")
    assert with_summary(profile(duration_seconds=None)).summary is None
