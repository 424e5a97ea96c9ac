"""Jobs drawn at random, each with the kind that it is: what the verdicts are counted on.

Cycles are stated as a period finder would report them: those that three samples can show, and
for faster steps the alias that a gauge shows, unconfirmed.
"""

from collections.abc import Callable, Iterator
from random import Random

from cepheid.analysis.jobtype import JobKind
from cepheid.analysis.signals import Signals
from cepheid.model import Cycle
from tests.simgpu.activity import IDLE, Activity
from tests.simgpu.patterns import (
    InferenceOptions,
    Phase,
    TrainingOptions,
    idle,
    inference,
    interactive,
    training,
    waiting,
)
from tests.simgpu.silicon import MODELS
from tests.simgpu.step_model import BOUNDS, modelled_step, told_step

from .signals import exchanged, measure, served, stalling

SAMPLES = 240


def cycles_of(period_seconds: float, sampled_seconds: float, strength: float = 0.8) -> list[Cycle]:
    seen = SAMPLES * sampled_seconds / period_seconds
    if period_seconds >= 3 * sampled_seconds:
        return [Cycle(period_seconds, strength, seen, confirmed=True)] if seen >= 3 else []
    return [Cycle(7.3 * sampled_seconds, 0.6, SAMPLES / 7.3, confirmed=False)]


def random_training(random: Random) -> Signals:
    """Any bound, steps of seconds or minutes, alone or with peers, with or without epochs."""
    model = random.choice(list(MODELS.values()))
    every = random.choice((15.0, 30.0))
    bound = random.choice(sorted(BOUNDS))
    gpus = random.choice((1, 1, 2, 8))
    seconds = 10 ** random.uniform(0, 2.4)
    if random.random() < 0.5:
        step = told_step(seconds, random.uniform(0.5, 1.0), bound)
    else:
        step = modelled_step(1.0, bound, model, gpus)
        step = step.times(seconds / step.total)
    options = TrainingOptions(
        step,
        memory_mib=random.uniform(0.3, 0.95) * model.memory_mib,
        jitter=random.uniform(0.01, 0.1),
        steps_per_epoch=random.choice((0, 0, max(3, int(900 / seconds)))),
        epoch_pause_seconds=random.uniform(5, 60),
    )
    phases: Iterator[Phase] = training(options, model, random)
    if random.random() < 0.2:
        phases = stalling(phases, random, every=600, stall=60)
    seed = random.randrange(10**6)
    # Steps that vary much are no cycle that anybody could find.
    cycles = cycles_of(step.total, every) if options.jitter < 0.07 else []
    found = measure(
        phases, samples=SAMPLES, step_seconds=every, model=model, seed=seed, cycles=cycles
    )
    return exchanged(found, seed, rate=10 ** random.uniform(7.5, 9)) if gpus == 8 else found


def random_waiting(random: Random) -> Signals:
    model = random.choice(list(MODELS.values()))
    seed = random.randrange(10**6)
    return measure(
        waiting(0.6 * model.memory_mib), samples=SAMPLES, model=model, seed=seed, cycles=[]
    )


def random_inference(random: Random) -> Signals:
    """From a sleepy server to a busy one; the day may be compressed as in the demo."""
    model = random.choice(list(MODELS.values()))
    every = random.choice((15.0, 30.0))
    options = InferenceOptions(
        memory_mib=random.uniform(0.2, 0.95) * model.memory_mib,
        day_seconds=random.choice((600.0, 1800.0, 86400.0)),
        peak_load=random.uniform(0.3, 0.95),
        request_seconds=10 ** random.uniform(-0.5, 0.6),
    )
    skipped = random.uniform(0, 0.5) * options.day_seconds
    phases = _from(inference(options, random), skipped)
    seed = random.randrange(10**6)
    cycles = cycles_of(options.day_seconds, every, 0.7)
    found = measure(
        phases, samples=SAMPLES, step_seconds=every, model=model, seed=seed, cycles=cycles
    )
    if random.random() < 0.25:
        return found
    peak, answer = 10 ** random.uniform(4.3, 6.5), 10 ** random.uniform(-0.8, 0.8)
    return served(found, seed, peak=peak, answer=answer)


def random_interactive(random: Random) -> Signals:
    model = random.choice(list(MODELS.values()))
    every = random.choice((15.0, 30.0))
    burst = 10 ** random.uniform(0.5, 1.7)
    phases = interactive(random.uniform(0.05, 0.9) * model.memory_mib, burst, random)
    seed = random.randrange(10**6)
    found = measure(phases, samples=SAMPLES, step_seconds=every, model=model, seed=seed, cycles=[])
    # What is typed and printed goes over the network, too.
    return (
        served(found, seed, peak=10 ** random.uniform(3, 4.7)) if random.random() < 0.5 else found
    )


def random_idle(random: Random) -> Signals:
    """Memory held, nothing computed, but for a spike at most."""
    model = random.choice(list(MODELS.values()))
    memory = random.uniform(0.02, 0.9) * model.memory_mib
    phases: Iterator[Phase] = idle(memory)
    if random.random() < 0.5:
        phases = _spiked(memory, random)
    seed = random.randrange(10**6)
    return measure(phases, samples=SAMPLES, model=model, seed=seed, cycles=[])


def random_empty(random: Random) -> Signals:
    model = random.choice(list(MODELS.values()))
    seed = random.randrange(10**6)
    return measure(
        idle(random.choice((0.0, 4.0, 60.0))), samples=SAMPLES, model=model, seed=seed, pods=0
    )


RANDOM_JOBS: tuple[tuple[JobKind, Callable[[Random], Signals]], ...] = (
    (JobKind.TRAINING, random_training),
    (JobKind.TRAINING, random_waiting),
    (JobKind.INFERENCE, random_inference),
    (JobKind.INTERACTIVE, random_interactive),
    (JobKind.IDLE, random_idle),
    (JobKind.EMPTY, random_empty),
)


def steady_serving(random: Random, memory_mib: float) -> Iterator[Phase]:
    """A language model at full batch: decoding all the time, the batch varies a little."""
    while True:
        level = random.gauss(1.0, 0.05)
        yield Phase(1.0, Activity(1.0, 0.2 * level, 0.75 * level), memory_mib)


def sparse_serving(random: Random, memory_mib: float) -> Iterator[Phase]:
    """A request of two seconds every few minutes."""
    while True:
        yield Phase(random.expovariate(1 / 150), IDLE, memory_mib)
        yield Phase(2 * random.uniform(0.8, 1.2), Activity(1.0, 0.35, 0.6), memory_mib)


def accumulating(random: Random, memory_mib: float, micro_steps: int = 16) -> Iterator[Phase]:
    """Gradient accumulation: many short steps, then one exchange."""
    while True:
        for _ in range(micro_steps):
            yield Phase(0.3, IDLE, memory_mib)
            yield Phase(random.gauss(2.5, 0.05), Activity(1.0, 0.65, 0.45), memory_mib)
        yield Phase(12.0, Activity(1.0, 0.0, 0.1, nvlink=2e11), memory_mib)


def _from(phases: Iterator[Phase], seconds: float) -> Iterator[Phase]:
    while seconds > 0:
        seconds -= next(phases).seconds
    return phases


def _spiked(memory_mib: float, random: Random) -> Iterator[Phase]:
    yield Phase(random.uniform(600, 2400), IDLE, memory_mib)
    yield Phase(random.uniform(1, 12), Activity(1.0, 0.7, 0.5), memory_mib)
    yield from idle(memory_mib)
