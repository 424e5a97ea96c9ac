"""What `kubectl apply -f prometheus/prometheus.yaml` gives a user."""
