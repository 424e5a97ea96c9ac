"""Several requests to the API server at once, each from a thread with a connection of its own."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cepheid.annotations.api import ApiServer
from cepheid.errors import ApiError, LeaseLostError, LoginError, ThrottledError, UnavailableError

COUNT = 4
AWAY = (LoginError, ThrottledError, UnavailableError)
"""After one of these there is no use in asking for anything else in this round."""

T = TypeVar("T")


class Hands:
    def __init__(self, connect: Callable[[], ApiServer]) -> None:
        self._connect = connect
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(COUNT, thread_name_prefix="hand")

    def server(self) -> ApiServer:
        """That of the thread which asks for it."""
        found: ApiServer | None = getattr(self._own, "server", None)
        if found is None:
            found = self._own.server = self._connect()
        return found

    def all(self, tasks: Sequence[Callable[[], T]]) -> list[T | ApiError | LeaseLostError]:
        """Their results in order. When the server is away, those that did not begin get no try."""
        away: list[ApiError] = []

        def attempt(task: Callable[[], T]) -> T | ApiError | LeaseLostError:
            if away:
                return away[0]
            try:
                return task()
            except AWAY as problem:
                away.append(problem)
                return problem
            except (ApiError, LeaseLostError) as problem:
                return problem

        return list(self._pool.map(attempt, tasks))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
