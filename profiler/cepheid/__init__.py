"""Cepheid reads the pulse of a GPU cluster and writes what it finds where Kubernetes can see it.

The packages in the order that a measurement travels: `sources` reads it, `analysis` finds its
cycle and its future, `jobs` says whose it is, `annotations` writes it down, `agent` does this
for one node over and over; `history` keeps it, `reports` and `plots` show it, `cli` asks for it.
"""

from importlib import import_module
from typing import Any

__all__ = ["__version__", "last", "profile"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Only who profiles a block waits until what that takes is loaded.

    By name, since all other packages are below this one: what is on every node does not reach it.
    """
    if name in ("last", "profile"):
        return getattr(import_module("cepheid.laptop.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
