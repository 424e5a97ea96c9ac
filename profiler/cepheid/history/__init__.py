"""Step 5, keep: what every job used, after its pods are gone.

In come profiles of finished jobs; out go the same profiles when somebody asks, from objects in
the cluster or from a database, behind one interface. It never alters a profile that it keeps,
and shows nobody more than the place where it is kept would.
"""
