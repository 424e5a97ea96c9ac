"""Tests of one part at a time; none of them needs a cluster or a network."""
