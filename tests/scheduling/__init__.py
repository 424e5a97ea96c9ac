"""The extender and a real kube-scheduler on nodes of kwok: who gets which node, and what fails."""
