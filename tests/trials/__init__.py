"""Placement trials on real nodes: a cluster of its own, since they want all of its GPUs.

Its GPUs are measured every two seconds instead of fifteen, so that an iteration of ten
seconds can be seen, and a trial takes a minute or two.
"""
