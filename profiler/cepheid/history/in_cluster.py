"""The profiles that a cluster has: its JobProfile objects, asked as a history is.

Who may look at a namespace sees the jobs of it. Where all namespaces are asked for and not all may
be looked at, those that may are, and `missing` says in words what is not there. A cluster keeps the
figures of a job, not its time series.
"""

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx2
from lightkube import Client, KubeConfig
from lightkube.config.kubeconfig import SingleConfig
from lightkube.core.exceptions import ConfigError
from lightkube.resources.core_v1 import Namespace

from cepheid.annotations.api import TIMEOUT_SECONDS, ApiServer
from cepheid.annotations.codec import DOMAIN
from cepheid.annotations.writer import Kind
from cepheid.errors import ApiError, ForbiddenError, GoneError, NoSuchJobError, UnavailableError
from cepheid.history.query import EVERY_JOB, Query
from cepheid.history.rows import Kept, microseconds, until_us
from cepheid.history.samples import TimeSeries
from cepheid.jobprofile import JobProfile, Outcome, ProfileError, Worker, from_document

JOB_PROFILE = Kind.of(DOMAIN, "v1alpha1", "JobProfile", "jobprofiles")
PAGE = 250
DEFAULT_CONFIG = "~/.kube/config"
MOST_NAMED = 5
"""Of namespaces that may not be read; of more the number."""
_OWN = frozenset({"apiVersion", "kind", "metadata"})
T = TypeVar("T")


class InCluster:
    """Read when it is first asked, and once."""

    def __init__(
        self,
        context: str | None = None,
        namespace: str | None = None,
        *,
        all_namespaces: bool = False,
        server: ApiServer | None = None,
    ) -> None:
        self.missing: list[str] = []
        """What could not be read, in words."""
        self._namespace = namespace
        self._own_namespace = "default"
        self._everywhere = all_namespaces
        self._server = server or ApiServer(lambda: self._connect(context))
        self._named: dict[str, JobProfile] = {}
        self._listed: list[JobProfile] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def find(self, query: Query = EVERY_JOB, *, limit: int = 50) -> list[JobProfile]:
        """The newest first."""
        return list(islice((one for one in self._all() if _fits(one, query)), limit))

    def each(self, query: Query = EVERY_JOB, *, with_workers: bool = True) -> Iterator[Kept]:  # noqa: ARG002
        """All of them are here already: nothing is saved by leaving out their workers."""
        return (Kept(one) for one in self._all() if _fits(one, query))

    def count(self, query: Query = EVERY_JOB) -> int:
        return sum(1 for one in self._all() if _fits(one, query))

    def get(self, uid: str) -> JobProfile:
        """By its uid or the beginning of it, or by what `kubectl get jobprofiles` calls it."""
        profiles = self._all()
        found = [one for one in profiles if one.job.uid.startswith(uid)] if uid else []
        exact = [one for one in found if one.job.uid == uid]
        if exact or len(found) == 1:
            return (exact or found)[0]
        named = self._named.get(uid)
        if named is not None:
            return named
        if found:
            raise NoSuchJobError(
                f"more than one job's uid begins with {uid!r}", hint="give more of it"
            )
        where = "in any namespace" if self._everywhere else f"in the namespace {self._where()}"
        raise NoSuchJobError(
            f"no JobProfile {where} has the uid or the name {uid!r}",
            hint="list the jobs that there are; another namespace is --namespace",
        )

    def earlier_runs(self, profile: JobProfile, *, limit: int = 20) -> list[JobProfile]:
        """Of the same job, that were over before this one was; the newest first."""
        before = (
            one
            for one in self._all()
            if _is_same_job(one, profile)
            and one.outcome is not Outcome.RUNNING
            and (until_us(one), one.job.uid) < (until_us(profile), profile.job.uid)
        )
        return list(islice(before, limit))

    def workers(self, uid: str) -> tuple[Worker, ...]:
        return self.get(uid).workers

    def series(self, uid: str) -> list[TimeSeries]:
        self.get(uid)
        return []

    def _where(self) -> str:
        return self._namespace or self._own_namespace

    def _connect(self, context: str | None) -> Client:
        client = connect_to(context)
        self._own_namespace = client.namespace
        return client

    def _all(self) -> list[JobProfile]:
        if self._listed is None:
            found, broken = [], []
            for thing in self._everything():
                try:
                    profile = from_document({key: thing[key] for key in thing if key not in _OWN})
                    self._named[str(thing["metadata"]["name"])] = profile
                    found.append(profile)
                except (ProfileError, KeyError, TypeError):
                    broken.append(_called(thing))
            if broken:
                self.missing.append(
                    f"{len(broken)} of the JobProfiles cannot be read, such as {broken[0]}:"
                    " written by a newer version?"
                )
            found.sort(key=lambda one: (until_us(one), one.job.uid), reverse=True)
            self._listed = found
        return self._listed

    def _everything(self) -> list[dict[str, Any]]:
        if not self._everywhere:
            return self._list(self._namespace)
        try:
            return self._list("*")
        except ForbiddenError:
            return self._where_allowed()

    def _where_allowed(self) -> list[dict[str, Any]]:
        """All namespaces at once may not be read: one after the other."""
        try:
            names = self._ask("listing namespaces", _namespaces)
        except ForbiddenError:
            self.missing.append(
                "you may not list namespaces: only the jobs of your own are shown;"
                " --namespace shows those of another"
            )
            return self._list(None)
        found, refused = [], []
        for name in names:
            try:
                found += self._list(name)
            except ForbiddenError:
                refused.append(name)
        if refused:
            refused.sort(key=lambda name: name.startswith("kube-"))  # nobody's jobs run there
            shown = ", ".join(refused[:MOST_NAMED])
            more = f" and {len(refused) - MOST_NAMED} more" if len(refused) > MOST_NAMED else ""
            self.missing.append(f"you may not read the jobs of {shown}{more}: they are left out")
        return found

    def _list(self, namespace: str | None) -> list[dict[str, Any]]:
        """Page by page; from the beginning once more where the pages have expired meanwhile."""

        def ask(client: Client) -> list[dict[str, Any]]:
            where = namespace or client.namespace
            return list(client.list(JOB_PROFILE.resource, namespace=where, chunk_size=PAGE))

        doing = "listing JobProfiles"
        try:
            return self._ask(doing, ask)
        except GoneError:
            return self._ask(doing, ask)

    def _ask(self, doing: str, question: Callable[[Client], T]) -> T:
        try:
            return self._server.ask(doing, question)
        except UnavailableError as problem:
            # Of a kind that it does not know the API server says so as of any other wrong address.
            if f"{doing}: 404" not in problem.message:
                raise
            raise ApiError(
                f"{doing}: the cluster has no JobProfiles",
                hint="is Cepheid installed there? kubectl apply -f manifests/cepheid.yaml",
            ) from problem


def _called(thing: Any) -> str:
    metadata = thing.get("metadata") or {}
    return f"{metadata.get('namespace')}/{metadata.get('name')}"


def _namespaces(client: Client) -> list[str]:
    listed = client.list(Namespace, chunk_size=PAGE)
    return [name for one in listed if (name := one.metadata and one.metadata.name)]


def connect_to(context: str | None) -> Client:
    """To the cluster of that context, or of the one that kubectl would take."""
    return Client(_config(context), timeout=httpx2.Timeout(TIMEOUT_SECONDS))


def _config(context: str | None) -> SingleConfig:
    """Of the pod's service account, or of the kubeconfig, which may be several files."""
    told = os.environ.get("KUBECONFIG") or DEFAULT_CONFIG
    paths = [Path(part).expanduser() for part in told.split(os.pathsep) if part]
    there = [path for path in paths if path.is_file()]
    if context is None and len(there) <= 1:
        found = KubeConfig.from_env().get()
    elif not there:
        raise ConfigError(f"there is no kubeconfig at {told}")
    else:
        found = _of_several([KubeConfig.from_file(path) for path in there], context)
    if found is None:
        raise ConfigError("the kubeconfig has no current context")
    return found


def _of_several(configs: list[KubeConfig], context: str | None) -> SingleConfig | None:
    """As kubectl has it: whoever sets the current context first, and has a context first."""
    current = next((one.current_context for one in configs if one.current_context), None)
    wanted = context or current
    for config in configs:
        if wanted in config.contexts:
            return config.get(wanted)
    known = ", ".join(sorted({name for config in configs for name in config.contexts}))
    raise ConfigError(f"the kubeconfig has no context {wanted!r}, but {known or 'none at all'}")


def _fits(profile: JobProfile, query: Query) -> bool:
    job = profile.job
    wanted = (
        (query.user, profile.user or profile.service_account),
        (query.namespace, job.namespace),
        (query.kind, job.kind),
        (query.name, job.name),
        (query.series, profile.series),
        (query.outcome, profile.outcome),
    )
    if any(asked is not None and asked != has for asked, has in wanted):
        return False
    until = until_us(profile)
    if query.since is not None and until < microseconds(query.since):
        return False
    return query.until is None or until < microseconds(query.until)


def _is_same_job(one: JobProfile, other: JobProfile) -> bool:
    same = (one.series, one.job.namespace, one.job.kind) == (
        other.series,
        other.job.namespace,
        other.job.kind,
    )
    is_alike = other.template is None or one.template == other.template
    return same and is_alike and one.job.uid != other.job.uid
