"""Which kinds of jobs does this cluster have?"""

from cepheid.annotations import discovery
from cepheid.annotations.api import ApiServer
from cepheid.annotations.codec import DOMAIN
from cepheid.annotations.discovery import Served
from cepheid.jobs.kinds import KINDS, POD
from cepheid.jobs.owners import BETWEEN
from cepheid_operator.api import VERSION

__all__ = ["PODS", "TRIALS", "WATCHED", "Served", "discover"]

WATCHED = frozenset(BETWEEN | {key for key in KINDS if key != (POD.group, POD.name)})
"""Group and name of what owns pods, directly or not."""
PODS = Served("", "v1", "Pod", "pods")
TRIALS = Served(DOMAIN, VERSION, "PlacementTrial", "placementtrials")


def discover(server: ApiServer) -> list[Served]:
    """Of the kinds that we know, those that this cluster serves; pods not among them."""
    return discovery.discover(server, WATCHED)
