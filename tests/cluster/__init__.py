"""A real Kubernetes on one small machine, for the tests and for `make demo`.

In:  the pinned versions in `versions/`, a cluster's name and its nodes.
Out: etcd, the control plane and N real nodes (kubelet, containerd, kube-proxy), each in its
     own namespaces, with CoreDNS, the training operator, Prometheus and simulated GPUs.
Never: a process, mount, interface, cgroup or file that `down` cannot find again by the
     cluster's name alone.

In the order in which a cluster comes up: `binaries`, `prometheus_ui`, `rootfs`, `images` and
`imagestore` fill the `cache`; `layout` says where things are; `cgroups`, `machine` and `network`
make machines out of namespaces; `pki`, `control_plane` and `node` put Kubernetes on them; `addons`
is all that is applied with `kubectl`, here or on a cluster that exists already; `lifecycle` is up
and down, `demo` what `make demo` adds; `progress` tells of it all. Apart from that order: `wheels`
and `checkers` fill the cache too, for the agent's image and for the tests of manifests; `rendered`
writes the manifests that are made from parts.
"""
