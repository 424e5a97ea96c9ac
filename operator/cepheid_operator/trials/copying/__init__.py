"""A copy of a user's job, changed in nothing but its placement. Pure.

template     the job as it stands: what it runs, how many, on which GPUs
shape        whether it has the shape that every job has
candidates   which placements the axes, the nodes and the quota allow
builders     the copy: sizing, placing, ranks and selecting are its parts
"""
