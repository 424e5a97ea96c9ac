"""What a job takes of the disk, and what it takes to load the package."""

import subprocess
import sys
from pathlib import Path

from cepheid.history import History
from cepheid.history.rows import pack_workers
from cepheid.jobprofile import Worker
from tests.bench.history.jobs import GIB, profile, profiles

MOST_RECORD_BYTES = 5_000


def test_a_record_of_a_large_job_takes_at_most_5_kb_with_its_share_of_all_indexes(
    tmp_path: Path,
) -> None:
    path, jobs = tmp_path / "history.db", 500
    with History.open(path) as history:
        history.keep(profiles(jobs))
    assert 1_000 < path.stat().st_size / jobs <= MOST_RECORD_BYTES


def test_a_worker_of_a_large_job_takes_at_most_100_bytes() -> None:
    workers = [
        Worker(
            name=f"{profile(1).job.name}-worker-{number}",
            node=f"gpu-node-{number % 64:03d}",
            cpu_cores=round(number * 0.37, 3),
            memory_bytes=float(round(number * 0.71 * GIB)),
            gpu_util_percent=float(number % 101),
            restarts=0,
        )
        for number in range(1000)
    ]
    assert len(pack_workers(workers)) <= 100 * len(workers)


def test_sqlalchemy_comes_with_the_first_history_and_psycopg_with_the_first_server() -> None:
    program = """
import sys
import cepheid.history
from cepheid.history import Kept, Query, TimeSeries, default_path
assert not {"sqlalchemy", "psycopg", "pyarrow", "numpy"} & set(sys.modules)
from cepheid.history import History
import cepheid.history.exchange
History.open("/nowhere/history.db")
assert not {"psycopg", "pyarrow", "numpy"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
