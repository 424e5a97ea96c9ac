"""Every request of `cepheid trial` to the API server, each error with what can be done."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Self, TypeVar

from lightkube import Client
from lightkube.resources.core_v1 import Namespace

from cepheid.annotations.api import ApiServer, RefusedError
from cepheid.annotations.codec import DOMAIN
from cepheid.annotations.writer import Kind
from cepheid.errors import ApiError, ForbiddenError, GoneError, UnavailableError
from cepheid.history.in_cluster import PAGE, connect_to

TRIAL = Kind.of(DOMAIN, "v1alpha1", "PlacementTrial", "placementtrials")
PLURALS = {"MPIJob": "mpijobs", "PyTorchJob": "pytorchjobs", "Job": "jobs"}
Raw = dict[str, Any]
T = TypeVar("T")


class TrialRequests:
    def __init__(self, context: str | None, namespace: str | None) -> None:
        self.missing: list[str] = []
        """What could not be read, in words."""
        self._namespace = namespace
        self._server = ApiServer(lambda: connect_to(context))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def namespace(self) -> str:
        """Asked for, or the context's own."""
        return self._namespace or self._ask("reading the kubeconfig", _own_namespace)

    def listed(self, *, everywhere: bool) -> list[Raw]:
        if not everywhere:
            return self._list(self.namespace())
        try:
            return self._list("*")
        except ForbiddenError:
            return self._where_allowed()

    def get(self, name: str) -> Raw:
        namespace = self.namespace()
        try:
            found: Raw = self._ask(
                f"reading PlacementTrial {namespace}/{name}",
                lambda client: client.get(TRIAL.resource, name, namespace=namespace),
            )
        except GoneError:
            raise GoneError(
                f"the namespace {namespace} has no PlacementTrial {name!r}",
                hint="cepheid trial list -A shows those of all namespaces",
            ) from None
        return found

    def create(self, document: Raw) -> None:
        metadata = document["metadata"]
        name = f"{metadata['namespace']}/{metadata['name']}"
        try:
            self._ask(
                f"making PlacementTrial {name}",
                lambda client: client.create(TRIAL.resource(document), field_manager="cepheid"),
            )
        except RefusedError as problem:
            raise RefusedError(
                problem.message, hint="is there one already? --name gives it another name"
            ) from problem

    def version_of(self, kind: str, name: str, versions: Iterable[str]) -> str:
        """The first in which the cluster has such a job."""
        namespace = self.namespace()
        for version in versions:
            group, _, number = version.rpartition("/")
            resource = Kind.of(group, number, kind, PLURALS[kind]).resource
            doing = f"reading {kind} {namespace}/{name}"
            read = partial(_read, resource=resource, name=name, namespace=namespace)
            try:
                self._server.ask(doing, read)
            except GoneError:
                continue
            except ForbiddenError as problem:
                raise ForbiddenError(
                    problem.message, hint="say which it is, and it is not read: --api-version"
                ) from problem
            except UnavailableError as problem:
                if not _is_unknown_kind(doing, problem):
                    raise
                continue
            return version
        raise GoneError(
            f"the namespace {namespace} has no {kind} {name!r}",
            hint="another namespace is --namespace; --dry-run writes the trial all the same",
        )

    def _where_allowed(self) -> list[Raw]:
        try:
            names = self._ask("listing namespaces", _namespaces)
        except ForbiddenError:
            self.missing.append("you may not list namespaces: only your own is shown")
            return self._list(self.namespace())
        found: list[Raw] = []
        refused = 0
        for name in names:
            try:
                found += self._list(name)
            except ForbiddenError:
                refused += 1
        if refused:
            self.missing.append(f"you may not read the trials of {refused} of the namespaces")
        return found

    def _list(self, namespace: str) -> list[Raw]:
        return self._ask(
            "listing PlacementTrials",
            lambda client: [*client.list(TRIAL.resource, namespace=namespace, chunk_size=PAGE)],
        )

    def _ask(self, doing: str, question: Callable[[Client], T]) -> T:
        try:
            return self._server.ask(doing, question)
        except UnavailableError as problem:
            if not _is_unknown_kind(doing, problem):
                raise
            raise ApiError(
                f"{doing}: the cluster has no PlacementTrials",
                hint="is Cepheid installed there? kubectl apply -f manifests/cepheid.yaml",
            ) from problem
        except ForbiddenError as problem:
            raise ForbiddenError(
                problem.message,
                hint="the roles `view` and `edit` of a namespace include PlacementTrials: to see"
                " them takes the one, to make them the other",
            ) from problem


def _is_unknown_kind(doing: str, problem: UnavailableError) -> bool:
    """Of a kind that it does not know the API server says so as of any other wrong address."""
    return problem.message.startswith(f"{doing}: 404")


def _read(client: Client, *, resource: Any, name: str, namespace: str) -> None:
    client.get(resource, name, namespace=namespace)


def _own_namespace(client: Client) -> str:
    return str(client.namespace)


def _namespaces(client: Client) -> list[str]:
    listed = client.list(Namespace, chunk_size=PAGE)
    return [name for one in listed if (name := one.metadata and one.metadata.name)]
