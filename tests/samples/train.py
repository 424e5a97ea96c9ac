"""A training loop in small: it loads for a while, then computes and waits for data in turn.

For the README's `cepheid run -- python train.py`, and the test that types it.
"""

import time

WEIGHTS_MIB, STEPS = 160, 10
COMPUTE_SECONDS, WAIT_SECONDS = 1.6, 0.8


def compute(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(number * number for number in range(2000))


def main() -> None:
    weights = bytearray(WEIGHTS_MIB * 2**20)
    for step in range(1, STEPS + 1):
        compute(COMPUTE_SECONDS)
        time.sleep(WAIT_SECONDS)
        print(f"step {step} of {STEPS}, {len(weights) >> 20} MiB")


main()
