"""What a shell offers after a tab: the names of the laptop's latest jobs."""

LATEST = 200


def names(incomplete: str) -> list[str]:
    """Of this machine's own history; nothing where there is none, or it cannot be read."""
    from pathlib import Path

    from cepheid.cli.places import own_history
    from cepheid.errors import CepheidError
    from cepheid.history.glance import newest
    from cepheid.history.query import EVERY_JOB
    from cepheid.reports.plain import plain

    try:
        found = newest(Path(own_history()), EVERY_JOB, LATEST) or []
    except CepheidError:
        return []
    unique = dict.fromkeys(one.job.name for one in found)
    return [name for name in unique if name.startswith(incomplete) and name == plain(name)]
