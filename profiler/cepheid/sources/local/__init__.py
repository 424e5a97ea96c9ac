"""Step 1 without a cluster: what one machine can tell of a command and of itself.

In come process ids; out goes, sample by sample, one number a column. Names and units of columns
stand in `catalog` and nowhere else. It never computes a rate (counters are passed on as they are,
so that a missed sample loses nothing), never keeps a sample, and what was not measured is NaN.

    catalog       every column, as a table
    processes     the tree of a command's processes; what those that are gone had used
    procfs        one process, from Linux' /proc;     portable   from psutil, elsewhere
    files         how the kernel's are read;          kept       those that stay open
    disk          what the tree read and wrote;       private    what it shares with nobody
    machine       cores, memory, CPU time of all;     network    its interfaces
    cgroup        limits and use of the container;    container  whose it is, from its path
    energy        RAPL: what the CPUs draw
    gpus          all GPUs, numbered;                 nvidia, amd, intel    each by its own means
    drm           which GPU memory is the tree's, where the driver says so
    collectors    all of it: `Collectors.read`;       facts      what does not change meanwhile

While a command runs this shares its machine: only the standard library is loaded, NVIDIA's binding
where their driver is, psutil where there is no /proc. Roots of /proc and /sys are arguments.
"""
