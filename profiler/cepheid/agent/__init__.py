"""The agent: steps 1, 2 and 4 for one node, over and over.

In come the settings of one process; out go the annotations of that process's own Node and of the
Pods on it, and metrics about itself. It never writes to another node, and one GPU or pod that
fails never stops the rest.
"""
