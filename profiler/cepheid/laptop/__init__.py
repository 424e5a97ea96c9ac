"""The same profile without a cluster: one command or a piece of a program, sampled and kept.

In comes a command, or a block of Python; out go its own result, untouched, and a JobProfile in the
history. While something is sampled nothing heavy is loaded: samples go to a recording on the disk,
and are analysed when it is over, so that a kill at any moment loses nothing that was seen.
"""
