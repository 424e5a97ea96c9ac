"""What libraries load beside themselves and the agent never uses: not loaded, on any node.

`requests` guesses the encoding of texts with charset_normalizer, and the agent reads bytes;
`httpcore2` speaks HTTP/2 with h2 where it is asked to, and nobody asks. Both go without. Measured:
4 MiB of the 66 that an agent took.
"""

import sys
import warnings

NEEDLESS = ("charset_normalizer", "chardet", "h2")


def leave_out() -> None:
    """Before the first import of any of them; a None there makes an import fail."""
    for name in NEEDLESS:
        if name not in sys.modules:
            sys.modules[name] = None  # type: ignore[assignment] # as the import system has it
    # What it says of that while it is imported.
    warnings.filterwarnings("ignore", message="Unable to find acceptable character detection")
