"""Step 6, report: rows in, rows out.

In come profiles and live facts as rows; out go the rows of an answer: what happened to a job, what
many of them cost, what differs between two runs, what to ask for next time. It never fetches, never
prints, and says "no data" where there is none.

| module | question |
|---|---|
| plain | what of a text may reach a terminal, and how wide is it there? |
| words | how is a figure said to people? |
| in_short | what is said when a run is over? |
| listing | what is a job as a row? |
| sparks | what does a time series look like in a dozen characters? |
| story | what happened, in plain words? |
| figures | what did it use, of how much? |
| nexttime | which line of the command, or of the YAML, should be another one? |
| sizing | did a job ask for what it used, and what should it ask for next time? |
| stats, prices | what did many jobs do, use and cost? |
| fleet_use | what did the fleet hold, use and waste, and what will it? |
| contention | who holds what others wait for? |
| fleet, top | who holds which GPU now, and what do nodes, GPUs and jobs do? |
| scale | would more GPUs help? |
| trials, trial_picture, trial_asked | what did a PlacementTrial find, and how is one asked for? |
| why_node, why_node_events | why did a pod get its node, or none, and who says so? |
| comparison | what is really different between two runs? |
"""
