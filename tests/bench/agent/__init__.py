"""`make bench-agent`: what one agent costs, and how soon it tells, between real servers.

    loads     the nodes that are measured: steady, changing, with jobs that come and go
    hour      an hour of passes against a real Prometheus and API server, without waiting for it
    live      real agents in real time: memory, CPU, bytes, and how soon a new job is annotated
    cluster   what a thousand agents would ask of both servers: measured on some, scaled on paper
    figures   the same as text; pure

Figures, not verdicts. CPU is the kernel's count of CPU time, of a process or of one thread: others
may use the machine at the same time.
"""
