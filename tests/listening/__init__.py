"""A scheduler that listens, on real nodes: from what a job used to where its next run goes."""
