"""Recordings, what is made of them, and what is said of it."""
