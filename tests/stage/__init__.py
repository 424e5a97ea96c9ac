"""The smallest real surroundings of an agent, or of the operator, on loopback.

That is etcd, kube-apiserver and Prometheus.

The agent talks to nothing but an API server and a Prometheus. So what it does when one of them
dies, hangs, forgets or lies needs no kubelet, no container and no root: three processes that start
within seconds, and can be killed without asking a cluster. What a cluster alone can show, that the
manifests run and that real kubelets are read, is in tests/e2e.

Read in this order:

    levels           what changes with time, with its integral
    world            nodes, GPUs and pods, for tests to change while all runs
    dcgm, cadvisor   the world as pages of metrics
    exporters        serves them
    processes        a daemon: started, stopped, killed, frozen
    prometheus       scrapes the pages as the product's prometheus.yaml does
    etcd, api_server Nodes, Pods, rights and policies
    kwok, postgres   nodes without machines; a database
    ours             a process of ours; agent, operator: those that there are
    surroundings     all of them together
"""
