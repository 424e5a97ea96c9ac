"""A process that keeps jobs until it is killed, and says of each batch when it has been kept.

python -m tests.history.writer URL FIRST
"""

import sys
from itertools import count

from cepheid.history import History
from tests.unit.history.strategies import profile

BATCH = 20
ADVICE = ("x" * 280,) * 5


def main() -> None:
    url, first = sys.argv[1], int(sys.argv[2])
    with History.open(url) as history:
        for begin in count(first, BATCH):
            history.keep(profile(number, advice=ADVICE) for number in range(begin, begin + BATCH))
            print(begin, flush=True)


if __name__ == "__main__":
    main()
