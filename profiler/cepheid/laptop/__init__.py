"""The same profile without a cluster: one command or a piece of a program, sampled and kept.

In comes a command, or a block of Python; out go its own result, untouched, and a JobProfile in the
history. While something is sampled nothing heavy is loaded: samples go to a recording on the disk,
and are analysed when it is over, so that a kill at any moment loses nothing that was seen.

Read in this order:

    settings   what can be set, and where files are
    command    how a command is run so that it notices nothing of us
    sampling   the thread that takes a sample every so often
    recording  the file that it goes to, and how that outlives whoever writes it
    recorder   a tree of processes, sampled into a recording
    runs       one command from its start to its recording;  naming: what it is called
    gridding   a recording on a regular grid                 (from here on numpy is loaded)
    limits     what held it back
    words      verdict and advice, for who typed the command
    composing  all of it as the profile of a job
    keeping    into the history, now or by the next command; what is broken, old or too much
    log        what of this is said to a file
    api        the same for a block of a Python program:  `cepheid.profile`
    pytest_plugin    `pytest --cepheid`
"""
