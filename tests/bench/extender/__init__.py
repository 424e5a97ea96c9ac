"""`make bench-extender`: what the extender costs, and what a kube-scheduler loses by asking it.

    fleet       nodes, jobs with earlier runs, pods, and a scheduler's questions; pure
    filled      a real API server and kwok with all of them in it; agents and kubelets that write
    load        questions at an even pace over HTTPS, from a process of its own
    constant    a server that only answers, for comparison
    scheduling  a real kube-scheduler with the extender, and one without it
    measure     all of it, one after the other
    figures     the same as text; pure

Figures, not verdicts. Others may use the machine at the same time, and slow down both the extender
and what it is compared with.
"""
