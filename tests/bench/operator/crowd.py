"""Many requests to the API server, from several threads with a connection each."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from lightkube import KubeConfig
from lightkube.config import client_adapter

from cepheid.annotations.writer import MANAGER

THREADS = 6
TIMEOUT_SECONDS = 60.0
AGAIN_SECONDS = 1.0
Document = dict[str, Any]
T = TypeVar("T")
R = TypeVar("R")


class Crowd:
    """As plain as can be: it shares two cores with who is measured."""

    def __init__(self, kubeconfig: Path, threads: int = THREADS) -> None:
        self._config: Any = KubeConfig.from_file(kubeconfig).get()
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="crowd")

    def each(self, do: Callable[[T], R], things: Iterable[T]) -> list[R]:
        return list(self._pool.map(do, things))

    def create(self, path: str, document: Document) -> str:
        """Its uid."""
        uid: str = self._ask("POST", path, document)["metadata"]["uid"]
        return uid

    def tell(self, path: str, status: Document) -> None:
        """As who owns the status: a controller, or a kubelet."""
        self._ask("PATCH", f"{path}/status", {"status": status}, "merge-patch+json")

    def annotate(
        self, path: str, name: str, uid: str, annotations: Mapping[str, str], kind: str = "Pod"
    ) -> None:
        """A pod or a node, as its agent does."""
        metadata = {"name": name, "uid": uid, "annotations": annotations}
        applied = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
        manager = {"fieldManager": MANAGER, "force": "true"}
        self._ask("PATCH", f"{path}/{name}", applied, "apply-patch+yaml", manager)

    def items(self, path: str) -> Iterator[Document]:
        yield from self._ask("GET", path)["items"]

    def watch(self, path: str, selector: str = "") -> Iterator[Document]:
        """What there is, and then every change, until the API server ends, or has had enough of who
        reads too slowly."""
        unlimited = httpx2.Timeout(TIMEOUT_SECONDS, read=None)
        parameters = {"watch": "true", "timeoutSeconds": "7200", "labelSelector": selector}
        client, busy = self._connected(), True
        while busy:
            with (
                suppress(httpx2.RemoteProtocolError),
                client.stream("GET", path, params=parameters, timeout=unlimited) as answer,
            ):
                # It asks for patience where the definition of a kind is still new to it.
                busy = answer.status_code == HTTPStatus.TOO_MANY_REQUESTS
                if busy:
                    time.sleep(AGAIN_SECONDS)
                    continue
                answer.raise_for_status()
                for line in answer.iter_lines():
                    yield json.loads(line)

    def close(self) -> None:
        self._pool.shutdown()

    def _ask(
        self,
        method: str,
        path: str,
        document: Document | None = None,
        form: str = "json",
        parameters: Mapping[str, str] | None = None,
    ) -> Any:
        content = None if document is None else json.dumps(document)
        headers = {"Content-Type": f"application/{form}"}
        answer = self._connected().request(
            method, path, content=content, headers=headers, params=parameters
        )
        if answer.is_error:
            raise RuntimeError(f"{method} {path}: {answer.status_code}, {answer.text[:500]}")
        return answer.json()

    def _connected(self) -> httpx2.Client:
        found: httpx2.Client | None = getattr(self._own, "client", None)
        if found is None:
            timeout = httpx2.Timeout(TIMEOUT_SECONDS)
            parameters = client_adapter.ConnectionParams(timeout=timeout)
            found = self._own.client = client_adapter.Client(self._config, parameters)
        return found
