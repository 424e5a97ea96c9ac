"""What is asked of the API server, by what it is for. Raises ApiError and LeaseLostError."""

from collections.abc import Callable
from typing import Any

from lightkube import Client
from lightkube import operators as matching
from lightkube.generic_resource import create_global_resource
from lightkube.types import PatchType

from cepheid.annotations.job_codec import encode_job
from cepheid.annotations.job_facts import IdleFacts, JobFacts
from cepheid.annotations.writer import Kind, Target, Writer
from cepheid.errors import GoneError
from cepheid.jobs import kinds
from cepheid.jobs.fields import Raw
from cepheid_operator.cluster import Run
from cepheid_operator.idle.telling import suspended
from cepheid_operator.idle.terms import POLICY
from cepheid_operator.means import Means

MANAGER = "cepheid-idle"
"""Not the operator's other one, whose next apply would take away what it does not know of."""
NAMESPACES = create_global_resource("", "v1", "Namespace", "namespaces")
PAGE = 250


class Requests:
    def __init__(self, means: Means) -> None:
        self._means = means

    def namespaces(self) -> list[Raw]:
        """Those with a policy."""
        labels: dict[str, Any] = {POLICY: matching.exists()}
        found: list[Raw] = self._ask(
            "listing namespaces with an idle policy",
            lambda client: [*client.list(NAMESPACES, labels=labels, chunk_size=PAGE)],
        )
        return found

    def read(self, run: Run, kind: Kind) -> Raw:
        """As it stands now, not as a watch told some time ago."""
        name, namespace = run.job.name, run.namespace
        found: Raw = self._ask(
            f"reading {run}", lambda client: client.get(kind.resource, name, namespace=namespace)
        )
        if found.get("metadata", {}).get("uid") != run.job.uid:
            raise GoneError(f"{run} was deleted and made again")
        return found

    def annotate(self, run: Run, kind: Kind, facts: IdleFacts | None) -> None:
        self._means.check()
        target = Target(kind, run.job.name, run.job.uid, run.namespace)
        writer = Writer(self._means.hands.server(), MANAGER)
        writer.apply(target, encode_job(JobFacts(idle=facts)))
        self._means.telemetry.writes.labels(run.job.kind, "idle").inc()

    def suspend(self, run: Run, kind: Kind, of: kinds.Kind, version: str) -> None:
        """Exactly what was looked at: whoever changed it meanwhile is heard first.

        No apply, of which the next one, with annotations alone, would take it back.
        """
        patch = {
            "metadata": {"uid": run.job.uid, "resourceVersion": version},
            **suspended(of, on=True),
        }
        self._ask(
            f"suspending {run}",
            lambda client: client.patch(
                kind.resource,
                run.job.name,
                patch,
                namespace=run.namespace,
                patch_type=PatchType.MERGE,
                field_manager=MANAGER,
            ),
        )
        self._means.telemetry.writes.labels(run.job.kind, "suspend").inc()

    def _ask(self, doing: str, question: Callable[[Client], Any]) -> Any:
        self._means.check()
        return self._means.hands.server().ask(doing, question)
