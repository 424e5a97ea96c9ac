from cepheid.sources.local.seldom import Seldom


class Clocks:
    def __init__(self) -> None:
        self.seconds = 1000.0
        self.cpu = 0.0

    def seldom(self, **more: float) -> Seldom:
        return Seldom(now=lambda: self.seconds, cost=lambda: self.cpu, **more)

    def readings(self, seldom: Seldom, *, cost: float, samples: int) -> int:
        """How many of so many samples, half a second apart, had one."""
        count = 0
        for _ in range(samples):
            if seldom.due():
                count += 1
                self.cpu += cost
                seldom.done()
            self.seconds += 0.5
        return count


def test_the_first_is_due_at_once() -> None:
    assert Clocks().seldom().due()


def test_what_costs_nothing_is_due_as_often_as_is_allowed() -> None:
    clocks = Clocks()
    assert clocks.readings(clocks.seldom(least_seconds=2.0), cost=0.0, samples=100) == 25


def test_however_costly_it_is_it_takes_its_share_of_the_time_and_no_more() -> None:
    for cost in (0.004, 0.05, 1.0):
        clocks = Clocks()
        count = clocks.readings(clocks.seldom(share=0.002), cost=cost, samples=10_000)
        assert (count - 1) * cost <= 0.002 * 5000
