"""What `cepheid why-node` asks the API server for, each error with what can be done."""

from itertools import islice
from typing import Any

from lightkube import Client

from cepheid.annotations.api import ApiServer
from cepheid.annotations.writer import Kind
from cepheid.errors import ForbiddenError, GoneError
from cepheid.history.in_cluster import PAGE, connect_to
from cepheid.whynode import REASON

POD = Kind.of("", "v1", "Pod", "pods")
EVENT = Kind.of("", "v1", "Event", "events")
MOST_EVENTS = 1000
"""About one pod: of more somebody makes fun of us."""
RIGHTS = "the role `view` of a namespace includes its pods and Events: ask for it"
Raw = dict[str, Any]


def read(context: str | None, namespace: str | None, name: str) -> tuple[Raw, list[Raw]]:
    """The pod, and the Events about it that say which nodes were considered."""
    with ApiServer(lambda: connect_to(context)) as server:
        where = namespace or server.ask("reading the kubeconfig", _own_namespace)
        try:
            pod = _pod(server, where, name)
            return pod, _events(server, where, str(pod["metadata"]["uid"]))
        except ForbiddenError as problem:
            raise ForbiddenError(problem.message, hint=RIGHTS) from problem


def _pod(server: ApiServer, namespace: str, name: str) -> Raw:
    def ask(client: Client) -> Raw:
        found: Raw = client.get(POD.resource, name, namespace=namespace)
        return found

    try:
        return server.ask(f"reading Pod {namespace}/{name}", ask)
    except GoneError:
        raise GoneError(
            f"the namespace {namespace} has no pod {name!r}",
            hint="another namespace is --namespace; of a pod that is gone its Events stay for an"
            f" hour: kubectl get events -n {namespace}"
            f" --field-selector=reason={REASON},involvedObject.name={name}",
        ) from None


def _events(server: ApiServer, namespace: str, uid: str) -> list[Raw]:
    def ask(client: Client) -> list[Raw]:
        found = client.list(
            EVENT.resource,
            namespace=namespace,
            fields={"involvedObject.uid": uid, "reason": REASON},
            chunk_size=PAGE,
        )
        return list(islice(found, MOST_EVENTS))

    return server.ask(f"listing Events of the namespace {namespace}", ask)


def _own_namespace(client: Client) -> str:
    return str(client.namespace)
