"""Step 3, attribute: whose measurement is it?

In come raw Kubernetes objects, as hostile as they may be, and what each pod used; out goes the job
that a pod belongs to, of whatever kind, what that job used as a whole, how it ended, and its
profile. It looks at no clock, asks nobody and writes nothing: times and look-ups are arguments. It
never guesses an owner from the name of a pod, and never splits a shared GPU's value among the pods
that share it.

| module | question |
|---|---|
| kinds | which kinds of jobs are there, and where in them do things stand? (fields) |
| owners | which job does a pod belong to? |
| pods, failures | what of a pod concerns its job? what went wrong with it? |
| usage | what is the most that the job and its workers ever used? |
| ending, verdict | how did it end, and what ended it? |
| lineage, names | of which job is it a run? what is its profile called? |
| measure, lagging | what do its series say? (series) |
| profile, workers, advice | what is kept of it, and what is worth knowing? |
| compare | is it worse than the earlier runs? |
| scaling, rates | would twice the GPUs help? what did each run do a second? |
| gpu_names | what do people call a GPU model? |
"""
