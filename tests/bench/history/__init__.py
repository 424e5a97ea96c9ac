"""`make bench-history`: what 100,000 jobs cost, in SQLite and in a real PostgreSQL.

    jobs      profiles as a busy cluster would leave them, the same in every run
    measure   a history is filled and asked
    figures   the same as text; pure

Figures, not verdicts. CPU is the kernel's count of CPU time, of this process and of the server's:
others may use the machine at the same time.
"""
