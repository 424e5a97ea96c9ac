"""Everything, listed anew: what a watch missed is found, and which kinds may be watched at all."""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from lightkube import Client

from cepheid.annotations.api import ApiServer
from cepheid.errors import ForbiddenError, GoneError
from cepheid.jobs.fields import Raw
from cepheid_operator.discovery import PODS, Served, discover

LOG = logging.getLogger("cepheid.operator")
PAGE = 250


class Index(Protocol):
    """Who remembers what is listed."""

    def see(self, served: Served, thing: Raw, deleted: bool) -> None: ...

    def known(self, served: Served) -> frozenset[str]: ...

    def relisted(self, served: Served, known_before: frozenset[str], listed: set[str]) -> int: ...

    def unreadable(self, served: Served) -> None: ...


def relist(
    server: ApiServer,
    index: Index,
    alive: Callable[[], None],
    needed: Iterable[Served] = (),
    page: int = PAGE,
) -> frozenset[Served]:
    """The kinds that could be read, pods among them; without those, and those that are `needed`
    beside them, there is nothing to do.

    Owners come before what they own, so that a pod finds its job at once. Of a list at most a
    `page` of objects is in memory at once; while that is parsed no other thread goes on.
    """
    fill = partial(_fill, server, index, alive=alive, page=page)
    found = {served for served in discover(server) if _list(index, served, fill)}
    must = (*needed, PODS)
    for served in must:
        fill(served)
    return frozenset({*found, *must})


def _list(index: Index, served: Served, fill: Callable[[Served], None]) -> bool:
    try:
        fill(served)
    except (ForbiddenError, GoneError) as problem:
        # No right on it, or it is being removed: pods of such jobs are left alone, and counted.
        LOG.debug("%s is left alone: %s", served, problem.message)
        index.unreadable(served)
        return False
    return True


def _fill(
    server: ApiServer, index: Index, served: Served, *, alive: Callable[[], None], page: int
) -> None:
    before = index.known(served)
    listed: set[str] = set()
    resource = served.kind.resource

    def take(client: Client) -> None:
        for thing in client.list(resource, namespace="*", chunk_size=page):
            uid = thing.get("metadata", {}).get("uid")
            if isinstance(uid, str):
                listed.add(uid)
                index.see(served, thing, False)
                if len(listed) % page == 0:
                    alive()

    server.ask(f"listing {served}", take)
    index.relisted(served, before, listed)
