"""Is a cluster's Cepheid well, and what of it is there?

In come questions to an API server and a Prometheus, answered with whatever rights the asker has;
out go findings, each with its remedy and a command to type (`diagnosis`), and the list of what an
uninstall takes away (`belongings`). `gathering` asks, `facts` is what was seen, and the rules on it
are pure, an area a module. It never changes a cluster, but for `removing`, which deletes what
`belongings` listed.
"""
