"""The house itself: what is installed, what imports what, what is pinned."""
