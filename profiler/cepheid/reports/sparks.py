"""What does a time series look like in a dozen characters?

Each character is the mean of its share of the run, between nothing and the limit, or the highest
where there is no limit. Where nothing was measured there is a gap.
"""

import math
from collections.abc import Sequence

from cepheid.history import TimeSeries

CELLS = 12
_BLOCKS = "▁▂▃▄▅▆▇█"
GAP = " "


def spark(values: Sequence[float | None], ceiling: float | None = None) -> str:
    """Empty where nothing was measured at all."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    top = max(known) if ceiling is None or ceiling <= 0 else max(ceiling, *known)
    return "".join(GAP if value is None else _block(value, top) for value in values)


def in_cells(
    kept: Sequence[TimeSeries], metric: str, *, added: bool, cells: int = CELLS
) -> list[float | None]:
    """One metric of the whole job: as it was kept, or of its workers, `added` up or averaged."""
    found = [one for one in kept if one.metric == metric and len(one.times_seconds)]
    whole = [one for one in found if one.worker is None]
    parts = whole[:1] or found
    if not parts:
        return []
    begin = min(one.times_seconds[0] for one in parts)
    end = max(one.times_seconds[-1] for one in parts)
    each = [_means(one, begin, end, cells) for one in parts]
    return [_combined([means[cell] for means in each], added=added) for cell in range(cells)]


def _means(one: TimeSeries, begin: float, end: float, cells: int) -> list[float | None]:
    totals, counts = [0.0] * cells, [0] * cells
    length = (end - begin) or 1.0
    for time, value in zip(one.times_seconds, one.values, strict=True):
        if value is not None and math.isfinite(value):
            cell = min(cells - 1, int(cells * (time - begin) / length))
            totals[cell] += value
            counts[cell] += 1
    return [total / count if count else None for total, count in zip(totals, counts, strict=True)]


def _combined(values: Sequence[float | None], *, added: bool) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return sum(known) if added else sum(known) / len(known)


def _block(value: float, top: float) -> str:
    share = 0.0 if top <= 0 else max(0.0, min(1.0, value / top))
    return _BLOCKS[min(len(_BLOCKS) - 1, int(share * len(_BLOCKS)))]
