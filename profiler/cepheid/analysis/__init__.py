"""Step 2, analyse: arrays in, facts out.

In come arrays of numbers on a time grid, with NaN where nothing was measured; out go facts: the
period and how strong it is, the forecast and how wrong it was when tried on the past, the type
of the job, what holds it back. It never looks at a clock, reads or writes nothing, and answers
"not known" rather than guess.
"""
