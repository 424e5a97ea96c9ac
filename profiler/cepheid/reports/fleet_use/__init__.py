"""What did the fleet hold, use and waste, and what will it?

| module | question |
|---|---|
| hours, apportion | when did a job run, and whose are its hours: which user's, node's, clock's? |
| usage, heatmap | what was held, used and wasted, by whom, and when in the week? |
| capacity, ahead | how many GPUs will be held, when will they run out, how sure is that? |
"""
