"""A real PostgreSQL on loopback, with a password, and a database for each test.

It will not run as root: then it runs as the user that Debian's package makes for it. What it
writes is where that user can reach it, in a folder of its own under /tmp.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

from tests.stage.processes import STOP_SECONDS, Daemon, StageError, free_port

USER = "cepheid"
PASSWORD = "its-password"  # noqa: S105 - of a server that lives as long as a test
FOLDERS = "/usr/lib/postgresql/*/bin"


class Postgres(Daemon):
    def __init__(self, address: str = "127.0.0.1", networks: Sequence[str] = ()) -> None:
        """Answers at one address of this machine, and whoever comes from those networks."""
        self.address = address
        self._folder = Path(tempfile.mkdtemp(prefix="stage-postgres-"))
        self.port = free_port()
        self._names = count(1)
        become = _become(self._folder)
        data = self._folder / "data"
        password = self._folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        made = subprocess.run(
            [*become, _program("initdb"), f"--pgdata={data}", f"--username={USER}"]
            + [f"--pwfile={password}", "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale"]
            + ["--no-sync"],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
        if made.returncode != 0:
            shutil.rmtree(self._folder)
            raise StageError(f"initdb failed:\n{made.stderr}")
        with (data / "pg_hba.conf").open("a") as rules:
            rules.writelines(f"host all all {network} scram-sha-256\n" for network in networks)
        super().__init__(
            [*become, _program("postgres"), "-D", str(data), "-p", str(self.port)]
            + ["-c", f"listen_addresses={address}", "-c", f"unix_socket_directories={data}"],
            self._folder / "postgres.log",
            self._is_ready,
        )

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}:{PASSWORD}@{self.address}:{self.port}/{database}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """Its URL."""
        name = f"history_{next(self._names)}"
        self.run(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield self.url(name)
        if self.running:
            self.run(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def run(self, statement: sql.SQL | sql.Composed, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)

    def stop(self) -> int:
        """At once: it does not wait until its clients have gone."""
        return self._end_by(signal.SIGINT)

    def crash(self) -> None:
        """It saves nothing, as without power; the next start recovers."""
        self._end_by(signal.SIGQUIT)

    def close(self) -> None:
        if self.running:
            self.thaw()
            self.crash()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end_by(self, by: signal.Signals) -> int:
        process = self._running()
        process.send_signal(by)
        return process.wait(STOP_SECONDS)

    def _is_ready(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


def _program(name: str) -> str:
    folder, _, pattern = FOLDERS.partition("*")
    debian = sorted(Path(folder).glob(f"*{pattern}/{name}"), key=lambda path: path.parts[-3])
    found = debian[-1] if debian else shutil.which(name)
    if found is None:
        raise StageError(
            f"there is no {name} in {FOLDERS} or on PATH\nhint: apt-get install postgresql"
        )
    return str(found)


def _become(folder: Path) -> list[str]:
    """What to put before a command, so that it runs as somebody who is not root."""
    if os.geteuid() != 0:
        return []
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(folder, user.pw_uid, user.pw_gid)
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    raise StageError("PostgreSQL does not run as root, and there is no user postgres or nobody")
