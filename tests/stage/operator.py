"""The operator as a process; several of them have a name each."""

from pathlib import Path

from tests.stage.ours import Ours


class Operator(Ours):
    """`settings` are those of `cepheid operator`."""

    def __init__(
        self,
        folder: Path,
        name: str,
        prometheus_url: str,
        kubeconfig: Path,
        settings: dict[str, object] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        super().__init__(
            "operator",
            folder / f"operator-{name}.log",
            kubeconfig,
            {"identity": name, "prometheus_url": prometheus_url, **(settings or {})},
            environment,
        )

    @property
    def acts(self) -> bool:
        return self.running and self.metrics().get("cepheid_operator_acting") == 1
