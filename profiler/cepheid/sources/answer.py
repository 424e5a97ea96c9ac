"""What came over the wire to series, or to an error that says what to do. Pure.

Nothing in an answer is believed: any bytes give either series or a SourceError.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cepheid.errors import (
    AnswerBrokenError,
    AnswerTooLargeError,
    QueryRejectedError,
    SourceBusyError,
    SourceError,
    SourceRefusedError,
)
from cepheid.model import FloatArray

LONGEST_TEXT = 300
"""Of a server's own words in a message."""
MOST_NOTES = 8


@dataclass(frozen=True, slots=True, eq=False)
class RawSeries:
    """As Prometheus holds it: times in seconds since the epoch, ascending."""

    labels: Mapping[str, str]
    times: FloatArray
    values: FloatArray


@dataclass(frozen=True, slots=True)
class Payload:
    """A successful answer, with `result` still unread."""

    document: Mapping[str, object]
    notes: tuple[str, ...]
    """Its warnings and infos: with warnings, something may be missing from it."""
    warned: bool


def parse_payload(body: bytes | bytearray) -> Payload:
    document = _json_object(body)
    if document is None:
        raise AnswerBrokenError(
            f"the answer is no JSON object but {_kind_of(body)}",
            hint="does the address lead to Prometheus itself, with the right path?",
        )
    data = document.get("data")
    if document.get("status") != "success" or not isinstance(data, dict):
        raise AnswerBrokenError(
            f"the answer says status {plain(document.get('status'))!r}: "
            f"{plain(document.get('error')) or 'no reason given'}",
            hint="look at the log of Prometheus",
        )
    if not isinstance(data.get("result"), list):
        raise AnswerBrokenError(
            "the answer has no list of results",
            hint="does the address lead to a server that speaks the API of Prometheus?",
        )
    warnings, infos = _texts(document.get("warnings")), _texts(document.get("infos"))
    return Payload(document, warnings + infos, bool(warnings))


def parse_series(result: object, *, max_series: int) -> list[RawSeries]:
    """From the `result` of a matrix or vector; series of histograms only are left out."""
    if not isinstance(result, list):
        raise _malformed("the result is no list")
    if len(result) > max_series:
        raise AnswerTooLargeError(
            f"the answer has more than {max_series} series",
            hint="is the node's label right? Otherwise raise most-series",
        )
    # One array for all, cut into series: a thousand small ones would cost more than the parsing.
    times: list[float] = []
    values: list[float] = []
    labels: list[dict[str, str]] = []
    ends = [0]
    for item in result:
        if not isinstance(item, dict):
            raise _malformed("a series is no object")
        pairs = [item["value"]] if "value" in item else item.get("values")
        if pairs is None and ("histogram" in item or "histograms" in item):
            continue
        labels.append(_labels(item.get("metric")))
        if not isinstance(pairs, list):
            raise _malformed("a series has no list of values")
        try:
            for when, value in pairs:
                times.append(float(when))
                values.append(float(value))
        except (TypeError, ValueError, OverflowError) as error:
            raise _malformed("a sample is no pair of time and value") from error
        ends.append(len(times))
    return _cut(labels, np.array(times), np.array(values), ends)


def _labels(metric: object) -> dict[str, str]:
    if isinstance(metric, dict):
        for value in metric.values():
            if not isinstance(value, str):
                break
        else:
            return metric
    raise _malformed("the labels of a series are no object of texts")


def _cut(
    labels: list[dict[str, str]], times: FloatArray, values: FloatArray, ends: list[int]
) -> list[RawSeries]:
    if not np.isfinite(times).all():
        raise _malformed("a sample has no time")
    falls = np.flatnonzero(np.diff(times) < 0) + 1  # most at the beginning of the next series
    in_order = bool(np.isin(falls, ends).all())
    found = []
    for one, start, end in zip(labels, ends, ends[1:], strict=False):
        when, what = times[start:end], values[start:end]
        if not in_order:
            order = np.argsort(when, kind="stable")
            when, what = when[order], what[order]
        found.append(RawSeries(one, when, what))
    return found


CHECK_RIGHTS = "check the token, password or client certificate, and what it may read"
CHECK_ADDRESS = "check the address: it ends before /api/v1, with a proxy's path if there is one"
ASKED_LATER = "it is starting or has too much to do; it is asked again later"
STATUSES: Mapping[int, tuple[type[SourceError], str]] = {
    400: (QueryRejectedError, "does this server speak PromQL? Please report it"),
    401: (SourceRefusedError, CHECK_RIGHTS),
    403: (SourceRefusedError, CHECK_RIGHTS),
    404: (SourceRefusedError, CHECK_ADDRESS),
    405: (SourceRefusedError, CHECK_ADDRESS),
    407: (SourceRefusedError, "the HTTP proxy in HTTPS_PROXY wants credentials"),
    422: (QueryRejectedError, "a limit of the server? See its --query.max-samples"),
    429: (SourceBusyError, ASKED_LATER),
    502: (AnswerBrokenError, "a proxy does not reach Prometheus: is it running?"),
    503: (SourceBusyError, ASKED_LATER),
    504: (AnswerBrokenError, "a proxy got no answer from Prometheus: is it overloaded?"),
}
REDIRECTS = range(300, 400)


def error_of(status: int, headers: Mapping[str, str], body: bytes | bytearray) -> SourceError:
    """What a status other than 200 means."""
    said = _reason(body)
    what = f"Prometheus answered {status}" + (f": {said}" if said else "")
    if status in REDIRECTS:
        return SourceRefusedError(
            f"{what}, a redirect to {_place(headers.get('Location'))}",
            hint="redirects are not followed, they could take a token elsewhere or lead to "
            "a login page: give the final address",
        )
    kind, hint = STATUSES.get(
        status, (AnswerBrokenError, "look at the log of Prometheus, or of a proxy before it")
    )
    if kind is SourceBusyError:
        return SourceBusyError(what, hint=hint, retry_after_seconds=_retry_after(headers))
    return kind(what, hint=hint)


def plain(text: object) -> str:
    """Somebody else's words, safe to log: one line, printable, not long."""
    if not isinstance(text, str):
        return ""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * LONGEST_TEXT])
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 3] + "..."


def _json_object(body: bytes | bytearray) -> dict[str, object] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):  # broken, no UTF-8, a number of a million digits; too deep
        return None
    return document if isinstance(document, dict) else None


def _kind_of(body: bytes | bytearray) -> str:
    start = body[:256].lstrip().lower()
    if not start:
        return "empty"
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "a web page"
    return "half of one" if start.startswith(b'{"status"') else "something else"


def _reason(body: bytes | bytearray) -> str:
    """The error that Prometheus names; nothing of a proxy's page."""
    document = _json_object(body)
    return plain(document.get("error")) if document else ""


def _texts(found: object) -> tuple[str, ...]:
    if not isinstance(found, list):
        return ()
    return tuple(filter(None, (plain(text) for text in found[:MOST_NOTES])))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers.get("Retry-After", ""))
    except ValueError:  # absent, or a date
        return None
    return seconds if 0 <= seconds < math.inf else None


def _place(location: str | None) -> str:
    """Without its query, which may hold a session."""
    return plain((location or "nowhere").partition("?")[0])


def _malformed(message: str) -> AnswerBrokenError:
    return AnswerBrokenError(
        f"the answer is not what Prometheus sends: {message}",
        hint="does the address lead to a server that speaks the API of Prometheus?",
    )
