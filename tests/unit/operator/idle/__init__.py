"""The idle policy: what is decided, and on what grounds."""
