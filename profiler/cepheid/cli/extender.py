"""`cepheid extender`: tells a kube-scheduler which nodes suit a pod, in a pod of its Deployment."""

from typing import Any

from cepheid.cli.flags import takes
from cepheid.cli.operator import run_of_operator
from cepheid.settings import ExtenderSettings


@takes(ExtenderSettings)
def extender(**given: Any) -> None:
    """Answer a kube-scheduler which nodes suit a pod with GPUs.

    Answers `filter` and `prioritize` of a scheduler that is configured for it, until SIGTERM; it
    writes nothing but Events. Every option can also be given as a variable: --serve as
    CEPHEID_SERVE.
    """
    run_of_operator("cepheid_operator.extender.main", ExtenderSettings, given)
