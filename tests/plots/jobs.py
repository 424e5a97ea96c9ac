"""Runs of known shape, the same every time: what a page must show of them is known."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from cepheid.history import History, TimeSeries
from cepheid.jobprofile import (
    Asked,
    CycleSeen,
    GpuHeld,
    HeldBackBy,
    JobIdentity,
    JobProfile,
    MemoryLeak,
    Outcome,
    Phase,
    ProcessSeen,
    Reason,
    Spread,
    Usage,
    Worker,
)

BEGIN = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
GIB, MIB = 2.0**30, 2.0**20
PERIOD_SECONDS = 41.8
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\u202e"


def uid(number: int) -> str:
    return UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128, version=4).hex


def process(
    number: int,
    name: str = "train.py",
    *,
    after_seconds: float = 0.0,
    seconds: float = 723.0,
    outcome: Outcome = Outcome.SUCCESS,
    parent: str | None = None,
    **others: object,
) -> JobProfile:
    """A run on a laptop."""
    started = BEGIN + timedelta(seconds=after_seconds)
    fields: dict[str, object] = {
        "series": name,
        "user": "ann",
        "usage": Usage(
            cpu_cores=Spread(mean=3.9, p95=6.1, max=7.2, min=0.3),
            memory_bytes=Spread(mean=4.8 * GIB, p95=6.1 * GIB, max=6.2 * GIB, min=0.2 * GIB),
        ),
        "process": ProcessSeen(
            command=f"python {name}",
            host="thinkpad",
            cores=8.0,
            memory_total_bytes=15.4 * GIB,
            cpu_seconds=3.9 * seconds,
            parent=parent,
        ),
        "samples": round(2 * seconds),
        "interval_seconds": 0.5,
        **others,
    }
    return JobProfile(
        job=JobIdentity(
            api_version="", kind="Process", namespace="laptop", name=name, uid=uid(number)
        ),
        created=started,
        started=started,
        ended=started + timedelta(seconds=seconds),
        duration_seconds=seconds,
        outcome=outcome,
        **fields,  # type: ignore[arg-type]
    )


def trainer(number: int = 1, name: str = "train.py", seconds: float = 723.0) -> JobProfile:
    """Start-up, then steps of 41.8 s, then a checkpoint at the end; two GPUs."""
    return process(
        number,
        name,
        seconds=seconds,
        usage=Usage(
            cpu_cores=Spread(mean=3.9, p95=6.1, max=7.2, min=0.3),
            memory_bytes=Spread(mean=4.8 * GIB, p95=6.1 * GIB, max=6.2 * GIB, min=0.2 * GIB),
            gpu_util_percent=Spread(mean=71.0, p95=97.0, max=99.0, min=0.0),
            gpu_memory_bytes=Spread(mean=24 * GIB, p95=25 * GIB, max=25 * GIB, min=0.0),
            power_watts=Spread(mean=360.0, p95=560.0, max=590.0, min=110.0),
            energy_joules=360.0 * seconds,
            disk_bytes_per_second=Spread(mean=3.1e7, p95=9e7, max=1.2e8, min=0.0),
            network_bytes_per_second=Spread(mean=2.2e5, p95=8e5, max=1e6, min=0.0),
        ),
        gpus=tuple(
            GpuHeld(node="thinkpad", index=index, model="NVIDIA A100-SXM4-40GB")
            for index in range(2)
        ),
        gpu_count=2,
        cycle=CycleSeen(
            period_seconds=PERIOD_SECONDS, strength=0.93, metric="power", confirmed=True
        ),
        held_back_by=HeldBackBy(
            kind="input", share_percent=22.0, advice="more workers in the data loader"
        ),
        process=ProcessSeen(
            command=f"python {name} --epochs 3",
            host="thinkpad",
            cores=8.0,
            memory_total_bytes=15.4 * GIB,
            cpu_seconds=3.9 * seconds,
            peak_memory_bytes=6.2 * GIB,
            threads=Spread(mean=41.0, p95=44.0, max=44.0, min=3.0),
            phases=(
                Phase(name="start-up", seconds=61.0, cpu_cores=1.1),
                Phase(name="steady", seconds=seconds - 111.0, cpu_cores=4.3),
                Phase(name="tail", seconds=50.0, cpu_cores=0.9),
            ),
        ),
        verdict="waits for input 22 % of the time",
        advice=("GPUs waited for data 22 % of the time: try num_workers=6 in the data loader",),
    )


def trainer_series(profile: JobProfile, *, every_seconds: float = 0.5) -> list[TimeSeries]:
    chance = Random(profile.job.uid)  # noqa: S311
    seconds = profile.duration_seconds or 0.0
    begin = (profile.started or profile.created).timestamp()
    offsets = [every_seconds * place for place in range(round(seconds / every_seconds))]
    times = [begin + offset for offset in offsets]
    steady = [61.0 <= offset < seconds - 50.0 for offset in offsets]
    # Three quarters of a step the GPU computes, then it waits for data.
    busy = [
        is_steady and (offset - 61.0) % PERIOD_SECONDS < 0.75 * PERIOD_SECONDS
        for offset, is_steady in zip(offsets, steady, strict=True)
    ]

    def noisy(level: float, noise: float) -> float:
        return max(0.0, chance.gauss(level, noise))

    def made(metric: str, values: Sequence[float | None], worker: str | None = None) -> TimeSeries:
        return TimeSeries(metric, times, values, worker)

    cpu = [
        noisy(3.1 if on else 6.0 if up else 1.0, 0.25) for on, up in zip(busy, steady, strict=True)
    ]
    memory = [min(6.1, 0.3 + offset / 20) * GIB * noisy(1.0, 0.004) for offset in offsets]
    found = [
        made("cpu_cores", cpu),
        made("system_cpu_cores", [one + noisy(0.4, 0.1) for one in cpu]),
        made("memory_working_set_bytes", memory),
        made("uss_bytes", [0.8 * one for one in memory]),
        made("vms_bytes", [31 * GIB] * len(times)),
        made("disk_read_bytes_per_second", [noisy(0 if on else 9e7, 1e6) for on in busy]),
        made("disk_write_bytes_per_second", [noisy(2e5, 1e5) for _ in times]),
        made("network_receive_bytes_per_second", [noisy(2e5, 1e5) for _ in times]),
        made("network_transmit_bytes_per_second", [noisy(2e4, 1e4) for _ in times]),
        made("threads", [44.0 if up else 12.0 for up in steady]),
        made("processes", [7.0 if up else 1.0 for up in steady]),
    ]
    for index in range(profile.gpu_count):
        worker = f"gpu-{index}"
        util = [min(100.0, noisy(94 - 6 * index, 2)) if on else noisy(2, 1) for on in busy]
        found += [
            made("gpu_util_percent", util, worker),
            made("gpu_memory_used_mib", [12_300.0 if up else 600.0 for up in steady], worker),
            made("power_watts", [noisy(60 + 2.2 * one, 4) for one in util], worker),
        ]
    return found


def leaker(number: int = 2) -> JobProfile:
    return process(
        number,
        "etl.py",
        after_seconds=3600.0,
        seconds=1500.0,
        outcome=Outcome.FAILED,
        reason=Reason.OOM_KILLED,
        exit_code=137,
        leak=MemoryLeak(bytes_per_second=9 * MIB, confidence=0.97),
        verdict="memory leak 540Mi/m",
        advice=("its memory grows by 540Mi/m and is never given back: find what it keeps",),
    )


def leaker_series(profile: JobProfile) -> list[TimeSeries]:
    """With ten minutes in which the laptop slept."""
    chance = Random(2)  # noqa: S311
    begin = (profile.started or profile.created).timestamp()
    times = [begin + 0.5 * place for place in range(3000) if not 800 <= place < 2000]
    return [
        TimeSeries("cpu_cores", times, [abs(chance.gauss(1.0, 0.1)) for _ in times]),
        TimeSeries(
            "memory_working_set_bytes",
            times,
            [GIB + 9 * MIB * (time - begin) + chance.gauss(0, 4 * MIB) for time in times],
        ),
    ]


def workflow(number: int = 10) -> list[JobProfile]:
    """A run with three tasks, one of which has two of its own and one failed."""
    whole = process(number, "nightly.py", after_seconds=7200.0, seconds=600.0)
    prepare = process(
        number + 1, "prepare", after_seconds=7210.0, seconds=90.0, parent=whole.job.uid
    )
    train = process(number + 2, "train", after_seconds=7300.0, seconds=380.0, parent=whole.job.uid)
    folds = [
        process(
            number + 3 + fold,
            f"fold-{fold}",
            after_seconds=7310.0 + 180 * fold,
            seconds=170.0,
            parent=train.job.uid,
        )
        for fold in range(2)
    ]
    report = process(
        number + 5,
        "report",
        after_seconds=7690.0,
        seconds=40.0,
        outcome=Outcome.FAILED,
        reason=Reason.EXIT_CODE,
        exit_code=3,
        parent=whole.job.uid,
    )
    return [whole, prepare, train, *folds, report]


def distributed(number: int = 20, workers: int = 4) -> JobProfile:
    """A job of a cluster; its last worker begins late and lags."""
    names = [f"bert-worker-{place}" for place in range(workers)]
    return JobProfile(
        job=JobIdentity(
            api_version="kubeflow.org/v2beta1",
            kind="MPIJob",
            namespace="research",
            name=f"bert-{workers}",
            uid=uid(number),
        ),
        series="bert",
        user="lin",
        created=BEGIN,
        started=BEGIN + timedelta(seconds=60),
        ended=BEGIN + timedelta(seconds=60 + 7200),
        waited_seconds=60.0,
        duration_seconds=7200.0,
        outcome=Outcome.SUCCESS,
        nodes=("gpu-a", "gpu-b"),
        node_count=2,
        gpus=tuple(
            GpuHeld(node="gpu-a", index=place, model="NVIDIA A100-SXM4-80GB")
            for place in range(workers)
        ),
        gpu_count=workers,
        asked=(
            Asked(
                container="trainer",
                role="Worker",
                pods=workers,
                limits={"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
            ),
        ),
        samples=480,
        interval_seconds=15.0,
        usage=Usage(
            cpu_cores=Spread(mean=4.0 * workers, p95=5.0 * workers, max=6.0 * workers),
            memory_bytes=Spread(mean=30 * GIB * workers, max=38 * GIB * workers),
            gpu_util_percent=Spread(mean=88.0, p95=99.0, max=100.0),
        ),
        worker_count=workers,
        workers=tuple(
            Worker(
                name=name,
                node="gpu-a",
                cpu_cores=6.0,
                memory_bytes=38 * GIB,
                gpu_util_percent=100.0,
                straggles="6 % slower than the others" if name == names[-1] else None,
            )
            for name in names
        ),
        cycle=CycleSeen(period_seconds=420.0, strength=0.8, metric="engine", confirmed=True),
        verdict="bert-worker lags",
    )


def distributed_series(profile: JobProfile) -> list[TimeSeries]:
    chance = Random(20)  # noqa: S311
    begin = (profile.started or profile.created).timestamp()
    found = []
    for place, worker in enumerate(profile.workers):
        late = 900.0 if worker.straggles else 3.0 * place
        offsets = [late + 15.0 * step for step in range(round((7200 - late) / 15))]
        times = [begin + offset for offset in offsets]
        wave = [0.5 + 0.45 * math.sin(2 * math.pi * offset / 420) for offset in offsets]
        load = [min(1.0, abs(one + chance.gauss(0, 0.03))) for one in wave]
        found += [
            TimeSeries("engine_active_ratio", times, load, worker.name),
            TimeSeries("cpu_cores", times, [2 + 4 * one for one in load], worker.name),
            TimeSeries(
                "memory_working_set_bytes", times, [38 * GIB * 0.9 for _ in load], worker.name
            ),
        ]
    return found


def many(count: int = 120, *, hostile_names: bool = True) -> list[JobProfile]:
    """A month of runs of several programs."""
    chance = Random(7)  # noqa: S311
    attack = HOSTILE if hostile_names else "backup.sh"
    names = ("train.py", "etl.py", "evaluate.py", "pytest", "make", attack)
    found = []
    for number in range(count):
        ended = chance.choices(
            [Outcome.SUCCESS, Outcome.FAILED, Outcome.TIMEOUT, Outcome.ERROR], [80, 12, 4, 4]
        )[0]
        cores = chance.lognormvariate(0.6, 0.7)
        peak = chance.lognormvariate(0.5, 1.0) * GIB
        found.append(
            process(
                1000 + number,
                chance.choice(names),
                after_seconds=21_600.0 * number,
                seconds=chance.lognormvariate(5.5, 1.3),
                outcome=ended,
                usage=Usage(
                    cpu_cores=Spread(mean=cores, p95=1.4 * cores, max=2 * cores, min=0.0),
                    memory_bytes=Spread(mean=0.7 * peak, p95=0.9 * peak, max=peak, min=0.0),
                ),
                held_back_by=HeldBackBy(kind=chance.choice(["cpu", "input"]), share_percent=40.0)
                if chance.random() < 0.5
                else None,
                verdict=chance.choice(
                    [None, None, "memory leak 3Mi/m", *([HOSTILE[:60]] if hostile_names else [])]
                ),
            )
        )
    return found


def hostile(number: int = 30) -> JobProfile:
    """Whatever anybody may write is an attack on who shows it."""
    return process(
        number,
        HOSTILE,
        seconds=60.0,
        user=HOSTILE,
        verdict=HOSTILE[:60],
        message=HOSTILE,
        advice=(HOSTILE, "javascript:alert(1)"),
        process=ProcessSeen(
            command=f"python {HOSTILE}",
            host=HOSTILE,
            cores=8.0,
            phases=(Phase(name=HOSTILE, seconds=50.0), Phase(name="@1", seconds=10.0)),
            skipped=(HOSTILE,),
        ),
    )


def hostile_series(profile: JobProfile) -> list[TimeSeries]:
    begin = (profile.started or profile.created).timestamp()
    times = [begin + place for place in range(60)]
    link = "<a href='http://evil.example/'>click</a>"
    return [
        TimeSeries("cpu_cores", times, [1.0] * 60, worker)
        for worker in (HOSTILE, link, "%{x}", "@1", "$\\\\alpha$")
    ] + [TimeSeries(HOSTILE[:100], times, [1.0] * 60)]


def keep_all(history: History, *, hostile_names: bool = True) -> None:
    """Everything above, as a history of it would be."""
    train, again, leak = trainer(), trainer(3, "train.py", 640.0), leaker()
    small, large, evil = distributed(), distributed(21, 12), hostile()
    history.keep([train, again, leak, small, large, *workflow()])
    history.keep(many(hostile_names=hostile_names))
    history.keep_series(train.job.uid, trainer_series(train))
    history.keep_series(again.job.uid, trainer_series(again))
    history.keep_series(leak.job.uid, leaker_series(leak))
    for one in (small, large):
        history.keep_series(one.job.uid, distributed_series(one))
    if hostile_names:
        history.keep([evil])
        history.keep_series(evil.job.uid, hostile_series(evil))
