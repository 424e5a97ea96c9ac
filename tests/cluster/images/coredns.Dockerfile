FROM scratch
COPY coredns /coredns
ENTRYPOINT ["/coredns"]
