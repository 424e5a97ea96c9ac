"""Pictures of what the reports say, as HTML pages that stand alone.

In come profiles and series; out goes one page each that opens in any browser without a network. It
never computes a figure that the reports do not have, and it alone imports the plotting library.

Read in this order:

    wording    names that anybody may have given, as a page may show them
    palette    colours that stay apart for every eye, by day and by night
    scale      in which unit a number reads best
    panels     which measurements share a picture: a table
    course     one line over time, its gaps, and fewer points where a screen cannot show them all
    subject    a job with what was kept of it
    marks      where each cycle begins
    ahead      what may come after the end
    chart      one picture as the plotting library wants it
    lines      which lines are in a panel
    timeline   a job's resources over time; bars: the same where only the summary was kept
    overlay    several jobs, begun at the same moment
    summary    many jobs at a glance
    waterfall  what ran when: the tasks of a workflow, the workers of a job
    trial      how fast a job was, or would be, on each placement
    heading    what stands above the pictures: the answer, before the figures
    page       the HTML around them; page.css, page.js
    kinds      which kinds of pages there are
    album      which pages there are of these jobs, and their files
"""
