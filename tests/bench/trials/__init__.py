"""`make bench-trials`: how good is the search for a placement, and what does it spend?

    truth     jobs whose throughput is known everywhere, by other formulas than the fitted model's
    trying    a trial of one of them: how long it takes, what is measured and how wrong
    play      a search from its first trial to its answer; a plain grid; random search
    scores    one job, searched in all of these ways
    figures   the same as text; pure

Figures, not verdicts: only a budget that was exceeded ends it.
"""
