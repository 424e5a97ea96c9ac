"""How right, how wrong and how fast the analysis is, beside what a user would pick instead."""
