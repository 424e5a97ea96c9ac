"""What of a profile is searched, and what of it is kept?

The whole document is kept as it is, by zlib in a third of its bytes, and beside it, in columns,
what people ask by. They sort by the moment up to which a record tells, which also says which of
two records of the same run knows more of it.
"""

import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from cepheid.errors import HistoryBrokenError
from cepheid.jobprofile import (
    JobProfile,
    ProfileError,
    WithoutWorkers,
    Worker,
    from_json,
    to_json,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
LONGEST_SECONDS = 1e11
"""Three thousand years. Who claims more is not believed: the sum must fit in 64 bits."""


class Kept(NamedTuple):
    """As it is kept: the record, and all workers of a job that has more than a record holds."""

    profile: JobProfile
    workers: tuple[Worker, ...] = ()


def to_row(profile: JobProfile, workers: Sequence[Worker] = ()) -> dict[str, Any]:
    document, checked = _checked(profile)
    beside = pack_workers(workers) if len(workers) > len(checked.workers) else None
    return {
        "uid": searchable(checked.job.uid),
        "namespace": searchable(checked.job.namespace),
        "kind": searchable(checked.job.kind),
        "name": searchable(checked.job.name),
        "series": searchable(checked.series),
        "template": None if checked.template is None else searchable(checked.template),
        "who": _who(checked),
        "outcome": checked.outcome.value,
        "until_us": until_us(checked),
        "document": zlib.compress(document),
        "workers": beside,
    }


def from_row(
    uid: str, document: bytes, workers: bytes | None = None, *, with_workers: bool = True
) -> Kept:
    try:
        if not with_workers:
            return Kept(from_json(zlib.decompress(document), WithoutWorkers))
        return Kept(from_json(zlib.decompress(document)), unpack_workers(workers))
    except (ProfileError, zlib.error, msgspec.MsgspecError) as problem:
        raise HistoryBrokenError(
            f"the record of job {uid} cannot be read: {problem}",
            hint="was it changed by hand, or by a newer version?",
        ) from problem


def until_us(profile: JobProfile) -> int:
    """Up to when the record tells: the end, or the last look at a job that runs."""
    if profile.ended is not None:
        return microseconds(profile.ended)
    seconds = min(profile.duration_seconds or 0.0, LONGEST_SECONDS)
    return microseconds(profile.started or profile.created) + int(seconds * 1e6)


def microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def searchable(text: str) -> str:
    """As both databases can hold it: PostgreSQL has no NUL, and neither has half a surrogate."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def pack_workers(workers: Sequence[Worker]) -> bytes:
    return zlib.compress(msgspec.json.encode(workers), 9)


def unpack_workers(packed: bytes | None) -> tuple[Worker, ...]:
    if packed is None:
        return ()
    return msgspec.json.decode(zlib.decompress(packed), type=tuple[Worker, ...])


def _checked(profile: JobProfile) -> tuple[bytes, JobProfile]:
    """What could not be read again is not kept: a record is only checked when it is decoded."""
    try:
        document = to_json(profile)
    except UnicodeEncodeError as problem:
        raise ProfileError(
            f"a text in the profile of job {searchable(profile.job.uid)} is no Unicode",
            hint="decode file names and arguments with errors='replace'",
        ) from problem
    return document, from_json(document)


def _who(profile: JobProfile) -> str | None:
    who = profile.user or profile.service_account
    return None if who is None else searchable(who)
