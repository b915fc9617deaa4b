"""OpenEnv's routes: over HTTP one episode that all share, over a WebSocket one of its own, and its own client."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from simcluster.eval.training.openenv import Server

TASK = "wrong_service_selector_online_boutique"
RIGHT = (
    "diagnose Service cartservice selects version=v2, a label that no pod carries, so it has no endpoints.",
    """kubectl patch service cartservice -n boutique --type=merge -p '{"spec":{"selector":{"version":null}}}'""",
    "wait 30s",
    "finish",
)


@pytest.fixture(scope="module")
def server() -> Server:
    return Server(TASK)


@pytest.fixture(scope="module")
def client(server: Server) -> TestClient:
    return TestClient(server.application())


def test_an_episode_over_http_and_the_same_over_a_socket(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "healthy"}
    assert client.post("/step", json={"action": {"line": "wait 1s"}}).status_code == 409
    first = client.post("/reset", json={"seed": 7}).json()
    assert first["observation"]["alert"]
    steps = [client.post("/step", json={"action": {"line": line}}).json() for line in RIGHT]
    assert [one["done"] for one in steps] == [False, False, False, True]
    state = client.get("/state").json()
    assert (state["seed"], state["step_count"], state["task"]) == (7, 4, TASK)
    with client.websocket_connect("/ws") as socket:
        socket.send_json({"type": "reset", "data": {"seed": 7, "episode_id": "mine"}})
        assert socket.receive_json() == {"type": "observation", "data": first}
        for line, step in zip(RIGHT, steps, strict=True):
            socket.send_json({"type": "step", "data": {"line": line}})
            assert socket.receive_json()["data"] == step
        socket.send_json({"type": "state"})
        found = socket.receive_json()["data"]
        assert (found["episode_id"], found["digest"]) == ("mine", state["digest"])
        socket.send_json({"type": "close"})


def test_mistakes_get_an_answer(client: TestClient) -> None:
    for path, body in (("/step", b"{"), ("/step", b'{"action": {"verb": 1}}'), ("/reset", b'{"seed": -1}')):
        assert client.post(path, content=body).status_code == 422
    for wrong in (
        {"task": "nothing"},
        {"task": "/etc/passwd"},
        {"task": "a\0b"},
        {"task": "x" * 99_999},
        {"noise": "loud"},
    ):
        assert client.post("/reset", json=wrong).status_code == 409
    for body in (b'{"action":' * 50_000, b"\xff\0", b'{"action": {"line": "diagnose \\ud800"}}'):
        assert client.post("/step", content=body).status_code == 422
    with client.websocket_connect("/ws") as socket:
        sent = [
            "{",
            "[]",
            '{"type": "dance"}',
            '{"type": "step", "data": {"line": "wait 1s"}}',
            '{"type":"step","data":1}',
        ]
        codes = []
        for text in sent:
            socket.send_text(text)
            codes.append(socket.receive_json()["data"]["code"])
        socket.send_bytes(b"\0\xff")
        assert socket.receive_json()["data"]["code"] == "INVALID_JSON"
        socket.send_bytes(b'{"type": "state"}')
        assert socket.receive_json()["type"] == "state"
    assert codes == ["INVALID_JSON", "UNKNOWN_TYPE", "UNKNOWN_TYPE", "EXECUTION_ERROR", "VALIDATION_ERROR"]
    assert client.get("/schema").json()["action"]["required"] == ["line"]
    assert client.get("/metadata").json()["name"] == f"simcluster/{TASK}"


@contextmanager
def listening(server: Server) -> Iterator[str]:
    config = uvicorn.Config(server.application(), port=0, log_level="error", ws="wsproto")
    found = uvicorn.Server(config)
    thread = threading.Thread(target=found.run)
    thread.start()
    try:
        while not found.started:
            thread.join(0.05)
        yield f"http://127.0.0.1:{found.servers[0].sockets[0].getsockname()[1]}"
    finally:
        found.should_exit = True
        thread.join()


@pytest.mark.filterwarnings("default")
def test_the_client_of_openenv_plays(server: Server) -> None:
    core: Any = pytest.importorskip("openenv.core")
    with listening(server) as url, core.GenericEnvClient(base_url=url).sync() as env:
        assert env.reset(seed=7).observation["alert"]
        result = env.step({"line": RIGHT[0]})
        assert (result.done, result.reward > 0) == (False, True)
        assert env.state()["step_count"] == 1
