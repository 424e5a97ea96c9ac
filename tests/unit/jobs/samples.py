"""Jobs as they stand in clusters, a file each: raw objects, and what is to be said of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

from cepheid.jobs.pods import PodState, pod_state
from tests import REPOSITORY

OBJECTS = REPOSITORY / "tests/unit/jobs/objects"


@dataclass(frozen=True)
class Sample:
    name: str
    job: Mapping[str, Any]
    raw_pods: list[Mapping[str, Any]]
    deleted: datetime | None
    expected: Mapping[str, Any]

    @property
    def pods(self) -> list[PodState]:
        found = [pod_state(pod) for pod in self.raw_pods]
        return [pod for pod in found if pod is not None]


def at(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def load(name: str) -> Sample:
    document = yaml.safe_load((OBJECTS / f"{name}.yaml").read_text())
    return Sample(
        name,
        document["job"],
        document["pods"],
        at(document.get("deleted")),
        document["expected"],
    )


NAMES = sorted(path.stem for path in OBJECTS.glob("*.yaml"))
