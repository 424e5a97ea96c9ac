"""The files that users apply and nobody edits: rendered from parts, committed, checked."""

import textwrap
from pathlib import Path

import yaml

from cepheid_operator.api import job_profile_definition, placement_trial_definition
from tests import REPOSITORY
from tests.cluster.binaries import binaries
from tests.cluster.progress import ClusterError, run

CEPHEID = REPOSITORY / "manifests/cepheid.yaml"
SCHEDULER = REPOSITORY / "manifests/scheduler.yaml"
DEFINITIONS = REPOSITORY / "manifests/crd"
PROMETHEUS = REPOSITORY / "prometheus/prometheus.yaml"
RULES = REPOSITORY / "prometheus/rules.yaml"
HEADING = """\
# Cepheid, whole. Rendered from manifests/default by `make manifests`: edit there, where the reasons
# stand too. manifests/README.md says how to install, change and remove it.
"""
SCHEDULER_HEADING = """\
# A kube-scheduler that listens to Cepheid, for clusters that want one beside their own. Rendered
# from manifests/scheduler by `make manifests`: edit there. docs/scheduler.md: how to switch it on.
"""
DEFINITION_HEADING = """\
# Rendered by `make manifests` from profiler/cepheid/{record}.py, where its words stand, and
# operator/cepheid_operator/api.py.
"""
RECORDS = {"jobprofile": job_profile_definition, "placementtrial": placement_trial_definition}
KEY, END = "\n  rules.yml: |\n", "\n---\n"  # between them the rules stand in the ConfigMap


def cepheid_manifest() -> str:
    kubectl = binaries() / "bin/kubectl"
    return HEADING + run([kubectl, "kustomize", REPOSITORY / "manifests/default"])


def scheduler_manifest() -> str:
    kubectl = binaries() / "bin/kubectl"
    return SCHEDULER_HEADING + run([kubectl, "kustomize", REPOSITORY / "manifests/scheduler"])


def definition(record: str = "jobprofile") -> str:
    text = yaml.safe_dump(RECORDS[record](), sort_keys=False, width=100)
    return DEFINITION_HEADING.format(record=record) + text


def prometheus_manifest() -> str:
    """As it is, with the rules as they are in their own file."""
    text = PROMETHEUS.read_text()
    if text.count(KEY) != 1:
        raise ClusterError(
            f"{PROMETHEUS} has {text.count(KEY)} places for the rules, not 1",
            hint=f"`{KEY.strip()}` is the last key of its ConfigMap",
        )
    before, _, old = text.partition(KEY)
    _, _, after = f"\n{old}".partition(END)
    return before + KEY + textwrap.indent(RULES.read_text(), " " * 4) + END.lstrip() + after


def render() -> list[Path]:
    """Writes all of them anew."""
    parts = {DEFINITIONS / f"{record}s.yaml": definition(record) for record in RECORDS}
    for path, text in parts.items():  # they are parts of the first of the others
        path.write_text(text)
    whole = {
        CEPHEID: cepheid_manifest(),
        SCHEDULER: scheduler_manifest(),
        PROMETHEUS: prometheus_manifest(),
    }
    for path, text in whole.items():
        path.write_text(text)
    return [*parts, *whole]
