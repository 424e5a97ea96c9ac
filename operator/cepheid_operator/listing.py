"""Everything, listed anew: what a watch missed is found, and which kinds may be watched at all."""

import logging
from collections.abc import Callable

from lightkube import Client

from cepheid.annotations.api import ApiServer
from cepheid.errors import ForbiddenError, GoneError
from cepheid_operator.cluster import Cluster
from cepheid_operator.discovery import PODS, Served, discover

LOG = logging.getLogger("cepheid.operator")
PAGE = 250


def relist(server: ApiServer, cluster: Cluster, alive: Callable[[], None]) -> frozenset[Served]:
    """The kinds that could be read, pods among them; without those there is nothing to do.

    Owners come before what they own, so that a pod finds its job at once.
    """
    found = {served for served in discover(server) if _list(server, cluster, served, alive)}
    _fill(server, cluster, PODS, alive)
    cluster.look_again()
    return frozenset({*found, PODS})


def _list(server: ApiServer, cluster: Cluster, served: Served, alive: Callable[[], None]) -> bool:
    try:
        _fill(server, cluster, served, alive)
    except (ForbiddenError, GoneError) as problem:
        # No right on it, or it is being removed: pods of such jobs are left alone, and counted.
        LOG.debug("%s is left alone: %s", served, problem.message)
        cluster.unreadable(served)
        return False
    return True


def _fill(server: ApiServer, cluster: Cluster, served: Served, alive: Callable[[], None]) -> None:
    before = cluster.known(served)
    listed: set[str] = set()
    resource = served.kind.resource

    def take(client: Client) -> None:
        for thing in client.list(resource, namespace="*", chunk_size=PAGE):
            uid = thing.get("metadata", {}).get("uid")
            if isinstance(uid, str):
                listed.add(uid)
                cluster.see(served, thing, False)
                if len(listed) % PAGE == 0:
                    alive()

    server.ask(f"listing {served}", take)
    cluster.relisted(served, before, listed)
