"""What should be asked for, and why? Pure.

figures      how good a placement is, by each goal
choice       which one, of those that are equal within the error
sentence     the recommendation in words
patch        the job, placed like that
answer       all of it, as the status has it
"""
