# Prometheus under the paths of the upstream image, which it stands in for.
FROM scratch
COPY prometheus /bin/prometheus
# Built without its pages inside, it serves those below a working directory of this name.
COPY static /ui/static
WORKDIR /ui
USER 65534:65534
ENTRYPOINT ["/bin/prometheus"]
