"""What a GPU does at an instant, and the sum of it over time.

Both are the same six numbers: an Activity times seconds is an Activity of "level-seconds" and
bytes. So a counter is an integral, an average is a difference of two integrals over the time
between them, and no sampling is needed anywhere.
"""

from __future__ import annotations

from typing import NamedTuple


class Activity(NamedTuple):
    engine: float = 0.0  # share of the time in which a kernel runs, 0-1
    tensor: float = 0.0  # share of the cycles in which the tensor pipe works, 0-1
    dram: float = 0.0  # share of the cycles in which device memory moves data, 0-1
    pcie_tx: float = 0.0  # bytes a second, device to host
    pcie_rx: float = 0.0  # bytes a second, host to device
    nvlink: float = 0.0  # bytes a second, both directions

    def times(self, factor: float) -> Activity:
        return Activity(*(level * factor for level in self))

    def plus(self, other: Activity) -> Activity:
        return Activity(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: Activity) -> Activity:
        return Activity(*(a - b for a, b in zip(self, other, strict=True)))

    def at_least(self, floor: Activity) -> Activity:
        return Activity(*(max(a, b) for a, b in zip(self, floor, strict=True)))


IDLE = Activity()

# No device does more than this: a record that claims more is not a measurement.
CEILING = Activity(1.0, 1.0, 1.0, 1e12, 1e12, 1e13)


def total(activities: list[Activity]) -> Activity:
    result = IDLE
    for activity in activities:
        result = result.plus(activity)
    return result
