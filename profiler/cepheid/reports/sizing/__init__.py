"""Did a job ask for what it used, and what should it ask for next time?

| module | question |
|---|---|
| asked, gpus_held | what was each pod given, and what did it use; how large were its GPUs? |
| verdicts, check | did a job ask for what it used? |
| evidence, backtest | what does a run show of what its job needs; would advice have broken it? |
| advised, pods, gpus, rightsize | what to ask for next time, and how sure is it? |
| patch | how is that applied to the job? |
"""
