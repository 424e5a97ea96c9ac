"""What it writes to is away, hangs, is busy, or knows it no more."""

import base64
import http.client
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.progress import wait_for
from tests.faults.watch import AWAY, SOON, watched
from tests.stage.api_server import ACCOUNT, NAMESPACE
from tests.stage.surroundings import Stage
from tests.stage.world import Node

REACHING = "reaching the API server"


def test_an_api_server_that_was_killed_is_waited_for(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        stage.api.kill()
        seen.change()
        seen.says(REACHING, AWAY)
        seen.more_passes(2)
        stage.api.start()
        seen.tells()
        seen.said_once(REACHING, AWAY)


def test_an_api_server_that_hangs_is_given_up_and_asked_again(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        stage.api.freeze()
        seen.change()
        seen.says(REACHING, "no answer in time")
        stage.api.thaw()
        seen.tells()
        seen.said_once(REACHING, "no answer in time")


def test_an_api_server_that_has_too_much_to_do_is_left_alone(stage: Stage, node: Node) -> None:
    """Real 429s: its priority and fairness has no room for the agent."""
    agent = stage.agent(node.name, **SOON)
    with watched(stage, node, agent) as seen:
        with _no_room_for_the_agent(stage, node):
            seen.change()
            seen.says(REACHING, "429")
            seen.more_passes(2)
        seen.tells()
        seen.said_once(REACHING, "429")


def test_a_token_that_died_is_replaced_when_there_is_another(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        _end_token(stage, node)
        seen.change()
        seen.says(REACHING, "401")
        seen.more_passes(2)
        seen.kept()
        stage.api.agent_kubeconfig(node.name)
        seen.tells()
        seen.said_once(REACHING, "401")


def test_a_token_that_was_rotated_in_time_is_no_trouble(
    stage: Stage, node: Node, tmp_path: Path
) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        old = tmp_path / "old.kubeconfig"
        old.write_bytes(_kubeconfig(stage, node).read_bytes())
        stage.api.delete_pod(NAMESPACE, f"{ACCOUNT}-{node.name}")
        stage.api.agent_kubeconfig(node.name)
        wait_for("the old token's end", lambda: _status(stage, node, old) == 401)
        seen.change()
        seen.tells()
        seen.said_nothing()


def test_certificates_that_were_rotated_are_read_again(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        stage.api.rotate_certificates()
        seen.change()
        seen.says(REACHING, "the certificates may have been rotated")
        seen.more_passes(2)
        seen.kept()
        stage.api.agent_kubeconfig(node.name)
        seen.tells()
        seen.said_once(REACHING, "the certificates may have been rotated")


@contextmanager
def _no_room_for_the_agent(stage: Stage, node: Node) -> Iterator[None]:
    api_version = "flowcontrol.apiserver.k8s.io/v1"
    name = "no-room"
    everything: dict[str, Any] = {
        "verbs": ["*"],
        "apiGroups": ["*"],
        "resources": ["*"],
        "namespaces": ["*"],
        "clusterScope": True,
    }
    account = {"name": ACCOUNT, "namespace": NAMESPACE}
    stage.api.admin.apply(
        {
            "apiVersion": api_version,
            "kind": "PriorityLevelConfiguration",
            "metadata": {"name": name},
            "spec": {
                "type": "Limited",
                "limited": {
                    "nominalConcurrencyShares": 0,
                    "borrowingLimitPercent": 0,
                    "limitResponse": {"type": "Reject"},
                },
            },
        },
        {
            "apiVersion": api_version,
            "kind": "FlowSchema",
            "metadata": {"name": name},
            "spec": {
                "priorityLevelConfiguration": {"name": name},
                "matchingPrecedence": 2,  # the first is for those who may do all
                "rules": [
                    {
                        "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
                        "resourceRules": [everything],
                    }
                ],
            },
        },
    )
    kubeconfig = _kubeconfig(stage, node)
    done = threading.Event()

    def take_the_room() -> None:
        while not done.is_set():
            _status(stage, node, kubeconfig, timeout_seconds=60)

    def is_in_force() -> bool:
        _status(stage, node, kubeconfig)
        levels = stage.api.admin(
            "get", "--raw", "/debug/api_priority_and_fairness/dump_priority_levels"
        )
        rows = [[cell.strip() for cell in line.split(",")] for line in levels.splitlines()]
        dispatched = rows[0].index("DispatchedRequests")
        return any(row[0] == name and int(row[dispatched]) for row in rows[1:])

    taking = threading.Thread(target=take_the_room)
    try:
        wait_for("a place without room", is_in_force)
        # One request at a time it lets through all the same: so one hangs there.
        stage.api.etcd.freeze()
        taking.start()
        wait_for("a 429", lambda: _status(stage, node, kubeconfig) == HTTPStatus.TOO_MANY_REQUESTS)
        yield
    finally:
        done.set()
        stage.api.etcd.thaw()
        if taking.ident is not None:
            taking.join()
        stage.api.admin("delete", "flowschema,prioritylevelconfiguration", name)


def _end_token(stage: Stage, node: Node) -> None:
    """It is bound to a pod; the API server notices that the pod is gone within seconds."""
    stage.api.delete_pod(NAMESPACE, f"{ACCOUNT}-{node.name}")
    kubeconfig = _kubeconfig(stage, node)
    wait_for("the end of the token", lambda: _status(stage, node, kubeconfig) == 401)


def _kubeconfig(stage: Stage, node: Node) -> Path:
    return stage.api.folder / f"{ACCOUNT}-{node.name}.kubeconfig"


def _status(stage: Stage, node: Node, kubeconfig: Path, timeout_seconds: float = 5) -> int:
    """What the API server answers to who asks for the node with that; 0 where it does not."""
    config = yaml.safe_load(kubeconfig.read_text())
    authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
    context = ssl.create_default_context(cadata=authority.decode())
    connection = http.client.HTTPSConnection(
        "127.0.0.1", stage.api.port, context=context, timeout=timeout_seconds
    )
    try:
        token = config["users"][0]["user"]["token"]
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("GET", f"/api/v1/nodes/{node.name}", headers=headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
