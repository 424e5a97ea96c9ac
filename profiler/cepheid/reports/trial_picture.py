"""What does the curve of a PlacementTrial look like on a terminal?

    1xA100-80  ├──●──┤                         0.025
    2xA100-80           ├─────○─────┤          0.035

A line a placement, from nothing to the fastest: the band of the fitted model, and in it what was
measured (●) or what is foretold (○).
"""

import math
from collections.abc import Iterator, Sequence

from cepheid.reports.plain import clipped, padded, plain, width
from cepheid.reports.trials import PlacementRow, rate

MEASURED, FORETOLD = "●", "○"
LEFT, BETWEEN, RIGHT = "├", "─", "┤"
MOST_LABEL = 28
LEAST_PICTURE = 10
GAP = 2


def curve(rows: Sequence[PlacementRow], columns: int) -> Iterator[str]:
    """None wider than that; nothing where nothing is known."""
    shown = [row for row in rows if row.per_second is not None]
    ends = [end for row in shown for end in (row.per_second, row.high_per_second)]
    top = max((end for end in ends if end is not None and math.isfinite(end)), default=0.0)
    if top <= 0:
        return
    labels = [clipped(plain(row.placement), MOST_LABEL) for row in shown]
    figures = [rate(row.per_second) for row in shown]
    label_columns, figure_columns = max(map(width, labels)), max(map(width, figures))
    room = max(LEAST_PICTURE, columns - label_columns - figure_columns - 2 * GAP)
    for row, label, said in zip(shown, labels, figures, strict=True):
        drawn = _line(row, top, room)
        yield (
            f"{padded(label, label_columns)}{' ' * GAP}{drawn}{' ' * GAP}"
            f"{padded(said, figure_columns, right=True)}"
        )


def _line(row: PlacementRow, top: float, room: int) -> str:
    cells = [" "] * room
    low, high = _ends(row)
    if low is not None and high is not None:
        first, last = _place(low, top, room), _place(high, top, room)
        cells[first : last + 1] = [BETWEEN] * (last + 1 - first)
        cells[first], cells[last] = LEFT, RIGHT
    mark = FORETOLD if row.error_percent is None else MEASURED
    cells[_place(row.per_second or 0.0, top, room)] = mark
    return "".join(cells)


def _ends(row: PlacementRow) -> tuple[float | None, float | None]:
    low, high = row.low_per_second, row.high_per_second
    return (low, high) if low is not None and high is not None and low <= high else (None, None)


def _place(value: float, top: float, room: int) -> int:
    share = value / top if math.isfinite(value) else 1.0
    return min(room - 1, max(0, int(share * (room - 1) + 0.5)))
