"""How fast does a trial go?

readings     what Prometheus or the log says of a trial that runs
queries      a user's PromQL, held to the user's own namespace
loglines     rates from what training loops print
comparing    readings of all trials, in one unit
"""
