"""`make bench-scheduler`: what is the extender worth, on jobs drawn as published traces have them?

    models      how fast known models are on known GPUs, as others measured it
    programs    what is run
    jobs        the jobs of a trace: lengths, GPUs, memory, cycles, who comes again
    nodes       the machines of a cluster
    families    which jobs come to which cluster
    cluster     who holds what on which node
    physics     how fast a job truly runs where and beside whom; by other formulas than needs.py
    sight       what Cepheid would see of it: earlier runs and annotations, late and not quite right
    policies    the default scheduler, bin packing, and the default one with our extender
    simulation  the same jobs under one of them, from the first submission to the last end
    scores      one family under all policies
    figures     the same as text; pure

Figures, not verdicts. `docs/scheduling-worth.md` says where each number comes from.
"""
