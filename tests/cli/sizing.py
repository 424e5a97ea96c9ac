"""A history with a waster, one that was killed, an honest one and an idle holder of a GPU."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from cepheid.history import History
from cepheid.jobprofile import JobProfile
from tests.unit.reports.runs import pod_job, process
from tests.unit.reports.sizes import ALIKE, batch, killed


def of_series(series: str, profile: JobProfile, number: int) -> JobProfile:
    job = replace(profile.job, name=f"{series}-{number}", uid=f"{series}{number:06d}-0000")
    return replace(profile, series=series, job=job)


def jobs() -> list[JobProfile]:
    gpu: dict[str, Any] = {"gib": 14.0, "limits": {**ALIKE, "nvidia.com/gpu": "1"}}
    return [
        *(pod_job(number, used_bytes=(30 + number) * 2.0**30) for number in range(4)),
        *(of_series("honest", batch(number, gib=14.0), number) for number in range(3)),
        of_series("oom", killed(0, gib=15.9), 0),
        *(of_series("oom", batch(number, gib=14.0), number) for number in (1, 2)),
        *(of_series("idle", batch(number, gpu=(1.0, 1.0), **gpu), number) for number in range(3)),
        *(process(number) for number in range(3)),
    ]


def history(folder: Path) -> Path:
    path = folder / "sizes.db"
    with History.open(path) as made:
        made.keep(jobs())
    return path
