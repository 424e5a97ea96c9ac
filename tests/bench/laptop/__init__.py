"""What `cepheid run` costs and how right it is, beside what a user would pick instead.

    tools     cepheid, /usr/bin/time -v, psrecord, memory_profiler: how each is called and read
    measure   one workload under each of them; sizes; the start of a command
    figures   the table

Workloads are those of tests/laptop, which know their truth.
"""
