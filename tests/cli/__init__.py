"""The commands that look at jobs, as a user runs them: the installed program, in a pipe."""
