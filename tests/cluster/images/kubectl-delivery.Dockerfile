# The init container of an MPIJob's launcher: brings kubectl, which starts the ranks on the
# workers by `kubectl exec`, and waits until all of them can be reached.
ARG BASE=debian:12-slim
FROM ${BASE}
COPY kubectl /bin/kubectl
COPY kubectl-delivery /bin/kubectl-delivery
USER 65532:65532
ENTRYPOINT ["/bin/kubectl-delivery"]
