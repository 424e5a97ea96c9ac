"""Pictures of what the reports say, as HTML pages that stand alone.

In come rows and series; out goes one page that opens in any browser without a network. It never
computes a figure that the reports do not have, and it alone imports the plotting library.
"""
