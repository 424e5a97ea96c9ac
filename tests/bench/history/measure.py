"""A history is filled with jobs and asked for those of a user."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from psycopg import connect

from cepheid.history import History, Query
from tests.bench.history.jobs import END, USERS, profile, profiles, series
from tests.stage.postgres import Postgres
from tests.stage.processes import TICKS_PER_SECOND

CHUNK = 5_000
LISTED = 50
LISTINGS = 100
SERIES_JOBS = 100
SAMPLES = 1_000

Talk = Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    database: str
    jobs: int
    insert_seconds: float
    """By the clock, and only what the history took of it."""
    insert_cpu_seconds: float
    first_cpu_ms: float
    """Of a history that was just opened; CPU of this process."""
    list_cpu_ms: float
    """Of one listing, this process and the server's together."""
    list_ms: float
    record_bytes: float
    sample_bytes: float


def in_sqlite(folder: Path, jobs: int, talk: Talk) -> Measured:
    path = folder / "history.db"

    def size_bytes(_: str) -> int:
        return path.stat().st_size

    return _measure("SQLite", str(path), jobs, size_bytes, lambda: 0.0, talk)


def in_postgresql(jobs: int, talk: Talk) -> Measured:
    with Postgres() as server, server.database() as url:

        def size_bytes(table: str) -> int:
            with connect(url) as connection:
                row = connection.execute("SELECT pg_total_relation_size(%s)", [table]).fetchone()
            assert row is not None
            return int(row[0])

        def cpu_seconds() -> float:
            return _cpu_seconds_with_children(server.pid)

        return _measure("PostgreSQL", url, jobs, size_bytes, cpu_seconds, talk)


def _measure(
    database: str,
    url: str,
    jobs: int,
    size_bytes: Callable[[str], int],
    server_cpu_seconds: Callable[[], float],
    talk: Talk,
) -> Measured:
    elapsed_seconds = cpu_seconds = 0.0
    with History.open(url) as history:
        history.count()  # makes the tables
        made = profiles(jobs)
        for begin in range(0, jobs, CHUNK):
            chunk = [next(made) for _ in range(min(CHUNK, jobs - begin))]
            clock, cpu = time.perf_counter(), time.process_time() + server_cpu_seconds()
            history.keep(chunk)
            elapsed_seconds += time.perf_counter() - clock
            cpu_seconds += time.process_time() + server_cpu_seconds() - cpu
            talk(f"{database}: {begin + len(chunk):,} jobs")
        assert history.count() == jobs
    record_bytes = size_bytes("cepheid_jobs") / jobs
    with History.open(url) as history:
        first, clocks, cpu_ms = _listings(history, server_cpu_seconds)
    talk(f"{database}: time series")
    before_bytes = size_bytes("cepheid_series")
    with History.open(url) as history:
        samples = sum(_keep_series(history, number) for number in range(SERIES_JOBS))
    grown_bytes = size_bytes("cepheid_series") - before_bytes
    return Measured(
        database=database,
        jobs=jobs,
        insert_seconds=elapsed_seconds,
        insert_cpu_seconds=cpu_seconds,
        first_cpu_ms=first,
        list_cpu_ms=cpu_ms,
        list_ms=1000 * median(clocks),
        record_bytes=record_bytes,
        sample_bytes=grown_bytes / samples,
    )


def _listings(
    history: History, server_cpu_seconds: Callable[[], float]
) -> tuple[float, list[float], float]:
    """CPU of the first, the clock of each, mean CPU of the others: ms, s, ms."""

    def listing(number: int) -> float:
        clock = time.perf_counter()
        found = history.find(Query(user=f"user-{number % USERS:03d}@lab.example"), limit=LISTED)
        assert len(found) == LISTED
        assert all(one.ended is not None and one.ended > END for one in found)
        return time.perf_counter() - clock

    begin = time.process_time()
    listing(0)
    first_ms = 1000 * (time.process_time() - begin)
    cpu = time.process_time() + server_cpu_seconds()
    clocks = [listing(number) for number in range(1, LISTINGS + 1)]
    cpu_ms = 1000 * (time.process_time() + server_cpu_seconds() - cpu) / LISTINGS
    return first_ms, clocks, cpu_ms


def _keep_series(history: History, number: int) -> int:
    parts = series(number, SAMPLES)
    history.keep_series(profile(number).job.uid, parts)
    return sum(len(part.values) for part in parts)


def _cpu_seconds_with_children(pid: int) -> float:
    """Of a process, those that it began, and those of them that ended."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # After the name, which is in parentheses: the state is field 3.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(folder.name) == pid:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == pid:
            ticks += sum(map(int, fields[11:13]))
    return ticks / TICKS_PER_SECOND
