"""Doctor and uninstall on a real API server and a real Prometheus: broken, told, cured."""
