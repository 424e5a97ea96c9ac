"""The manifests, as the tests here read them."""

from pathlib import Path
from typing import Any

import yaml

from tests import REPOSITORY

MANIFESTS = REPOSITORY / "manifests"
INSTALL = MANIFESTS / "cepheid.yaml"
UNINSTALL = MANIFESTS / "uninstall.yaml"
LOGS = MANIFESTS / "trial-logs.yaml"
SCHEDULER = MANIFESTS / "scheduler.yaml"

Object = dict[str, Any]


def objects(path: Path) -> list[Object]:
    return list(yaml.safe_load_all(path.read_text()))


def of_kind(path: Path, kind: str) -> list[Object]:
    return [thing for thing in objects(path) if thing["kind"] == kind]


def only(path: Path, kind: str, name: str | None = None) -> Object:
    (found,) = (one for one in of_kind(path, kind) if name in {None, one["metadata"]["name"]})
    return found


AGENT = only(INSTALL, "DaemonSet")
OPERATOR = only(INSTALL, "Deployment")
JOB = only(UNINSTALL, "Job")
EXTENDER = only(SCHEDULER, "Deployment", "cepheid-extender")
LISTENER = only(SCHEDULER, "Deployment", "cepheid-scheduler")
