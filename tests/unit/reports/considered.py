"""A pod, and what was considered for it, as tests want them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from cepheid.reports.why_node_events import PodSeen
from cepheid.whynode import (
    COMPONENT,
    KEY,
    REASON,
    SOURCE,
    Considered,
    Expected,
    LeftOut,
    Scored,
    to_text,
)

NOW = datetime(2026, 3, 1, 10, 41, tzinfo=UTC)
A100, T4 = "NVIDIA-A100-SXM4-80GB", "Tesla-T4"
POD = PodSeen(
    namespace="research",
    name="train-0",
    uid="0f2b8c1e",
    gpus=1,
    node="gpu-a",
    phase="Running",
    created=NOW - timedelta(minutes=9),
    scheduled=NOW - timedelta(minutes=8),
)
FULL = "no room on its GPUs: its job is known to need 12.4 GB, foretold to be free is less"
PARTS = {"type": 1.0, "fit": 0.16, "free": 0.91, "apart": 1.0, "pack": 0.75, "sound": 1.0}
# Its scores are those that the extender makes of such parts, which a test says too.
CONSIDERED = Considered(
    at=NOW - timedelta(minutes=8),
    expected=Expected(
        gpus=1,
        job="research/bert",
        runs=5,
        memory_gb=12.4,
        seconds=540.0,
        speeds={T4: 0.21, A100: 1.0},
    ),
    nodes=4,
    left_out=1,
    node="gpu-a",
    best=(
        Scored(node="gpu-a", score=10, parts=PARTS),
        Scored(node="gpu-b", score=4, parts=PARTS | {"free": 0.81, "apart": 0.67}),
        Scored(node="gpu-d", score=0, parts=PARTS | {"type": 0.21, "fit": 0.96, "pack": 1.0}),
    ),
    out=(LeftOut(node="gpu-c", why=FULL),),
)


def event(text: str | None = None, *, seconds: int = 0, **changed: Any) -> dict[str, Any]:
    """About POD, so many seconds before NOW."""
    created = (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    return {
        "metadata": {
            "creationTimestamp": created,
            "annotations": {KEY: to_text(CONSIDERED) if text is None else text},
        },
        "involvedObject": {"uid": POD.uid},
        "reason": REASON,
        "reportingComponent": COMPONENT,
        "source": {"component": SOURCE},
    } | changed
