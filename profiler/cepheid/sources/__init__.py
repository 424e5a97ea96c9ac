"""Step 1, read: from a metrics server or this machine to series of one common shape.

In come a place to read from and a moment; out go GPUs, pods and the node, each with samples under
one name and one unit, whichever exporter measured them. Names of metrics and of their labels stand
in this package and nowhere else. It never fills a gap, never judges a value, and marks a source
that failed as missing instead of passing on zeros.

    catalog      every metric that is read, as a table
    access       how to reach Prometheus: address, credentials, limits
    prometheus   asks one question, within limits;   answer    reads what came back
    selection    which series are this node's: the PromQL
    dcgm, amd    labels to a GPU and its holder;     devices   the GPUs, from their series
    cadvisor     labels to a pod or the node, and these from their series
    window       the last hour, in memory
    reader       all of it: `NodeReader.read`;       reading   what it gives

Samples stay as they were scraped. Putting them on a time grid is the analysis's work, and who
calls both hands that in: see `reading.Gridder`.
"""
