"""What is sent to the API server, what is read off an object, and what is never asked for."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from lightkube.resources.core_v1 import Node, Pod

from cepheid.annotations.api import ApiServer, RefusedError, connect
from cepheid.annotations.writer import Kind, Standing, Target, Writer, standing_of
from cepheid.errors import ApiError, ForbiddenError, GoneError, TooLargeError
from tests.unit.annotations.server import Answer, FakeServer, refusal, serving
from tests.unit.annotations.test_api import kubeconfig

POD = Target(Kind.POD, "bert-0", uid="u-1", namespace="research")
KEYS = {"ai.centaurus.io/cpu_util": "38", "ai.centaurus.io/job-type": "training"}


def applied(*keys: str, manager: str = "cepheid-agent", **more: Any) -> dict[str, Any]:
    names: dict[str, Any] = {".": {}} | {f"f:{key}": {} for key in keys}
    fields = {"f:metadata": {"f:annotations": names}}
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields, **more}


def pod(uid: str = "u-1", *managed: dict[str, Any], **annotations: str) -> dict[str, Any]:
    metadata = {
        "name": "bert-0",
        "namespace": "research",
        "uid": uid,
        "annotations": annotations,
        "managedFields": list(managed),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


@contextlib.contextmanager
def writing(folder: Path, *answers: Answer) -> Iterator[tuple[Writer, FakeServer]]:
    with serving(*answers) as fake:
        path = kubeconfig(folder, fake.address)
        with ApiServer(lambda: connect(str(path))) as server:
            yield Writer(server), fake


def test_one_forced_apply_with_the_uid_and_our_keys_only(tmp_path: Path) -> None:
    answer = pod("u-1", applied(*KEYS), **KEYS, other="x" * 10)
    with writing(tmp_path, Answer(200, answer)) as (writer, fake):
        standing = writer.apply(POD, KEYS)
    assert standing == Standing(POD, KEYS, foreign_bytes=15)
    (request,) = fake.requests
    assert request.method == "PATCH"
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    path, _, query = request.path.partition("?")
    assert path == "/api/v1/namespaces/research/pods/bert-0"
    assert sorted(query.split("&")) == ["fieldManager=cepheid-agent", "force=true"]
    metadata = {"name": "bert-0", "uid": "u-1", "namespace": "research", "annotations": KEYS}
    assert request.body == {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def test_taking_all_away_is_an_apply_without_keys(tmp_path: Path) -> None:
    node = {"kind": "Node", "metadata": {"name": "gpu-a", "uid": "u-2"}}
    target = Target(Kind.NODE, "gpu-a", uid="u-2")
    with writing(tmp_path, Answer(200, node)) as (writer, fake):
        assert writer.remove_all(target) == Standing(target)
    (request,) = fake.requests
    assert request.path.startswith("/api/v1/nodes/gpu-a?")
    metadata = {"name": "gpu-a", "uid": "u-2"}
    assert request.body == {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def test_only_what_we_applied_is_ours() -> None:
    ours, theirs = "ai.centaurus.io/gpu-0", "ai.centaurus.io/gpu-1"
    managed = [
        applied(ours),
        applied(theirs, operation="Update"),
        applied(theirs, subresource="status"),
        applied(theirs, manager="kubectl"),
        {"manager": "cepheid-agent", "operation": "Apply"},
    ]
    metadata = {
        "name": "gpu-a",
        "uid": "u-2",
        "annotations": {ours: "1", theirs: "22", "\u00fc": "x"},
        "managedFields": managed,
    }
    standing = standing_of(cast(Node, Node.from_dict({"metadata": metadata})), Kind.NODE)
    assert standing.annotations == {ours: "1"}
    assert standing.foreign_bytes == len(theirs) + 2 + 3  # bytes, not characters


@pytest.mark.parametrize("code", [403, 409, 422])
def test_a_refusal_because_it_is_another_object_says_that_ours_is_gone(
    code: int, tmp_path: Path
) -> None:
    with (
        writing(tmp_path, refusal(code), Answer(200, pod("u-other"))) as (writer, _),
        pytest.raises(GoneError, match="Pod research/bert-0 was deleted and made again"),
    ):
        writer.apply(POD, KEYS)
    with writing(tmp_path, refusal(code), refusal(404)) as (writer, _), pytest.raises(GoneError):
        writer.apply(POD, KEYS)


@pytest.mark.parametrize(("code", "kind"), [(403, ForbiddenError), (409, RefusedError)])
def test_a_refusal_of_the_same_object_stays_one(
    code: int, kind: type[ApiError], tmp_path: Path
) -> None:
    answers = (refusal(code), Answer(200, pod()))
    with writing(tmp_path, *answers) as (writer, _), pytest.raises(kind):
        writer.apply(POD, KEYS)


@pytest.mark.parametrize("known_bytes", [262_144 - 10, 262_144])
def test_what_cannot_fit_is_not_even_sent(known_bytes: int, tmp_path: Path) -> None:
    full = Answer(200, pod(other="x" * (262_144 - 10)))
    with writing(tmp_path, full) as (writer, fake):
        with pytest.raises(TooLargeError, match="of 262,144"):
            writer.apply(POD, KEYS, Standing(POD, foreign_bytes=known_bytes))
        assert [request.method for request in fake.requests] == ["GET"]


def test_what_did_not_fit_is_sent_when_others_made_room(tmp_path: Path) -> None:
    with writing(tmp_path, Answer(200, pod())) as (writer, fake):
        writer.apply(POD, KEYS, Standing(POD, foreign_bytes=262_144))
        assert [request.method for request in fake.requests] == ["GET", "PATCH"]


def test_a_foreign_key_is_never_written(tmp_path: Path) -> None:
    with writing(tmp_path, Answer(200, pod())) as (writer, fake):
        with pytest.raises(ApiError, match="not ours to write"):
            writer.apply(POD, {"kubernetes.io/x": "1"})
        assert fake.requests == []


@pytest.mark.parametrize("name", ["../../secrets/x", "a/b", "", "a" * 254, "A", "a\nb", "a?b"])
def test_what_is_no_name_never_gets_into_an_address(name: str, tmp_path: Path) -> None:
    with pytest.raises(ApiError, match="is no name"):
        Target(Kind.POD, name, uid="1", namespace="research")
    with pytest.raises(ApiError, match="is no name"):
        Target(Kind.POD, "a", uid="1", namespace=name)
    with writing(tmp_path, Answer(200, pod())) as (writer, fake):
        with pytest.raises(ApiError, match="is no name"):
            writer.read(Kind.POD, name, "research")
        assert fake.requests == []


def test_what_is_no_object_is_no_standing() -> None:
    with pytest.raises(ApiError):
        standing_of(Pod(), Kind.POD)


def test_a_kind_that_only_discovery_knows_is_applied_to_as_any_other(tmp_path: Path) -> None:
    kind = Kind.of("kubeflow.org", "v2beta1", "MPIJob", "mpijobs")
    target = Target(kind, "bert", uid="u-3", namespace="research")
    job = pod("u-3", applied(*KEYS, manager="cepheid-operator"), **KEYS)
    job["metadata"]["name"] = "bert"
    with serving(Answer(200, job)) as fake:
        path = kubeconfig(tmp_path, fake.address)
        with ApiServer(lambda: connect(str(path))) as server:
            standing = Writer(server, "cepheid-operator").apply(target, KEYS)
    assert standing == Standing(target, KEYS)
    (request,) = fake.requests
    place = "/apis/kubeflow.org/v2beta1/namespaces/research/mpijobs/bert?"
    assert request.path.startswith(place)
    assert (request.body["apiVersion"], request.body["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    assert str(target) == "MPIJob research/bert"
