"""Step 6, report: rows in, rows out.

In come profiles and live facts as rows; out go the rows of an answer: what was asked for against
what was used, what to ask for next time, who hogs, how a job scales. It never fetches, never
prints, and says "no data" where there is none.
"""
