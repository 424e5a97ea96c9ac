"""Every panel of every dashboard has something to show on the real Prometheus."""

from functools import partial
from pathlib import Path
from string import Template

import pytest

from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for
from tests.e2e.prometheus import Prometheus
from tests.unit.prometheus.dashboards import FILES, questions

SEEN_SECONDS = 900
"""An hour's jobs are counted from the first that ends; a GPU is idle after ten minutes."""


@pytest.mark.patient
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_question_of_a_dashboard_is_answered(
    file: Path, watched: Kubectl, prometheus: Prometheus
) -> None:
    chosen = {
        "node": watched.get("pod", "train")["spec"]["nodeName"],
        "namespace": watched.namespace,
        "pod": "train|hold",
    }
    for question in questions(file):
        asked = Template(question.expression).substitute(chosen)
        wait_for(f"{question.panel}: {asked}", partial(prometheus.query, asked), SEEN_SECONDS, 5)
