# The path is the one that the operator's own manifests start.
FROM scratch
COPY training-operator /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
