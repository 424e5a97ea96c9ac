"""What the reports cost: each command as a process of its own, on a history and on a cluster.

history   10,000 jobs of 200 users, in SQLite
crowd     1,000 nodes of kwok with 8 GPUs each, all annotated, and a pod on each
measure   CPU, memory and requests of each command there
figures   the table
"""
