"""The kube-scheduler of `plugin/`, built from the same modules as the stock one.

Apart from `tests.cluster.binaries`, so that a change of it does not build Kubernetes anew.
"""

import os
from pathlib import Path

from tests.cluster.binaries import ENVIRONMENT, install_go
from tests.cluster.cache import cached
from tests.cluster.progress import run, step

PLUGIN = Path(__file__).with_name("plugin")


def plugin_scheduler() -> Path:
    """Cached, or built now."""
    return cached("plugin-scheduler", [PLUGIN], _build)


def _build(target: Path) -> None:
    go = install_go()
    with step("building a scheduler with a plugin (after Kubernetes it takes about a minute)"):
        env = {**os.environ, **ENVIRONMENT}
        run([go, "build", "-trimpath", "-ldflags=-s -w", "-o", target, "."], cwd=PLUGIN, env=env)
