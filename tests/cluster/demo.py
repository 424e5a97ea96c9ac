"""What `make demo` shows: a cluster with Cepheid, three sample jobs, and what it says of them."""

from contextlib import suppress

from tests import REPOSITORY
from tests.cluster import lifecycle
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import DEFAULT_NAME, DEFAULT_NODES, Cluster
from tests.cluster.progress import step, wait_for

SAMPLES = REPOSITORY / "tests/samples"
PODS = 5  # a launcher and two workers, a server, a notebook
RUN_SECONDS = 300  # where other clusters start on the same machine
UTILISATION = "DCGM_FI_DEV_GPU_UTIL"
DOMAIN = "ai.centaurus.io/"
SEEN_SECONDS = 900  # a job type takes five minutes, a period is seen after four of its own


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
            RUN_SECONDS,
        )
    said = _what_next(cluster)
    wait = "waiting for Cepheid to see what they do: some six minutes, Ctrl-C ends the wait"
    with suppress(KeyboardInterrupt), step(wait):
        wait_for("what they do", lambda: _is_seen(kubectl), SEEN_SECONDS, 5)
    nodes = "".join(_described(kubectl, node.name) for node in cluster.nodes)
    profiles = there("get", "jobprofiles")
    return f"{said}\n{nodes}$ kubectl get jobprofiles --namespace=demo\n{profiles}"


def _is_seen(kubectl: Kubectl) -> bool:
    """What the training and the notebook are, and how often the training repeats."""
    nodes = [node["metadata"].get("annotations", {}) for node in kubectl.items("nodes")]
    said = [pair for annotations in nodes for pair in annotations.items()]
    repeats = any(key.endswith("-cycle") for key, _ in said)
    return repeats and {"training", "idle"} <= {text for _, text in said}


def _described(kubectl: Kubectl, node: str) -> str:
    """As the command shows it that people would type."""
    lines = [
        line.removeprefix("Annotations:").strip()
        for line in kubectl("describe", "node", node).splitlines()
        if DOMAIN in line
    ]
    return "\n".join([f"$ kubectl describe node {node} | grep ai.centaurus.io", *lines, ""])


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
