"""Cepheid reads the pulse of a GPU cluster and writes what it finds where Kubernetes can see it.

The packages in the order that a measurement travels: `sources` reads it, `analysis` finds its
cycle and its future, `jobs` says whose it is, `annotations` writes it down, `agent` does this
for one node over and over; `history` keeps it, `reports` and `plots` show it, `cli` asks for it.
"""

__version__ = "0.1.0"
