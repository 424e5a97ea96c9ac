"""What was measured as text. Pure."""

from collections.abc import Sequence

from tests.bench.agent.figures import table
from tests.bench.history.measure import LISTED, Measured

KB = 1000


def against_targets(measured: Sequence[Measured]) -> str:
    return table(
        ["", "target", *(one.database for one in measured)],
        [
            ["jobs", "100,000", *(f"{one.jobs:,}" for one in measured)],
            [
                "insertion, jobs a second",
                ">= 2,000",
                *(f"{one.jobs / one.insert_seconds:,.0f}" for one in measured),
            ],
            [
                "CPU of it, a job",
                "-",
                *(f"{1000 * one.insert_cpu_seconds / one.jobs:.2f} ms" for one in measured),
            ],
            [
                f"CPU of listing the last {LISTED} of a user",
                "<= 50 ms",
                *(f"{one.list_cpu_ms:.1f} ms" for one in measured),
            ],
            [
                "the same by the clock",
                "-",
                *(f"{one.list_ms:.1f} ms" for one in measured),
            ],
            [
                "the first after opening, CPU of this process",
                "<= 50 ms",
                *(f"{one.first_cpu_ms:.1f} ms" for one in measured),
            ],
            [
                "a record, with its share of the indexes",
                "<= 5 KB",
                *(f"{one.record_bytes / KB:.2f} KB" for one in measured),
            ],
            [
                "a sample of a time series",
                "-",
                *(f"{one.sample_bytes:.2f} bytes" for one in measured),
            ],
        ],
    )
