"""What is known of one placement, and how good is that for the goal? Pure."""

from dataclasses import dataclass

from cepheid.placementtrial import Goal, Placement, Trial

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One placement: measured, or as it is foreseen."""

    placement: Placement
    per_second: float
    error_percent: float
    unit: str
    cost_per_unit: float | None = None
    joules_per_unit: float | None = None

    def merit(self, goal: Goal) -> float | None:
        """Higher is better; None where it is not known."""
        match goal:
            case Goal.THROUGHPUT:
                return self.per_second
            case Goal.THROUGHPUT_PER_GPU:
                return self.per_second / self.placement.gpus
            case Goal.COST:
                return 1 / self.cost_per_unit if self.cost_per_unit else None
            case Goal.ENERGY:
                return 1 / self.joules_per_unit if self.joules_per_unit else None
            case Goal.DEADLINE:
                # Of those in time the cheapest: in money, or else in GPU-hours.
                by = Goal.COST if self.cost_per_unit else Goal.THROUGHPUT_PER_GPU
                return self.merit(by)


def figure_of(trial: Trial) -> Figure:
    throughput = trial.throughput
    if throughput is None:
        raise ValueError(f"{trial.job} was not measured")
    return Figure(
        placement=trial.placement,
        per_second=throughput.per_second,
        error_percent=throughput.error_percent,
        unit=throughput.unit,
        cost_per_unit=trial.cost_per_unit,
        joules_per_unit=trial.joules_per_unit,
    )


def ratio(one: Figure, other: Figure, goal: Goal) -> float | None:
    """How many times better."""
    mine, theirs = one.merit(goal), other.merit(goal)
    return None if not mine or not theirs else mine / theirs
