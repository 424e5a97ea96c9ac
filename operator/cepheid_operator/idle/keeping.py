"""Until when does somebody want an idle job kept? Pure.

`ai.centaurus.io/keep-for: 8h` on the job counts from when it was written, which the API server
itself noted beside it: no clock of ours, and nothing to remember. Written again, it counts anew.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cepheid.annotations.codec import HOG_EXEMPT
from cepheid.annotations.job_codec import KEEP_FOR
from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.units import length_seconds

MOST_SECONDS = 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class Kept:
    text: str
    """As it was written, on one line."""
    until: datetime | None
    """None where it cannot be read."""


def kept(job: Raw) -> Kept | None:
    """None where nobody asked."""
    text = fields.value(job, "metadata", "annotations", KEEP_FOR)
    if not isinstance(text, str):
        return None
    shown = fields.one_line(text, 40) or ""
    seconds = length_seconds(text)
    written = _written(job) or fields.moment(job, "metadata", "creationTimestamp")
    if seconds is None or seconds > MOST_SECONDS or written is None:
        return Kept(shown, None)
    return Kept(shown, written + timedelta(seconds=round(seconds)))


def is_exempt(job: Raw) -> bool:
    """Who is to be no hog is not suspended for being one."""
    said = (fields.value(job, "metadata", where, HOG_EXEMPT) for where in ("labels", "annotations"))
    return "true" in said


def _written(job: Raw) -> datetime | None:
    """By whoever wrote it last."""
    times = [
        at
        for entry in fields.items(job, "metadata", "managedFields")
        if f"f:{KEEP_FOR}" in fields.part(entry, "fieldsV1", "f:metadata", "f:annotations")
        and (at := fields.moment(entry, "time")) is not None
    ]
    return max(times, default=None)
