# Debian's smallest system with Python: what `debian:12-slim` is elsewhere.
FROM scratch
ADD rootfs.tar /
