"""`cepheid run` and the Python API as people use them: real commands, whose truth is known."""
