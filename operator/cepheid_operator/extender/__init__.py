"""Step 7, place: what a stock kube-scheduler asks about a pod with GPUs, answered from memory.

In come annotations of nodes, JobProfiles of earlier runs, and jobs with what trials found out; out
go, for one pod and the nodes that it fits by count, those that it must not get, and a score of each
other. It never writes to a node, pod or job, never asks a server while a scheduler waits, and
whatever goes wrong with it the pod is scheduled as without it.

| module | question |
|---|---|
| needs | what will a pod need that has not started yet? |
| supply | what do the nodes have, now and over the next minutes? |
| views | what of them is the same for every pod? |
| judging | which nodes must it not get, and how good are the others? |
| wording | the same in words, for people |
| runs | which earlier runs are there of its job? |
| index | which of what the watches tell is kept? |
| protocol | how does kube-scheduler ask? |
| answering | one question, one answer, whatever is wrong |
| serving | HTTPS |
| telling | an Event a pod: what was considered |
| telemetry, main | the process |
"""
