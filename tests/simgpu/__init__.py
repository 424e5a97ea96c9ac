"""A GPU made of a file: the one simulated part of the test cluster.

Comes in: what workloads write to their device's file (`device_file`), and the hardware that a
node is told to have (`inventory`). Goes out: devices to the kubelet over its own gRPC socket
(`device_plugin`) and dcgm-exporter's text over HTTP (`exporter`), with the pod labels that the
kubelet's pod-resources API gives.

    workload (patterns -> runner) -> device_file -> meter -> fields -> exposition -> exporter

It never imports Cepheid, nor does Cepheid import it: Cepheid must not know that the silicon is
not real. In the image this folder is the top-level package `simgpu`, hence relative imports.
"""
