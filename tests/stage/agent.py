"""The agent as a process."""

from pathlib import Path

from cepheid.annotations.codec import name_part
from tests.stage.ours import Ours


class Agent(Ours):
    """`settings` are those of `cepheid agent`."""

    def __init__(
        self,
        folder: Path,
        node: str,
        prometheus_url: str,
        kubeconfig: Path,
        settings: dict[str, object] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        super().__init__(
            "agent",
            folder / f"agent-{name_part(node)}.log",
            kubeconfig,
            {"node_name": node, "prometheus_url": prometheus_url, **(settings or {})},
            environment,
        )
