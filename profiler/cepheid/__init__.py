"""Cepheid reads the pulse of a GPU cluster and writes what it finds where Kubernetes can see it.

The packages in the order that a measurement travels: `sources` reads it, `analysis` finds its
cycle and its future, `jobs` says whose it is, `annotations` writes it down, `agent` does this
for one node over and over; `history` keeps it, `reports` and `plots` show it, `cli` asks for it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cepheid.laptop.api import last as last
    from cepheid.laptop.api import profile as profile

__all__ = ["__version__", "last", "profile"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Only who profiles a block waits until what that takes is loaded."""
    if name in ("last", "profile"):
        from cepheid.laptop import api  # noqa: PLC0415

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
