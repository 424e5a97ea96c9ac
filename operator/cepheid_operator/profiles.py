"""The JobProfile objects: written, found again, deleted.

What a profile says stands in the object; in memory is only what it takes to find it: the runs of a
cluster's last month would be 50 MB.
"""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from lightkube import Client
from lightkube.types import PatchType

from cepheid.annotations.api import ApiServer
from cepheid.annotations.codec import PREFIX
from cepheid.errors import ApiError, GoneError, UnavailableError
from cepheid.jobprofile import (
    JobProfile,
    Outcome,
    ProfileError,
    from_document,
    to_document,
)
from cepheid.jobs.names import profile_name
from cepheid_operator.api import JOB_PROFILE

MANAGER = "cepheid-operator"
ARCHIVED = f"{PREFIX}archived"
"""The annotation that says: the history has it."""
OLDER = "field not declared in schema"
"""What the API server says of a field that its CustomResourceDefinition does not have."""
PAGE = 250
T = TypeVar("T")
_OWN = frozenset({"apiVersion", "kind", "metadata"})


class UndefinedError(ApiError):
    """The cluster does not know what a JobProfile is."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One JobProfile, by what it takes to find it."""

    namespace: str
    name: str
    job_uid: str
    series: str
    template: str | None
    outcome: Outcome
    ended: datetime | None
    measured: bool
    """Whether its figures are those of Prometheus, and not only the annotations'."""
    workers: int
    gpus: int
    kind: tuple[str, str]
    """Group and name of the job's."""
    archived: bool = False

    @property
    def is_over(self) -> bool:
        return self.outcome is not Outcome.RUNNING

    def __str__(self) -> str:
        return f"JobProfile {self.namespace}/{self.name}"


def entry_of(profile: JobProfile, *, archived: bool = False) -> Entry:
    return Entry(
        namespace=profile.job.namespace,
        name=profile_name(profile.job.name, profile.job.uid),
        job_uid=profile.job.uid,
        series=profile.series,
        template=profile.template,
        outcome=profile.outcome,
        ended=profile.ended,
        measured=profile.samples is not None,
        workers=profile.worker_count,
        gpus=profile.gpu_count or 0,
        kind=(profile.job.api_version.rpartition("/")[0], profile.job.kind),
        archived=archived,
    )


class Profiles:
    """Those of the whole cluster. Not for several threads at once, but for `write`."""

    def __init__(
        self, server: Callable[[], ApiServer], check: Callable[[], None], older: Callable[[], None]
    ) -> None:
        """`check` raises where nothing may be written; `older` hears of fields that were lost."""
        self._server = server
        self._check = check
        self._older = older
        self._entries: dict[str, Entry] = {}

    def find(self, job_uid: str) -> Entry | None:
        return self._entries.get(job_uid)

    def all(self) -> Iterable[Entry]:
        return list(self._entries.values())

    def of_job(self, namespace: str, series: str, template: str | None) -> list[Entry]:
        """Runs that are over, of its name or with its template, the last one first."""
        found = [
            entry
            for entry in self.all()
            if entry.namespace == namespace
            and entry.ended is not None
            and (entry.series == series or (template is not None and entry.template == template))
        ]
        return sorted(found, key=_ended, reverse=True)

    def would_learn(self, profile: JobProfile, *, pods: int) -> bool:
        """False where what stands says more: after a restart the job's pods may be gone.

        Its annotations still name them, but not what they asked for. `pods` were seen.
        """
        known = self.find(profile.job.uid)
        if known is None or not known.is_over:
            return True
        over = profile.outcome is not Outcome.RUNNING
        measured = profile.samples is not None or not known.measured
        gone = profile.worker_count < known.workers or (known.workers > 0 and pods == 0)
        return over and measured and not gone and (profile.gpu_count or 0) >= known.gpus

    def relist(self, server: ApiServer) -> int:
        """Reads them all, a page at a time; returns how many could not be understood."""
        listed = _ask(
            server,
            "listing JobProfiles",
            lambda client: [
                _entry(thing)
                for thing in client.list(JOB_PROFILE.resource, namespace="*", chunk_size=PAGE)
            ],
        )
        self._entries = {entry.job_uid: entry for entry in listed if entry is not None}
        return listed.count(None)

    def read(self, entry: Entry) -> JobProfile:
        found = self._server().ask(
            f"reading {entry}",
            lambda client: client.get(JOB_PROFILE.resource, entry.name, namespace=entry.namespace),
        )
        return _profile(found)

    def write(self, profile: JobProfile) -> Entry:
        """Creates it, or replaces all that it said before."""
        entry = entry_of(profile)
        document = {
            "apiVersion": JOB_PROFILE.api_version,
            "kind": JOB_PROFILE.name,
            "metadata": {"name": entry.name, "namespace": entry.namespace},
            **to_document(profile),
        }
        self._check()
        try:
            self._patch(entry, document, PatchType.APPLY)
        except UnavailableError as problem:
            if OLDER not in str(problem):
                raise
            self._older()
            self._write_what_is_known(entry, document)
        self._entries[entry.job_uid] = entry
        return entry

    def mark_archived(self, entry: Entry, now: datetime) -> None:
        mark = {"metadata": {"annotations": {ARCHIVED: now.isoformat(timespec="seconds")}}}
        self._check()
        self._patch(entry, mark, PatchType.MERGE)
        self._entries[entry.job_uid] = replace(entry, archived=True)

    def lost(self, entry: Entry) -> None:
        """Somebody deleted it."""
        self._entries.pop(entry.job_uid, None)

    def delete(self, entry: Entry) -> None:
        self._check()
        with contextlib.suppress(GoneError):
            self._server().ask(
                f"deleting {entry}",
                lambda client: client.delete(
                    JOB_PROFILE.resource, entry.name, namespace=entry.namespace
                ),
            )
        self._entries.pop(entry.job_uid, None)

    def _write_what_is_known(self, entry: Entry, document: dict[str, Any]) -> None:
        """To a definition that is older than we are: it drops the fields that it does not have."""
        try:
            self._patch(entry, document, PatchType.MERGE)
        except GoneError:
            thing = JOB_PROFILE.resource(document)
            self._server().ask(
                f"creating {entry}", lambda client: client.create(thing, field_manager=MANAGER)
            )

    def _patch(self, entry: Entry, document: dict[str, Any], how: PatchType) -> None:
        _ask(
            self._server(),
            f"writing {entry}",
            lambda client: client.patch(
                JOB_PROFILE.resource,
                entry.name,
                document,
                namespace=entry.namespace,
                patch_type=how,
                field_manager=MANAGER,
                force=how is PatchType.APPLY,
            ),
        )


def _ask(server: ApiServer, doing: str, question: Callable[[Client], T]) -> T:
    try:
        return server.ask(doing, question)
    except UnavailableError as problem:
        # Of a kind that it does not know the API server says so as of any other wrong address.
        if f"{doing}: 404" not in problem.message:
            raise
        raise UndefinedError(
            f"{doing}: the cluster has no JobProfiles",
            hint="kubectl apply -f manifests/cepheid.yaml has their definition",
        ) from problem


def is_terminating(problem: ApiError) -> bool:
    """Whether the namespace is being deleted: nothing can be put there any more."""
    return "being terminated" in str(problem)


def _entry(thing: dict[str, Any]) -> Entry | None:
    """None for what a newer version, or nobody who knows what it is, wrote."""
    try:
        entry, metadata = entry_of(_profile(thing)), thing["metadata"]
        archived = ARCHIVED in (metadata.get("annotations") or {})
        return replace(entry, name=str(metadata["name"]), archived=archived)
    except (ProfileError, KeyError, TypeError, AttributeError):
        return None


def _profile(thing: dict[str, Any]) -> JobProfile:
    return from_document({key: value for key, value in thing.items() if key not in _OWN})


def _ended(entry: Entry) -> float:
    return 0.0 if entry.ended is None else entry.ended.timestamp()
