"""The API server's store. Without certificates: it listens on loopback and holds nothing real."""

import http.client
from pathlib import Path

from tests.cluster.binaries import binaries
from tests.stage.processes import Daemon, free_port


class Etcd(Daemon):
    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        peers = f"http://127.0.0.1:{free_port()}"
        super().__init__(
            [
                binaries() / "bin/etcd",
                f"--data-dir={folder / 'etcd'}",
                f"--listen-client-urls={self.url}",
                f"--advertise-client-urls={self.url}",
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=default={peers}",
                "--unsafe-no-fsync",  # nothing here outlives the machine's power
            ],
            folder / "etcd.log",
            self._is_ready,
        )

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
