"""Whatever is wrong with the extender, or with what it reads, pods get a node, and it is told."""

import http.client
import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from cepheid.annotations.codec import PREFIX, encode_node
from cepheid.annotations.facts import HealthFacts
from tests.cluster.progress import wait_for
from tests.scheduling.conftest import Stage
from tests.scheduling.yard import A100, T4, Yard, best_on, changed, described

SKIPPED = "Skipping extender"
"""What the scheduler's log says each time that it goes on without one."""
NONSENSE = (b"", b"{", b"[]", b'{"NodeNames": 7}', b"<html>502</html>", b'[{"Host": null}]')


def test_killed_it_is_missed_by_nobody_and_comes_back(stage: Stage, yard: Yard) -> None:
    ill = changed(described(T4, 1), 0, health=HealthFacts(xid=79))
    yard.node("ill", T4, 1, facts=ill)
    stage.heard()
    stage.extender.kill()
    with passed_over(stage):
        first = yard.pod()
        assert yard.placed(first) == "ill"  # nobody is left to warn
    yard.delete(first)
    stage.extender.start()
    stage.heard()
    waiting = yard.pod()
    wait_for("the scheduler's word", lambda: yard.said(waiting, "FailedScheduling"), 60)


def test_frozen_it_holds_a_pod_up_for_its_time_and_no_longer(stage: Stage, yard: Yard) -> None:
    yard.node("small")
    stage.heard()
    stage.extender.freeze()
    try:
        with passed_over(stage):
            assert yard.place() == "small"
    finally:
        stage.extender.thaw()


def test_cut_off_from_the_scheduler_it_is_passed_over(stage: Stage, yard: Yard) -> None:
    yard.node("small")
    stage.heard()
    stage.way.cut()
    try:
        with passed_over(stage):
            assert yard.place() == "small"
    finally:
        stage.way.mend()


@pytest.mark.parametrize("said", NONSENSE)
def test_answers_that_make_no_sense_are_passed_over(stage: Stage, yard: Yard, said: bytes) -> None:
    """Something else answers in its place."""
    yard.node("small")
    stage.heard()
    stage.extender.kill()
    with answering(stage, said) as asked, passed_over(stage):
        assert yard.place() == "small"
    assert "/filter" in asked


@contextmanager
def passed_over(stage: Stage) -> Iterator[None]:
    """It was asked, or was to be, and the scheduler went on without it."""
    before = stage.scheduler.log.read_text().count(SKIPPED)
    yield
    assert stage.scheduler.log.read_text().count(SKIPPED) > before


@contextmanager
def answering(stage: Stage, said: bytes) -> Iterator[list[str]]:
    """Which paths were asked."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """It is no server of ours."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stage.tls / "tls.crt", stage.tls / "tls.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", stage.serves), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()


def ignored(stage: Stage, why: str) -> float:
    return stage.extender.metrics()[f'cepheid_extender_ignored_nodes{{why="{why}"}}']


def lines(stage: Stage, words: str) -> list[str]:
    return [one["message"] for one in stage.extender.logs() if words in str(one["message"])]


KEYS = {
    "missing": {},
    "expired": encode_node(changed(described(T4, 1, hours=-1), 0, health=HealthFacts(lost=True))),
    "malformed": {
        **encode_node(described(T4, 1)),
        f"{PREFIX}gpu-0-health": "{'lost': True}",  # as a Python that was not asked for JSON
        f"{PREFIX}gpu-0-forecast": '{"horizon_s":1e999}',
    },
}


@pytest.mark.parametrize("why", KEYS)
def test_annotations_that_cannot_be_believed_are_ignored_and_that_is_told(
    stage: Stage, yard: Yard, why: str
) -> None:
    before, said = ignored(stage, why), len(lines(stage, f"are ignored: {why}"))
    name = yard.node("small", T4, 1)
    yard.write("small", KEYS[why])
    wait_for("the metric", lambda: ignored(stage, why) == before + 1, 60)
    wait_for("a line", lambda: len(lines(stage, f"are ignored: {why}")) > said, 60)
    assert yard.place() == "small"
    stage.api.admin("delete", "node", name)
    wait_for("the metric to go", lambda: ignored(stage, why) == before, 60)


def test_what_others_wrote_on_a_node_does_not_count(stage: Stage, yard: Yard) -> None:
    before = ignored(stage, "forged")
    yard.node("small", T4, 1)
    ill = changed(described(T4, 1), 0, health=HealthFacts(lost=True))
    keys = encode_node(ill)
    yard.write("small", {f"{PREFIX}gpu-0-health": keys[f"{PREFIX}gpu-0-health"]}, "somebody")
    wait_for("the metric", lambda: ignored(stage, "forged") == before + 1, 60)
    assert yard.place() == "small"


def test_what_a_user_wrote_on_a_pod_changes_nothing_and_is_counted(
    stage: Stage, yard: Yard
) -> None:
    yard.node("small", T4, cpu="256")
    yard.node("large", A100, cpu="8")
    stage.heard()
    forged = stage.extender.metrics()["cepheid_extender_forged_total"]
    text = f'{{"type":"{T4.replace(" ", "-")}","workers":1,"gpus":1}}'
    claims = {f"{PREFIX}best-placement": text, f"{PREFIX}cpu_mem_mb": "99999"}
    assert yard.place(annotations=claims) == "large"  # as any other of which nothing is known
    assert stage.extender.metrics()["cepheid_extender_forged_total"] > forged
    assert len(lines(stage, "that is ignored")) == 1


def test_a_best_placement_that_no_trial_wrote_does_not_count(stage: Stage, yard: Yard) -> None:
    yard.node("small", T4)
    yard.node("large", A100)
    job = yard.job("wish", best_on(T4), manager="somebody")
    stage.heard()
    assert yard.place(job) == "large"  # as any other of which nothing is known


def test_an_older_version_of_a_profile_says_what_it_can(stage: Stage, yard: Yard) -> None:
    """It has no GPUs' models, and no workers: nothing follows from it, and nothing breaks."""
    yard.node("small", T4)
    yard.old_profile("bert")
    job = yard.job("bert-2")
    known = 'cepheid_extender_requests_total{known="unknown",verb="filter"}'
    before = stage.extender.metrics().get(known, 0)
    assert yard.place(job) == "small"
    assert stage.extender.metrics()[known] > before


def test_while_the_api_server_is_away_it_answers_from_memory(stage: Stage, yard: Yard) -> None:
    ill = changed(described(T4, 1), 0, health=HealthFacts(xid=79))
    names = [yard.node("ill", T4, 1, facts=ill), yard.node("well", T4, 1)]
    stage.heard()
    pod = {"metadata": {"name": "new", "namespace": yard.name, "uid": "u"}, "spec": yard.spec()}
    question = json.dumps({"Pod": pod, "NodeNames": names}).encode()
    stage.api.kill()
    status, answer = _ask(stage, _trusted(stage), question)
    assert (status, json.loads(answer)["NodeNames"]) == (200, names[1:])
    stage.api.start()
    stage.heard()
    assert yard.place() == "well"


def test_who_has_no_certificate_is_not_answered(stage: Stage) -> None:
    context = ssl.create_default_context(cafile=str(stage.tls / "ca.crt"))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        _ask(stage, context)
    assert _ask(stage, _trusted(stage))[0] == 400


def _trusted(stage: Stage) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(stage.tls / "ca.crt"))
    context.load_cert_chain(stage.tls / "client.crt", stage.tls / "client.key")
    return context


def _ask(stage: Stage, context: ssl.SSLContext, question: bytes = b"{}") -> tuple[int, bytes]:
    way = http.client.HTTPSConnection("127.0.0.1", stage.serves, timeout=30, context=context)
    with closing(way) as connection:
        connection.request("POST", "/filter", body=question)
        answer = connection.getresponse()
        return answer.status, answer.read()
