"""Reading: real answers of a real Prometheus, and every way in which there may be none."""
