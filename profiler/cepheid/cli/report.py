"""What goes wrong, in two lines on stderr, and the exit code of the process."""

import sys

from cepheid.errors import CepheidError


def report(error: CepheidError) -> int:
    sys.stderr.write(f"error: {error}\n")
    return error.exit_code
