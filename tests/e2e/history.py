"""A real PostgreSQL beside the cluster, and an operator that archives there."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests import REPOSITORY
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import Cluster
from tests.cluster.progress import run
from tests.stage.postgres import Postgres

SECRET = "cepheid-history"  # noqa: S105 - the name of one
PATCH = REPOSITORY / "manifests/history-patch.yaml"
DEPLOYMENT = "deployment/cepheid-operator"


@contextmanager
def postgres_beside(cluster: Cluster) -> Iterator[Postgres]:
    """On the host's own wire to the cluster, which pods reach and nobody else."""
    for node in cluster.nodes:
        address = str(cluster.node_address(node))
        run(["ip", "route", "replace", str(node.pod_network), "via", address])
    networks = [str(cluster.network), *(str(node.pod_network) for node in cluster.nodes)]
    with Postgres(str(cluster.host_address), networks) as postgres:
        yield postgres


def archive_to(kubectl: Kubectl, url: str) -> None:
    """As manifests/README.md says: the address in a Secret, mounted as a file."""
    there = kubectl.within("cepheid")
    there.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET},
            "stringData": {"url": url},
        }
    )
    there("patch", DEPLOYMENT, f"--patch-file={PATCH}")
    there("rollout", "status", DEPLOYMENT, "--timeout=170s")
