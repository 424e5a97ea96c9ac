"""What can go wrong around placement trials, put in on purpose, on real parts.

Real etcd, API server, controllers, scheduler and Prometheus, and our operator as a process. Nodes
are kwok's, and what kubelets and GPUs do is played (tests/stage/trainers). Whatever happens, the
same must hold: nothing is tried twice, nothing measured is lost, the budget is kept, and nothing of
the trials is left.

Most of a trial is waiting. So everything that can begin at once does: a team each, with a namespace
and nodes of its own, before the first test looks (`begins`).
"""
