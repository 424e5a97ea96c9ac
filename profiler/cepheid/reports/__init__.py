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
| asked, gpus_held | what was each pod given, and what did it use; how large were its GPUs? |
| verdicts, check | did a job ask for what it used? |
| evidence, backtest | what does a run show of what its job needs; would advice have broken it? |
| advised, rightsize, rightsize_pods, rightsize_gpus | what to ask for next time, how sure is it? |
| patch | how is that applied to the job? |
| stats, prices | what did many jobs do, use and cost? |
| hours, apportion | when did a job run, and whose are its hours: which user's, node's, clock's? |
| usage, heatmap | what did the fleet hold, use and waste, and when in the week? |
| capacity, ahead | how many GPUs will be held, when will they run out, how sure is that? |
| holding, waiting, scene | who held what, who waited for it, and when? |
| shares, contention | what is a fair share, and how long did others wait meanwhile? |
| findings, moving | in which way is somebody a hog, and where could the job go? |
| hogs, hog_words | who holds what others wait for? |
| scale | would more GPUs help? |
| trials, trial_picture, trial_asked | what did a PlacementTrial find, and how is one asked for? |
| comparison | what is really different between two runs? |
"""
