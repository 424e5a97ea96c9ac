"""The idle policy: a job that holds GPUs and does not use them is told so, and suspended later.

Only in a namespace that says so with a label, which the API server itself holds us to; never
anything but `suspend`, which people take back with one command. Read in this order:

    terms      what the namespace wants, and for how long
    use        when the GPUs of a job were last in use, as far as that is known
    keeping    until when somebody wants it kept
    deciding   what to do next; pure
    telling    in which words
    requests   what is asked of the API server
    driving    looks at each job when it is due, and carries out what was decided
"""
