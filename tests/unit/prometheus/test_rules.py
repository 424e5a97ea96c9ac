"""The recording and alert rules, by promtool: they parse, and do what they are named for."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import REPOSITORY
from tests.cluster.binaries import binaries

RULES = REPOSITORY / "prometheus/rules.yaml"
TESTS = Path(__file__).with_name("rules.test.yaml")
OF_DAYS = Path(__file__).with_name("days.test.yaml")
PARSED: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
]
ALERTS = [rule for rule in PARSED if "alert" in rule]


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [binaries() / "bin/promtool", *arguments], check=False, capture_output=True, text=True
    )


def test_promtool_accepts_the_rules() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("tests", [TESTS, OF_DAYS], ids=lambda file: file.stem)
def test_the_rules_do_what_their_tests_say(tests: Path) -> None:
    done = promtool("test", "rules", tests)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (") / 1000\n", ")\n"),  # milliwatts
        ("DCGM_FI_DEV_GPU_UTIL <= 100", "DCGM_FI_DEV_GPU_UTIL"),  # blanks
        (
            "            max by (namespace, pod, container, node) (\n",
            "            sum by (namespace, pod, container, node) (\n",
        ),
        ("unless on (node, gpu, UUID) gpu", "unless on (node) gpu"),
        ("[1h]) < 1", "[5m]) < 1"),
        ("(gpu:memory_used:ratio > 0.7)", "(gpu:memory_used:ratio > 0.999)"),
        (
            "cepheid_agent_valid_until_seconds < time()",
            "cepheid_agent_valid_until_seconds > time()",
        ),
    ],
)
def test_the_tests_would_notice_a_mistake(right: str, wrong: str, tmp_path: Path) -> None:
    text = RULES.read_text()
    assert right in text
    (tmp_path / "rules.yaml").write_text(text.replace(right, wrong))
    tests = tmp_path / TESTS.name
    shutil.copy(TESTS, tests)
    tests.write_text(re.sub(r"(?m)^rule_files: .*$", "rule_files: [rules.yaml]", tests.read_text()))
    assert promtool("test", "rules", tests).returncode != 0


@pytest.mark.parametrize("name", [rule.get("record") or rule["alert"] for rule in PARSED])
def test_every_rule_is_tested_or_used_by_one_that_is(name: str) -> None:
    used = TESTS.read_text() + OF_DAYS.read_text() + "".join(rule["expr"] for rule in PARSED)
    assert name in used


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_an_alert_says_how_bad_it_is_and_what_to_do(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(alert["annotations"]) == {"summary", "description"}
