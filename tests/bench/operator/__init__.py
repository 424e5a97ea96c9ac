"""`make bench-operator`: what a thousand jobs cost the operator, and how soon it tells of an end.

    jobs      the jobs and their pods, and what agents say of them; pure
    crowd     many requests to the API server, from several threads
    filled    a real API server, kwok and Prometheus with all of them in it; agents that write
    measure   the operator beside them: started, in the steady state, when a fifth ends at once
    audit     what it asked of the API server, by the API server's own record
    figures   the same as text; pure

Figures, not verdicts. CPU is the kernel's count of the operator's CPU time: others may use the
machine at the same time.
"""
