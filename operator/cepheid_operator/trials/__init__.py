"""Where does a job run best? Short copies of it are run, measured and compared.

    copying      the user's job, which placements there are, and copies of it for each
    measuring    what a trial that runs does a second, and all of them in one unit
    searching    which placement to try next, for how long, and when to stop
    answering    what to ask for: in figures, in a sentence, as a patch

    decide       (spec, status, observed) -> the next status and what to do: the map of it all
    following    what becomes of a trial's job; fates: how the trial ends; telling: the story
    knowledge    what earlier runs of the job tell

    book         which PlacementTrials there are
    observing    asks the API server and Prometheus for what `decide` wants to know
    driving      carries it out: making jobs, marking the user's one; requests has each request

Pure but for the last three, `measuring.readings` and what of `knowledge` reads profiles.
"""
