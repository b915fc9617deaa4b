"""The model as a judge, against an endpoint that answers as one did."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from simcluster.eval.llm import Endpoint, EndpointError, ask

TRUTH = {"component": "Service/cartservice", "mechanism": "selector has a label that no pod carries"}
YES = json.dumps({"answers": [{"yes": True, "why": "it says so"}] * 9})
NO_CORE = json.dumps({"answers": [{"yes": i != 3, "why": ""} for i in range(9)]})


class Recorded(HTTPServer):
    """Gives the answers it is given, one a request: a status, or the text of a choice."""

    answers: list[int | str]
    asked: list[dict[str, Any]]


class _Handler(BaseHTTPRequestHandler):
    server: Recorded

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        answer = self.server.answers.pop(0)
        usage = {"prompt_tokens": 1000, "completion_tokens": 200}
        found = {"choices": [{"message": {"content": answer}}], "usage": usage}
        text = json.dumps(found).encode() if isinstance(answer, str) else b"not now"
        self.send_response(200 if isinstance(answer, str) else answer)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def server() -> Iterator[Recorded]:
    found = Recorded(("127.0.0.1", 0), _Handler)
    found.asked = []
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def endpoint(server: Recorded, pauses: list[float] | None = None) -> Endpoint:
    url = f"http://127.0.0.1:{server.server_port}/v1/"
    waited = [] if pauses is None else pauses
    return Endpoint("a-model", url, key="secret", prices=(1.0, 10.0), sleep=waited.append)


def test_nine_answers_make_a_verdict(server: Recorded) -> None:
    server.answers = [f"```json\n{YES}\n```", NO_CORE]
    model = endpoint(server)
    verdict = ask(model, "the selector is wrong", TRUTH)
    assert (verdict.passed, verdict.to_dict()["yes"], verdict.model) == (True, 9, "a-model")
    assert not ask(model, {"component": "service/cartservice"}, TRUTH).passed  # eight of nine, without the core
    assert model.usage.requests == 2
    assert model.cost == pytest.approx(2 * (1000 * 1.0 + 200 * 10.0) / 1e6)
    first = server.asked[0]
    assert (first["path"], first["key"], first["temperature"]) == ("/v1/chat/completions", "Bearer secret", 0)
    assert "names the mechanism" in first["messages"][1]["content"]
    assert "secret" not in repr(model)


def test_a_busy_endpoint_is_asked_again_and_one_that_refuses_is_not(server: Recorded) -> None:
    pauses: list[float] = []
    server.answers = [429, 503, YES]
    assert ask(endpoint(server, pauses), "x", TRUTH).passed
    assert pauses == [1.0, 2.0]
    server.answers = [401]
    with pytest.raises(EndpointError, match="401 not now"):
        ask(endpoint(server), "x", TRUTH)
    server.answers = [500] * 4
    with pytest.raises(EndpointError, match="500"):
        ask(endpoint(server), "x", TRUTH)


def test_an_answer_in_another_form_is_asked_for_again(server: Recorded) -> None:
    server.answers = ["yes to all", json.dumps({"answers": [{"yes": True}]}), YES]
    assert ask(endpoint(server), "x", TRUTH).passed
    assert len(server.asked[2]["messages"]) == 4
    server.answers = ["no"] * 3
    with pytest.raises(ValueError, match="did not answer in the form"):
        ask(endpoint(server), "x", TRUTH)
