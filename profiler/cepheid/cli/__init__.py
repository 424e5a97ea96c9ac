"""The `cepheid` command, one file for each of its commands.

In come the arguments that somebody typed; out go data on stdout, talk on stderr and an exit code.
It never computes what another package could answer, and it never imports a heavy library before
the command that needs it runs.
"""

import sys


def main() -> int:
    """The entry point of the `cepheid` script, which exits with what this returns."""
    if sys.argv[1:] == ["agent"]:
        # As in every pod of the DaemonSet: all settings are variables, there is nothing to parse,
        # and what parses would cost 7 MiB on every node.
        from cepheid.cli.on_node import run_agent

        return run_agent()
    if sys.argv[1:2] == ["run"] and sys.argv[2:3] not in (["--help"], []):
        # It shares the machine with what it measures: nothing is loaded that can wait.
        from cepheid.cli.run import main as run_command

        return run_command(sys.argv[2:])
    from cepheid.cli.app import app, run

    return run(app, sys.argv[1:])
