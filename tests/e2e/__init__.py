"""Tests on a real cluster: our own, or with `make e2e KUBECONFIG=...` one that exists already."""
