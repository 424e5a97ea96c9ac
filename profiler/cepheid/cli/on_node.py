"""`cepheid agent` without a flag: the settings are variables, and no parser is loaded."""

import os

from cepheid.agent.lean import leave_out
from cepheid.cli.report import report
from cepheid.errors import CepheidError
from cepheid.settings import AgentSettings, read


def run_agent() -> int:
    try:
        settings = read(AgentSettings, {}, os.environ)
        leave_out()
        from cepheid.agent.main import run

        run(settings)
    except CepheidError as error:
        return report(error)
    return 0
