"""What `make demo` shows: a cluster, three sample jobs, and what to type next."""

from tests import REPOSITORY
from tests.cluster import lifecycle
from tests.cluster.layout import DEFAULT_NAME, DEFAULT_NODES, Cluster
from tests.cluster.progress import step, wait_for

SAMPLES = REPOSITORY / "tests/samples"
PODS = 5  # a launcher and two workers, a server, a notebook
UTILISATION = "DCGM_FI_DEV_GPU_UTIL"


def demo(name: str) -> str:
    """Brings it all up and returns what a person wants to know then."""
    cluster = lifecycle.up(Cluster.of(name, DEFAULT_NODES))
    kubectl = lifecycle.kubectl(cluster)
    with step("starting the sample jobs"):
        kubectl("apply", "--server-side", f"--filename={SAMPLES / 'namespace.yaml'}")
        there = kubectl.within("demo")
        # Made by a controller, some time after the namespace; until then no pod is admitted.
        wait_for("the default service account", lambda: there.get("serviceaccount", "default"))
        kubectl("apply", "--server-side", f"--filename={SAMPLES}")
        wait_for(
            "the sample jobs' pods run",
            lambda: [p["status"]["phase"] for p in there.items("pods")].count("Running") >= PODS,
        )
    return _what_next(cluster)


def _what_next(cluster: Cluster) -> str:
    name = "" if cluster.name == DEFAULT_NAME else f" NAME={cluster.name}"
    return f"""
{len(cluster.nodes)} nodes are up with simulated GPUs and three jobs in the namespace demo.

  API server   {cluster.api_url}
  Prometheus   {cluster.prometheus_url}
  kubeconfig   {cluster.kubeconfig}

Type next:

  export KUBECONFIG={cluster.kubeconfig} PATH={cluster.programs}:$PATH
  kubectl get nodes --label-columns=nvidia.com/gpu.product,nvidia.com/gpu.count
  kubectl get mpijobs,pods --namespace=demo --output=wide
  curl --silent '{cluster.prometheus_url}/api/v1/query?query={UTILISATION}'
  make down{name}
"""
