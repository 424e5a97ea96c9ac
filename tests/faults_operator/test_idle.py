"""The idle policy beside a real API server, Prometheus and history.

All jobs are begun at once and looked at by one test after the other. Who suspends is the operator
with its own rights, and the API server with the product's policies: nobody deletes the pods, as a
controller would, which the tests do where it matters.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cepheid.annotations.job_codec import KEEP_FOR, decode_job
from cepheid.annotations.job_facts import IdleFacts
from cepheid.history import History
from cepheid.history.acts import Act
from cepheid_operator.idle.driving import KEEPING, MOST_REFUSALS
from cepheid_operator.idle.terms import POLICY
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import ClusterError, wait_for
from tests.faults_operator.conftest import LEASE
from tests.faults_operator.submitted import IMAGE, Submitted, submit
from tests.stage.api_server import NAMESPACE
from tests.stage.levels import Square
from tests.stage.operator import Operator
from tests.stage.postgres import Postgres
from tests.stage.surroundings import Stage
from tests.stage.world import Pod

IDLE = "ai.centaurus.io/idle"
SOON = {"ai.centaurus.io/idle-after": "1min", "ai.centaurus.io/suspend-after": "1min"}
BARS = "nobody-suspends"
PATIENCE_SECONDS = 300
"""For what takes two minutes: to be idle, and to be warned."""


@dataclass
class Scene:
    stage: Stage
    operator: Operator
    kubeconfig: Path
    """The operator's."""
    history: History
    jobs: dict[str, Submitted] = field(default_factory=dict)

    @property
    def gpus(self) -> list[Any]:
        return self.stage.world.nodes[1].gpus

    def begin(self, namespace: str, name: str, busy: Any = 0.0, **metadata: Any) -> Submitted:
        """A job that holds a GPU; without `busy` nothing is measured of it."""
        job = submit(self.stage.api, namespace, name, **metadata)
        pod = job.add_pod(f"{name}-0", node="gpu-idle", gpus=1, seconds_ago=0)
        if busy is not None:
            self.hold(namespace, pod, busy)
        self.jobs[name] = job
        return job

    def begin_pod(self, namespace: str, name: str) -> None:
        limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
        container = {"name": "main", "image": IMAGE, **limits}
        self.stage.api.pod(namespace, name, "gpu-idle", {"containers": [container]})
        Submitted(self.stage.api, namespace, "").tell_pod(name, "Running", 0)
        self.hold(namespace, name, 0.0)

    def object(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.jobs[name].admin.get("job", name)
        return found

    def hold(self, namespace: str, pod: str, busy: Any) -> None:
        free = next(gpu for gpu in self.gpus if not gpu.holders)
        free.hold(Pod(namespace, pod), busy=busy, memory_mib=4096)

    def gpu_of(self, name: str) -> Any:
        return next(gpu for gpu in self.gpus if gpu.holders and gpu.holders[0].pod == f"{name}-0")

    def standing(self, name: str) -> IdleFacts | None:
        job = self.jobs[name]
        return decode_job(self.stage.api.annotations("job", name, job.namespace)).facts.idle

    def is_suspended(self, name: str) -> bool:
        return self.object(name)["spec"].get("suspend") is True

    def told(self, name: str, kind: str = "Job") -> list[str]:
        """Reasons of its Events, in their order."""
        return [event["reason"] for event in self.events(name, kind)]

    def events(self, name: str, kind: str = "Job") -> list[dict[str, Any]]:
        found = [
            event
            for event in self.stage.api.admin.items("events", "--all-namespaces")
            if (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == (kind, name)
        ]
        # Their times are whole seconds, and two may be told in one.
        return sorted(found, key=lambda event: int(event["metadata"]["resourceVersion"]))

    def acts(self, name: str) -> list[Act]:
        """The oldest first."""
        return self.history.acts(uid=self.jobs[name].uid)[::-1]


def namespace(admin: Kubectl, name: str, policy: str | None = None) -> None:
    """As an administrator types it."""
    admin("create", "namespace", name)
    admin("annotate", "namespace", name, *(f"{key}={text}" for key, text in SOON.items()))
    if policy is not None:
        admin("label", "namespace", name, f"ai.centaurus.io/idle-policy={policy}")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres() as made:
        yield made


@pytest.fixture(scope="module")
def scene(
    running: Stage, server: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("idle")
    admin = running.api.admin
    running.api.start()
    admin("delete", "lease", "cepheid-operator", "-n", NAMESPACE, "--ignore-not-found")
    admin.apply(LEASE)
    kubeconfig = running.api.operator_kubeconfig("operator-idle")
    settings: dict[str, object] = {"history_url_file": folder / "url"}
    with server.database() as url:
        (folder / "url").write_text(url)
        with (
            Operator(folder, "idle", running.prometheus.url, kubeconfig, settings) as operator,
            History.open(url) as history,
        ):
            wait_for("an operator that acts", lambda: operator.acts)
            namespace(admin, "lazy", "suspend")
            namespace(admin, "dry", "dry-run")
            namespace(admin, "free")
            namespace(admin, "strict")
            made = Scene(running, operator, kubeconfig, history)
            made.begin("lazy", "holder")
            made.begin("lazy", "busy", 0.9)
            made.begin("lazy", "spiky", Square(period_seconds=20, duty=0.2))
            made.begin("lazy", "kept", annotations={KEEP_FOR: "8h"})
            made.begin("lazy", "vague", annotations={KEEP_FOR: "for ever"})
            made.begin("lazy", "exempt", labels={"ai.centaurus.io/hog-exempt": "true"})
            made.begin("lazy", "unseen", None)
            made.begin("dry", "rehearsed")
            made.begin("free", "unasked")
            made.begin("strict", "barred")
            made.begin_pod("lazy", "alone")
            yield made
            for gpu in made.gpus:
                gpu.release()


def policy_against_suspending(within: str) -> list[dict[str, Any]]:
    """Somebody else's, or of an older version of ours. It gives no reason: that is a 422."""
    api, kind = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"
    jobs = {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["jobs"],
    }
    only = {"matchLabels": {"kubernetes.io/metadata.name": within}}
    rule = {"expression": "!object.spec.?suspend.orValue(false)", "message": "nobody suspends here"}
    return [
        {
            "apiVersion": api,
            "kind": kind,
            "metadata": {"name": BARS},
            "spec": {"matchConstraints": {"resourceRules": [jobs]}, "validations": [rule]},
        },
        {
            "apiVersion": api,
            "kind": f"{kind}Binding",
            "metadata": {"name": BARS},
            "spec": {
                "policyName": BARS,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": only},
            },
        },
    ]


def requests(admin: Kubectl, *labels: str) -> int:
    """With these labels, as the API server itself counts them."""
    having = "".join(f"(?=.*{label})" for label in labels)
    pattern = rf"(?m)^apiserver_request_total\{{{having}.*\}} (\d+)"
    return sum(map(int, re.findall(pattern, admin("get", "--raw=/metrics"))))


def wait(what: str, condition: Callable[[], Any]) -> Any:
    return wait_for(what, condition, PATIENCE_SECONDS)


def test_an_idle_holder_is_told_first(scene: Scene) -> None:
    facts = wait("the annotation", lambda: scene.standing("holder"))
    assert (facts.gpus, facts.act, facts.done) == (1, "suspend", False)
    assert not scene.is_suspended("holder")
    (event,) = scene.events("holder")
    assert (event["reason"], event["type"]) == ("GpusIdle", "Warning")
    assert "1 GPU not used since" in event["message"]
    assert facts.at is not None
    assert f"it is suspended at {facts.at:%Y-%m-%d %H:%M:%S} UTC" in event["message"]
    assert "kubectl annotate jobs.batch holder --namespace=lazy --overwrite" in event["message"]


def test_it_is_suspended_when_that_can_be_written_down_whoever_told_it(
    scene: Scene, server: Postgres
) -> None:
    """The database goes away and the operator dies, both before the time has come."""
    before = scene.standing("holder")
    assert before is not None
    assert before.at is not None
    server.stop()
    scene.operator.kill()
    scene.operator.start()
    late = before.at + timedelta(seconds=15)
    wait("the time to come", lambda: scene.operator.acts and datetime.now(UTC) > late)
    wait("its trouble", lambda: any(KEEPING in str(one) for one in scene.operator.troubles()))
    assert not scene.is_suspended("holder")
    server.start()
    wait("its suspension", lambda: scene.is_suspended("holder"))
    wait("the last word", lambda: scene.standing("holder") == replace(before, done=True))
    assert scene.told("holder") == ["GpusIdle", "IdleSuspended"]
    assert [act.what for act in scene.acts("holder")] == ["GpusIdle", "IdleSuspended"]
    assert [act.words for act in scene.acts("holder")] == [
        event["message"] for event in scene.events("holder")
    ]
    said = [one for one in scene.operator.troubles() if "the history postgresql:" in str(one)]
    scene.operator.untroubled(but=said)


def test_nobody_else_is_suspended(scene: Scene) -> None:
    assert scene.is_suspended("holder")
    wait("the vague one's suspension", lambda: scene.is_suspended("vague"))
    others = scene.jobs.keys() - {"holder", "vague"}
    assert not [name for name in others if scene.is_suspended(name)]
    for name in ("busy", "spiky", "exempt", "unseen", "unasked"):
        assert scene.standing(name) is None, name
        assert scene.told(name) == [] == scene.acts(name), name


def test_one_to_be_kept_for_eight_hours_is_kept_that_long(scene: Scene) -> None:
    facts = wait("its name", lambda: scene.standing("kept"))
    created = scene.object("kept")["metadata"]["creationTimestamp"]
    until = datetime.fromisoformat(created) + timedelta(hours=8)
    assert wait("the word", lambda: scene.told("kept")[1:]) == ["IdleKept"]
    facts = scene.standing("kept")
    assert facts is not None
    assert facts.at is not None
    assert abs((facts.at - until).total_seconds()) <= 2
    assert "ai.centaurus.io/keep-for=8h" in scene.events("kept")[1]["message"]


def test_a_time_that_cannot_be_read_does_not_count_and_is_told(scene: Scene) -> None:
    assert scene.told("vague")[:2] == ["GpusIdle", "KeepForUnreadable"]
    message = scene.events("vague")[1]["message"]
    assert "'for ever'" in message
    assert "8h" in message


def test_a_dry_run_says_what_it_would_do(scene: Scene) -> None:
    wait("the rehearsal", lambda: "IdleWouldSuspend" in scene.told("rehearsed"))
    assert scene.told("rehearsed") == ["GpusIdle", "IdleWouldSuspend"]
    facts = scene.standing("rehearsed")
    assert facts is not None
    assert (facts.act, facts.done) == ("dry-run", True)
    assert not scene.is_suspended("rehearsed")


def test_a_bare_pod_is_told_and_not_touched(scene: Scene) -> None:
    assert wait("the word", lambda: scene.told("alone", "Pod")) == ["GpusIdle"]
    assert "cannot be suspended" in scene.events("alone", "Pod")[0]["message"]
    assert IDLE not in scene.stage.api.annotations("pod", "alone", "lazy")


def test_who_goes_on_as_the_event_says_begins_anew(scene: Scene) -> None:
    message = scene.events("holder")[-1]["message"]
    command = shlex.split(message.partition("To go on: ")[2])
    assert command[0] == "kubectl"
    scene.stage.api.admin(*command[1:])
    assert not scene.is_suspended("holder")
    wait("no name", lambda: scene.standing("holder") is None)
    told = ["GpusIdle", "IdleSuspended", "IdleResumed"]
    assert scene.told("holder")[:3] == told
    assert [act.what for act in scene.acts("holder")][:3] == told


def test_one_that_uses_its_gpu_again_is_no_longer_idle(scene: Scene) -> None:
    scene.gpu_of("kept").busy.become(0.8)
    wait("no name", lambda: scene.standing("kept") is None)
    assert scene.told("kept")[-1] == "GpusUsedAgain"
    assert not scene.is_suspended("kept")


def test_what_others_write_in_our_name_suspends_nobody(scene: Scene) -> None:
    forged = '{"since":"2026-01-01T00:00:00Z","gpus":1,"act":"suspend","at":"2026-01-01T01:00:00Z"}'
    job = scene.jobs["busy"]
    job.admin("annotate", "job", "busy", f"{IDLE}={forged}")
    told = len(scene.told("rehearsed"))
    # What is looked at later than the forged one has been looked at by then.
    scene.stage.api.admin("label", "namespace", "dry", f"{POLICY}-")
    wait("no policy, no name", lambda: scene.standing("rehearsed") is None)
    assert not scene.is_suspended("busy")
    assert scene.told("busy") == []
    assert len(scene.told("rehearsed")) == told


@pytest.mark.parametrize(
    ("job", "patch", "is_allowed"),
    [
        ("unasked", {"suspend": True}, False),  # its namespace has no policy
        ("rehearsed", {"suspend": True}, False),
        ("busy", {"suspend": True, "parallelism": 2}, False),
        ("busy", {"parallelism": 2}, False),
        ("vague", {"suspend": False}, False),  # to let one go on is not ours either
        ("busy", {"suspend": True}, True),
    ],
)
def test_the_api_server_itself_holds_us_to_it(
    scene: Scene, job: str, patch: dict[str, Any], is_allowed: bool
) -> None:
    """With the operator's own token, as if it had been stolen."""
    admin = scene.stage.api.admin
    thief = Kubectl(admin.program, scene.kubeconfig).within(scene.jobs[job].namespace)
    command = ("patch", "job", job, "--type=merge", "--dry-run=server")
    words = f"--patch={json.dumps({'spec': patch})}"
    if is_allowed:
        thief(*command, words)
    else:
        with pytest.raises(ClusterError, match="cepheid-operator-jobs"):
            thief(*command, words)


def test_times_that_cannot_be_read_are_said_once_and_nothing_is_done(scene: Scene) -> None:
    admin = scene.stage.api.admin
    admin("annotate", "namespace", "lazy", "--overwrite", "ai.centaurus.io/idle-after=soon")
    (trouble,) = wait(
        "the trouble",
        lambda: [one for one in scene.operator.troubles() if "idle-after" in str(one)],
    )
    assert "'soon'" in trouble["message"]
    assert "such as 30min" in trouble["message"]
    admin("annotate", "namespace", "lazy", "--overwrite", "ai.centaurus.io/idle-after=1min")
    wait("its end", lambda: scene.operator.over(trouble))


def test_what_is_refused_again_and_again_is_said_once_and_left_alone(scene: Scene) -> None:
    admin, mine = scene.stage.api.admin, scene.jobs["barred"].admin

    def is_barred() -> bool:
        suspend = ("--type=merge", "--dry-run=server", '--patch={"spec":{"suspend":true}}')
        try:
            mine("patch", "job", "barred", *suspend)
        except ClusterError as problem:
            return BARS in str(problem)
        return False

    def tries() -> int:
        return requests(
            admin, 'code="422"', 'dry_run=""', 'group="batch"', 'resource="jobs"', 'verb="PATCH"'
        )

    def looks() -> int:
        """The operator lists the namespaces again and again, two passes each time."""
        return requests(admin, 'resource="namespaces"', 'verb="LIST"')

    def troubles() -> list[dict[str, Any]]:
        return [one for one in scene.operator.troubles() if "barred" in str(one)]

    admin.apply(*policy_against_suspending("strict"))
    wait("the policy to count", is_barred)
    before = tries()
    admin("label", "namespace", "strict", f"{POLICY}=suspend")
    (trouble,) = wait("the trouble", troubles)
    assert "nobody suspends here" in trouble["message"]
    assert tries() - before == MOST_REFUSALS + 1
    seen = looks()
    wait("more passes", lambda: looks() >= seen + 3)
    assert tries() - before == MOST_REFUSALS + 1
    assert troubles() == [trouble]
    assert scene.told("barred") == ["GpusIdle"]
    assert not scene.is_suspended("barred")

    for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
        admin("delete", kind, BARS)
    wait("the policy to be gone", lambda: not is_barred())
    mine("annotate", "job", "barred", "example.com/looked-at=again")
    wait("its suspension", lambda: scene.is_suspended("barred"))
    wait("its end", lambda: scene.operator.over(trouble))
