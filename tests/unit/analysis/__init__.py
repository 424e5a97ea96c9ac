"""Pure code on arrays: simulated jobs in, verdicts out."""
