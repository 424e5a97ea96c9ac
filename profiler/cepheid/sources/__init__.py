"""Step 1, read: from a metrics server or this machine to series of one common shape.

In come a place to read from and a span of time; out go series with one name, one unit and one
set of labels each, whichever exporter measured them. Names of metrics and of their labels stand
in this package and nowhere else. It never fills a gap, never judges a value, and marks a source
that failed as missing instead of passing on zeros.
"""
