"""What `kubectl apply -f manifests/cepheid.yaml` gives a user, and what takes it away again."""
