"""Every request that trials send to the API server, by what it is for.

Each raises ApiError and its kin, and LeaseLostError where another instance may act by now: also
what is only read is of no use then.
"""

from collections.abc import Callable, Mapping
from typing import Any

from lightkube import Client
from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from lightkube.types import CascadeType, PatchType

from cepheid.annotations.codec import DOMAIN
from cepheid.annotations.writer import Kind
from cepheid.errors import GoneError, UnavailableError
from cepheid.jobs.fields import Raw
from cepheid_operator.api import PLACEMENT_TRIAL, VERSION
from cepheid_operator.means import Means
from cepheid_operator.profiles import MANAGER

NODES = create_global_resource("", "v1", "Node", "nodes")
PODS = Kind.of("", "v1", "Pod", "pods").resource
QUOTAS = Kind.of("", "v1", "ResourceQuota", "resourcequotas").resource
_TRIALS = create_namespaced_resource(DOMAIN, VERSION, PLACEMENT_TRIAL.name, "placementtrials")
"""With its status, which is written by itself."""
_PLURALS = {"MPIJob": "mpijobs", "PyTorchJob": "pytorchjobs", "Job": "jobs"}
PAGE = 250
"""Objects of a list in memory at once."""


class UnknownKindError(GoneError):
    """The cluster has no such kind of objects."""


def job_kind(api_version: str, kind: str) -> Kind:
    """In the version that was asked for: two of one kind differ in their fields."""
    group, _, version = api_version.rpartition("/")
    return Kind.of(group, version, kind, _PLURALS[kind])


class Requests:
    def __init__(self, means: Means) -> None:
        self._means = means

    def list(
        self,
        resource: Any,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[Raw]:
        where: dict[str, Any] = {} if namespace is None else {"namespace": namespace}
        where |= {} if labels is None else {"labels": dict(labels)}
        listed: list[Raw] = self._ask(
            f"listing {resource.__name__}s",
            lambda client: [*client.list(resource, chunk_size=PAGE, **where)],
        )
        return listed

    def get(self, kind: Kind, namespace: str, name: str) -> Raw:
        found: Raw = self._ask(
            f"reading {kind.name} {namespace}/{name}",
            lambda client: client.get(kind.resource, name, namespace=namespace),
        )
        return {**found, "apiVersion": kind.api_version, "kind": kind.name}

    def create(self, kind: Kind, document: dict[str, Any]) -> None:
        name = document["metadata"]["name"]
        self._ask(
            f"making {kind.name} {name}",
            lambda client: client.create(kind.resource(document), field_manager=MANAGER),
        )
        self._means.telemetry.writes.labels(kind.name, "trial").inc()

    def would_admit(self, pod: dict[str, Any]) -> None:
        """Raises what the namespace would say to it; nothing is made."""
        namespace = pod["metadata"]["namespace"]
        self._ask(
            f"asking whether {namespace} would let the pods of a trial in",
            lambda client: client.create(PODS(pod), field_manager=MANAGER, dry_run=True),
        )

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        """With all that it owns, which goes first: when it is gone, so are its pods."""
        self._ask(
            f"deleting {kind.name} {namespace}/{name}",
            lambda client: client.delete(
                kind.resource, name, namespace=namespace, cascade=CascadeType.FOREGROUND
            ),
        )

    def write_status(self, namespace: str, name: str, uid: str, status: dict[str, Any]) -> None:
        document = {
            "apiVersion": PLACEMENT_TRIAL.api_version,
            "kind": PLACEMENT_TRIAL.name,
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "status": status,
        }
        self._ask(
            f"writing the status of PlacementTrial {namespace}/{name}",
            lambda client: client.patch(
                _TRIALS.Status,
                name,
                document,
                namespace=namespace,
                patch_type=PatchType.APPLY,
                field_manager=MANAGER,
                force=True,
            ),
        )
        self._means.telemetry.writes.labels(PLACEMENT_TRIAL.name, "status").inc()

    def _ask(self, doing: str, question: Callable[[Client], Any]) -> Any:
        self._means.check()
        try:
            return self._means.hands.server().ask(doing, question)
        except UnavailableError as problem:
            if not problem.message.startswith(f"{doing}: 404,"):
                raise
            # Of a kind that it does not know an API server says so as any web server would.
            raise UnknownKindError(problem.message) from problem
