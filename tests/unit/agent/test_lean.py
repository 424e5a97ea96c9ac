"""What the agent on every node does not load."""

import subprocess
import sys

PROGRAM = """
import sys
from cepheid.agent.lean import NEEDLESS, leave_out
leave_out()
import cepheid.agent.main
never = (*NEEDLESS, "typer", "rich", "pydantic", "pandas")
loaded = [name for name in never if sys.modules.get(name)]
sys.exit(f"loaded: {loaded}" if loaded else 0)
"""


def test_the_agent_loads_nothing_that_it_never_uses_and_says_nothing_of_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
