"""`pytest --cepheid`: the slowest and the hungriest tests of a run."""
