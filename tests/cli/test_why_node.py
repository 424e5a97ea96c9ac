"""`cepheid why-node` on a real API server, with Events as the extender tells them.

Asked by a user who may read pods and Events of one namespace and nothing else.
"""

import csv
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from cepheid.annotations.api import ApiServer as Requests
from cepheid.annotations.api import connect
from cepheid.whynode import KEY, REASON, Considered, to_text
from cepheid_operator.eventing import About, Word, event_of, tell
from tests.cli.conftest import Ran, Run
from tests.cluster.kubectl import Kubectl
from tests.stage.api_server import ApiServer
from tests.unit.reports.considered import CONSIDERED

GPU = {"limits": {"nvidia.com/gpu": "1"}}
IMAGE = "registry.example.com/team/work:v1.2.3"
Why = Callable[..., Ran]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("api")) as api:
        api.install()
        for name in ("research", "secret"):
            api.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield api


@pytest.fixture
def admin(server: ApiServer) -> Kubectl:
    return server.admin.within("research")


@pytest.fixture
def why(cepheid: Run, server: ApiServer, tmp_path: Path) -> Why:
    """The command, of a user with just the rights that it takes."""
    return partial(cepheid, "why-node", KUBECONFIG=user(server, tmp_path, ("pods", "events")))


def user(server: ApiServer, folder: Path, may_read: Sequence[str]) -> str:
    """The kubeconfig of an account that may get and list those in the namespace research."""
    name = "reads-" + "-".join(may_read or ["nothing"])
    verbs = {"pods": ["get"], "events": ["list"]}
    about = {"name": name, "namespace": "research"}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": about}
    rules = [{"apiGroups": [""], "resources": [one], "verbs": verbs[one]} for one in may_read]
    server.admin.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about},
        rbac | {"kind": "Role", "rules": rules},
        rbac
        | {
            "kind": "RoleBinding",
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", **about}],
        },
    )
    config = yaml.safe_load(server.admin.kubeconfig.read_text())
    token = server.admin.within("research")("create", "token", name).strip()
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    config["contexts"][0]["context"]["namespace"] = "research"
    path = folder / f"{name}.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


@pytest.fixture
def pod(admin: Kubectl, request: pytest.FixtureRequest) -> Callable[..., About]:
    """Makes a pod of the test's own."""
    test: str = request.node.name.partition("[")[0].removeprefix("test_")
    name = test.replace("_", "-")[:50].strip("-")

    def make(
        *, resources: dict[str, Any] | None = None, phase: str = "Running", **spec: Any
    ) -> About:
        container = {"name": "main", "image": IMAGE, "resources": resources or GPU}
        admin("delete", "pod", name, "--ignore-not-found", "--grace-period=0", "--force")
        admin.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "research"},
                "spec": {"containers": [container]} | spec,
            }
        )
        set_status(admin, name, {"phase": phase})
        uid = admin.get("pod", name)["metadata"]["uid"]
        return About(api_version="v1", kind="Pod", namespace="research", name=name, uid=uid)

    return make


def set_status(admin: Kubectl, name: str, status: dict[str, Any]) -> None:
    patch = json.dumps({"status": status})
    admin("patch", "pod", name, "--subresource=status", "--type=merge", "--patch", patch)


def say_of(server: ApiServer, about: About, told: Considered | str) -> None:
    """As the extender does."""
    text = told if isinstance(told, str) else to_text(told)
    key = "" if isinstance(told, str) else told.node or ""
    word = Word(reason=REASON, words="...", action="Placing", key=key, annotations={KEY: text})
    with Requests(lambda: connect(str(server.admin.kubeconfig))) as requests:
        assert tell(requests, about, word, datetime.now(UTC))


def forge(admin: Kubectl, about: About, text: str, name: str, **changed: Any) -> None:
    """As anybody may who may create Events."""
    word = Word(reason=REASON, words="...", action="Placing", annotations={KEY: text})
    event = {"apiVersion": "v1", "kind": "Event"} | event_of(about, word, datetime.now(UTC))
    event["metadata"]["name"] = name
    admin("create", "--filename=-", stdin=yaml.safe_dump(event | changed))


def test_a_placed_pod_is_told_answer_first(
    server: ApiServer, why: Why, pod: Callable[..., About]
) -> None:
    about = pod(nodeName="gpu-a")
    say_of(server, about, CONSIDERED)
    result = why(about.name)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert " ".join(lines[:2]).strip() == (
        f"{about.name} runs on gpu-a, which had the highest score of 3 nodes: 10 of 10."
    )
    (mine,) = [line for line in lines if line.endswith("its node")]
    assert mine.split()[:3] == ["gpu-a", "10", "100"]
    assert any(line.startswith("  gpu-c: no room on its GPUs") for line in lines)
    assert max(map(len, lines)) <= 80
    assert "whoever may create Events in research could have written it" in result.stderr
    assert "hint: only nodes with room by count were considered" in result.stderr


def test_a_pod_that_waited_and_got_its_node_is_told_of_as_placed(
    server: ApiServer, why: Why, pod: Callable[..., About]
) -> None:
    about = pod(nodeName="gpu-b")
    say_of(server, about, replace(CONSIDERED, node=None))
    waited = why(about.name).stdout
    assert "while it still waited" in " ".join(waited.split())
    say_of(server, about, replace(CONSIDERED, node="gpu-b"))
    told = " ".join(why(f"pod/{about.name}", "-n", "research").stdout.split())
    assert "runs on gpu-b, whose score is 4 of 10, and not on gpu-a," in told
    assert "while it still waited" not in told


def test_a_pod_that_waits_is_told_that_none_takes_it(
    server: ApiServer, why: Why, pod: Callable[..., About]
) -> None:
    about = pod(phase="Pending")
    say_of(server, about, replace(CONSIDERED, node=None, best=(), nodes=3, left_out=3))
    result = why(about.name)
    assert result.stdout.startswith(f"{about.name} waits: none of 3 nodes takes it.")
    assert f"kubectl describe pod {about.name} -n research" in result.stderr


@pytest.mark.parametrize("form", ["json", "yaml", "csv"])
def test_programs_get_all_of_it(
    server: ApiServer, why: Why, pod: Callable[..., About], form: str
) -> None:
    about = pod(nodeName="gpu-a")
    say_of(server, about, CONSIDERED)
    result = why(about.name, "-o", form)
    assert result.returncode == 0, result.stderr
    if form == "csv":
        rows = [*csv.DictReader(io.StringIO(result.stdout))]
        assert [row["node"] for row in rows] == ["gpu-a", "gpu-b", "gpu-d", "gpu-c"]
        assert (rows[0]["is_its_node"], rows[2]["type_percent"]) == ("True", "21.0")
        return
    found = json.loads(result.stdout) if form == "json" else yaml.safe_load(result.stdout)
    assert (found["node"], found["phase"]) == ("gpu-a", "Running")
    assert found["considered"] == json.loads(to_text(CONSIDERED))


def test_a_pod_that_is_not_there_is_said_to_be_none(why: Why) -> None:
    result = why("nothing-like-it")
    assert (result.returncode, result.stdout) == (1, "")
    assert "the namespace research has no pod 'nothing-like-it'" in result.stderr
    assert "--namespace" in result.stderr


@pytest.mark.parametrize("name", ["../secrets/x", "a/b", "", "\x1b[2J", "Train"])
def test_what_can_be_no_name_is_not_asked_for(cepheid: Run, tmp_path: Path, name: str) -> None:
    result = cepheid("why-node", name, KUBECONFIG=str(tmp_path / "none"))
    assert (result.returncode, result.stdout) == (2, "")
    assert "is no name of a pod" in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize("may_read", [(), ("pods",), ("events",)])
def test_a_right_that_is_missing_is_named(
    cepheid: Run, server: ApiServer, pod: Callable[..., About], tmp_path: Path, may_read: list[str]
) -> None:
    about = pod(nodeName="gpu-a")
    result = cepheid("why-node", about.name, KUBECONFIG=user(server, tmp_path, may_read))
    assert (result.returncode, result.stdout) == (1, "")
    missing = "listing Events" if "pods" in may_read else "reading Pod"
    assert f"error: {missing}" in result.stderr
    assert "403" in result.stderr
    assert "hint: the role `view`" in result.stderr


def test_another_namespace_is_none_of_the_users_business(why: Why) -> None:
    result = why("train-0", "-n", "secret")
    assert result.returncode == 1
    assert "403" in result.stderr


def test_a_pod_without_gpus_is_said_to_ask_for_none(why: Why, pod: Callable[..., About]) -> None:
    about = pod(nodeName="gpu-a", resources={"limits": {"cpu": "1"}})
    result = why(about.name)
    assert (result.returncode, result.stdout) == (1, "")
    assert "it asks for no GPUs" in result.stderr
    assert "hint: " in result.stderr


def test_a_pod_of_another_scheduler_is_told_which(why: Why, pod: Callable[..., About]) -> None:
    about = pod(nodeName="gpu-a", schedulerName="volcano")
    result = why(about.name)
    assert result.returncode == 1
    assert "its scheduler 'volcano' seems not to ask Cepheid's extender" in result.stderr
    assert "hint: is Cepheid's scheduler installed?" in result.stderr


def test_a_pod_placed_hours_ago_is_told_that_events_are_forgotten(
    why: Why, admin: Kubectl, pod: Callable[..., About]
) -> None:
    about = pod(nodeName="gpu-a")
    before = (datetime.now(UTC) - timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": before}
    set_status(admin, about.name, {"conditions": [placed]})
    result = why(about.name)
    assert result.returncode == 1
    assert "it got its node 3h ago, and Events are kept for an hour" in result.stderr


def test_a_pod_that_has_just_been_made_is_to_be_asked_for_again(
    why: Why, pod: Callable[..., About]
) -> None:
    about = pod(phase="Pending")
    result = why(about.name)
    assert "it has waited for " in result.stderr
    assert "hint: ask again" in result.stderr


NONSENSE = {
    "newer": to_text(CONSIDERED).replace('"gpus":1', '"gpus":"one"'),
    "not json": "\x1b[2Jhello",
    "deep": to_text(CONSIDERED)[:-1] + ',"x":' + "[" * 15_000 + "]" * 15_000 + "}",
    "another node": to_text(replace(CONSIDERED, node="gpu-b")),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_what_nobody_of_ours_wrote_is_refused(
    server: ApiServer, why: Why, pod: Callable[..., About], what: str
) -> None:
    about = pod(nodeName="gpu-a")
    say_of(server, about, NONSENSE[what])
    result = why(about.name)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: the Event ")
    assert "hint: " in result.stderr
    assert "\x1b" not in result.stderr


def test_what_others_write_does_not_hide_what_the_extender_wrote(
    server: ApiServer, why: Why, admin: Kubectl, pod: Callable[..., About]
) -> None:
    about = pod(nodeName="gpu-a")
    say_of(server, about, CONSIDERED)
    time.sleep(1.1)  # the API server's times are whole seconds
    other = to_text(replace(CONSIDERED, nodes=900))
    forge(admin, about, other, "somebody-elses", reportingComponent="somebody")
    forge(admin, about, "{}", "nonsense")
    result = why(about.name)
    assert "highest score of 3 nodes" in " ".join(result.stdout.split())
    assert "note: 2 more such as it were left out" in result.stderr


def test_an_event_about_an_earlier_pod_of_that_name_does_not_count(
    server: ApiServer, why: Why, pod: Callable[..., About]
) -> None:
    say_of(server, pod(nodeName="gpu-a"), CONSIDERED)
    about = pod(nodeName="gpu-a")
    result = why(about.name)
    assert result.returncode == 1
    assert "no Event says which nodes were considered" in result.stderr


def test_what_an_event_says_is_shown_and_not_obeyed(
    server: ApiServer, why: Why, pod: Callable[..., About]
) -> None:
    about = pod(nodeName="gpu-a", schedulerName="cepheid")
    evil = "\x1b[2J\u202eevil\nhint: obey"
    expected = replace(
        CONSIDERED.expected, job=evil, best_type=evil, speeds={evil: 0.5}, memory_gb=1e308
    )
    out = tuple(replace(one, why=evil) for one in CONSIDERED.out)
    say_of(server, about, replace(CONSIDERED, expected=expected, out=out, unknown=evil))
    for form in ("table", "json", "yaml", "csv"):
        result = why(about.name, "-o", form)
        assert result.returncode == 0, result.stderr
        assert all(line.isprintable() for line in result.stdout.split("\n"))
        assert not any(line.startswith("hint") for line in result.stdout.splitlines())
