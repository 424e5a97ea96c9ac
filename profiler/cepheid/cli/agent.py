"""`cepheid agent`: the profiler of one node, in a pod of the DaemonSet."""

import os
from typing import Any

from cepheid.cli.flags import takes
from cepheid.settings import AgentSettings, read


@takes(AgentSettings)
def agent(**given: Any) -> None:
    """Profile this node, again and again, and annotate it.

    Reads Prometheus, analyses, annotates the Node and its Pods. Runs until SIGTERM. Every option
    can also be given as a variable: --node-name as CEPHEID_NODE_NAME.
    """
    settings = read(AgentSettings, given, os.environ)
    from cepheid.agent.main import run

    run(settings)
