"""The operator: one for a cluster, where `cepheid.agent` is one for every node.

In come our own custom resources and the jobs of the cluster; out go annotations on those jobs,
kept profiles of finished ones, and trial runs that somebody asked for. It never changes the spec
of a job that is not its own trial, and leaves no finalizer on an object that is not its own.
"""
