"""What can go wrong around an agent, put in on purpose, on real parts.

An agent writes to its Node and Pods, then something fails, then it works again. In every test the
same must hold, and `watch` sees to it: nothing that stood there is lost, nothing made up, the
process lives on and calls itself healthy, and its log says once what happened and once that it is
over.

    watch                   an agent, and what must hold around every fault
    test_prometheus_faults  what it reads from is away, slow, empty, wrong or much too large
    test_api_server_faults  what it writes to is away, busy, or knows it no more
    test_object_faults      an object is gone, another one, too full, or of a long name
    test_gpu_faults         a GPU or its exporter goes, comes, or is another one
    test_labels             what is measured has labels and values that nobody can mean
    test_clocks             the node's clock is a minute off
    test_process            it starts, stops and is killed in the middle
"""
