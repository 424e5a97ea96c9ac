"""The stage of the fault tests: whether it holds what it promises."""
