"""The jobs that are watched for as long as the tests run, and what is said of them."""

import re
import statistics
from typing import Any

from cepheid.annotations.codec import decode_node, decode_pod
from cepheid.annotations.facts import GpuFacts, PodFacts
from tests.cluster.kubectl import Kubectl, Manifest
from tests.e2e.workloads import A100, pod, pod_spec

TRAIN_MIB, HOLD_MIB = 24_576, 8_192
STEP_SECONDS = 60


def watched_pods() -> list[Manifest]:
    """One trains, one holds a GPU and does nothing with it."""
    # The machine's CPU is for others: it feeds its GPU with a tenth of what is usual.
    train = [f"--step-seconds={STEP_SECONDS}", "--duty=0.75", "--cpu-share=0.05"]
    train += [f"--memory-mib={TRAIN_MIB}"]
    hold = ["--pattern=idle", f"--memory-mib={HOLD_MIB}"]
    return [
        pod("train", pod_spec(["--pattern=training", *train], product=A100)),
        pod("hold", pod_spec(hold, product=A100)),
    ]


def true_period(namespace: Kubectl) -> float:
    """What the job itself says that its steps take, on a machine that may be busy."""
    steps = re.findall(r"^step .* ([\d.]+) s/it$", namespace("logs", "train"), flags=re.MULTILINE)
    return statistics.median(map(float, steps))


def annotations(thing: Any) -> dict[str, str]:
    found: dict[str, str] = thing["metadata"].get("annotations", {})
    return found


def pod_said(namespace: Kubectl, name: str) -> PodFacts:
    return decode_pod(annotations(namespace.get("pod", name))).facts


def gpu_said(namespace: Kubectl, name: str) -> GpuFacts:
    """What the node says of the one GPU that the pod says it has; empty where it says nothing."""
    (own,) = pod_said(namespace, name).gpus or (GpuFacts(-1),)
    node = namespace.get("pod", name)["spec"]["nodeName"]
    said = decode_node(annotations(namespace.get("node", node)))
    assert said.ignored == ()
    return next((gpu for gpu in said.facts.gpus if gpu.index == own.index), GpuFacts(-1))
