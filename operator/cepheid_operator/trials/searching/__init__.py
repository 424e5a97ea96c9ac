"""Which placement next, for how long, and when is it enough? Pure.

problem      what there is to try, and what is left of it
race         who may be the best, by draws of the fitted scaling model
worth        how good a throughput is for the goal
search       the next trial, or the end
"""
