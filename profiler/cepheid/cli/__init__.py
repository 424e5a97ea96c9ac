"""The `cepheid` command, one file for each of its commands.

In come the arguments that somebody typed; out go data on stdout, talk on stderr and an exit code.
It never computes what another package could answer, and it never imports a heavy library before
the command that needs it runs.
"""

from cepheid.cli.app import main

__all__ = ["main"]
