"""Who holds what others wait for?

| module | question |
|---|---|
| holding, waiting, rows, scene | who held what, who waited for it, and when? |
| shares, overlap | what is a fair share, and how long did others wait meanwhile? |
| findings, moving | in which way is somebody a hog, and where could the job go? |
| hogs, wording | who is one, and how is it said? |
"""
