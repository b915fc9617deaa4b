"""Loki asked by an operator: in Python, at the desk, by the tools; and what it says where there is none."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.testclient import TestClient

import simcluster
from simcluster.control.logs.loki import QUERY_NS
from simcluster.engine.clock import unix_seconds
from simcluster.eval.serving.incident import ServedIncident
from simcluster.session import Sandbox
from simcluster.session.door import SessionDoor
from simcluster.surface.http.desk import Desk
from simcluster.surface.http.door import Turns
from simcluster.surface.mcp.toolbox import Refused, Toolbox
from simcluster.surface.observability import QueryError

CHAT = "create deployment chat --image=busybox -- sh -c 'while true; do echo hello; echo bad >&2; sleep 1; done'"


@pytest.fixture(scope="module")
def watched() -> Sandbox:
    box = simcluster.sandbox(nodes=1, telemetry=True)
    box.kubectl(CHAT)
    box.wait("3m")
    return box


def test_lines_and_metrics_are_what_was_printed(watched: Sandbox) -> None:
    box = watched.fork()
    end = unix_seconds(box.world.sim.now)
    streams = box.logql('{app="chat"}', limit=10)
    assert {one["stream"]["stream"]: one["values"][0][1] for one in streams} == {"stdout": "hello", "stderr": "bad"}
    assert sum(len(one["values"]) for one in streams) == 10
    first = box.logql('{app="chat"} |= "bad"', start=end - 60.5, end=float(end), limit=1, direction="forward")
    assert end - 61 < int(first[0]["values"][0][0]) / 1e9 < end - 59
    (rate,) = box.logql('sum(rate({app="chat"}[1m]))')
    assert float(rate["value"][1]) == pytest.approx(2.0, rel=0.1)
    (counted,) = box.logql('sum(count_over_time({app="chat"}[30s]))', start=end - 60, end=end, step="30s")
    assert [float(value) for _, value in counted["values"]] == pytest.approx([60.0] * 3, abs=4)


@pytest.mark.parametrize(
    ("query", "given", "error"),
    [
        ("{", {}, "400: parse error at line 1, col 2: syntax error"),
        ('{app=~".*"}', {}, "queries require at least one regexp or equality matcher"),
        ('{app="chat"}', {"limit": 5001}, r"max entries limit per query exceeded, limit > .* \(5001 > 5000\)"),
        ('{app="chat"}', {"start": 1.0, "end": 1e9}, "the query time range exceeds the limit"),
    ],
)
def test_what_is_refused_is_said_as_loki_says_it(
    watched: Sandbox, query: str, given: dict[str, float], error: str
) -> None:
    with pytest.raises(QueryError, match=error):
        watched.fork().logql(query, **given)  # type: ignore[arg-type]


def test_a_query_is_a_look_and_repeats(watched: Sandbox) -> None:
    box, twin = watched.fork(), watched.fork()
    before = box.now_s
    assert box.logql('{app="chat"}') == twin.logql('{app="chat"}')
    assert box.now_s == pytest.approx(before + 2, abs=0.01)
    assert box.digest == twin.digest


def test_a_query_burns_what_its_lines_cost(watched: Sandbox) -> None:
    used = []
    for query in ('{app="chat"} |= "nowhere"', '{namespace=~".+"} |= "nowhere"'):
        box = watched.fork()
        (loki,) = (
            container
            for machine in box.world.machines.values()
            for container in machine.containers()
            if container.spec.name == "loki"
        )
        before = loki.cpu_ns
        assert not box.logql(query)
        used.append(loki.cpu_ns - before)
    assert used[0] > QUERY_NS
    assert used[1] - QUERY_NS > 1.5 * (used[0] - QUERY_NS)


def test_without_loki_there_is_nobody_to_ask() -> None:
    box = simcluster.sandbox(nodes=1)
    with pytest.raises(QueryError, match="404"):
        box.logql('{app="chat"}')


def test_the_desk_and_the_tools_answer_the_same(watched: Sandbox) -> None:
    box = watched.fork()
    desk, incident = Desk("token"), ServedIncident(box)
    desk.turns, desk.incident = Turns(SessionDoor(box)), incident
    tools = Toolbox(desk.turns, incident)
    with TestClient(desk.application(), headers={"Authorization": "Bearer token"}) as client:
        assert client.get("/loki/api/v1/labels", headers={"Authorization": ""}).status_code == 401
        labels = client.get("/loki/api/v1/labels").json()["data"]
        assert {"namespace", "pod", "container", "app", "job", "node_name", "filename", "stream"} <= set(labels)
        asked = {"query": '{app="chat",stream="stderr"}', "limit": "3"}
        got = client.get("/loki/api/v1/query_range", params=asked).json()["data"]["result"]
        posted = client.post("/loki/api/v1/query_range", data=asked).json()["data"]["result"]
        assert [[line for _, line in one["values"]] for one in got] == [["bad"] * 3]
        assert len(posted[0]["values"]) == 3
        assert client.get("/loki/api/v1/query_range", params={"query": "{"}).status_code == 400
    assert json.loads(asyncio.run(tools.get_labels())) == labels
    assert "chat" in json.loads(asyncio.run(tools.get_label_values("app")))
    text = asyncio.run(tools.get_logs('{app="chat",stream="stdout"}', 5)).splitlines()
    assert len(text) == 100
    assert text == sorted(text)
    stamp, whose, line = text[-1].split(" ", 2)
    assert stamp.endswith("Z")
    assert whose.startswith("default/chat-")
    assert line == "hello"
    assert asyncio.run(tools.get_logs('{app="nobody"}')) == "No logs found."
    assert '"vector"' in asyncio.run(tools.get_logs('sum(rate({app="chat"}[1m]))'))
    for refused in (tools.get_logs("{"), tools.get_logs('{app="chat"}', 0)):
        with pytest.raises(Refused):
            asyncio.run(refused)
