"""Which kinds of pages there are. On its own, so that the command line knows them at once."""

from enum import StrEnum


class Kind(StrEnum):
    ALL = "all"
    TIMELINE = "timeline"
    OVERLAY = "overlay"
    SUMMARY = "summary"
    WATERFALL = "waterfall"
