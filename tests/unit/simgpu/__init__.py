"""The simulated GPU: silicon, device file, plugin, exporter, workload."""
