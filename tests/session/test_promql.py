"""Prometheus asked by an operator: in Python, at the desk, by the tools; and what it says where there is none."""

from __future__ import annotations

import asyncio

import pytest
from starlette.testclient import TestClient

import simcluster
from simcluster.engine.clock import unix_seconds
from simcluster.eval.serving.incident import ServedIncident
from simcluster.session import Sandbox
from simcluster.session.door import SessionDoor
from simcluster.surface.http.desk import Desk
from simcluster.surface.http.door import Turns
from simcluster.surface.mcp.toolbox import Refused, Toolbox
from simcluster.surface.observability import QueryError


@pytest.fixture(scope="module")
def watched() -> Sandbox:
    box = simcluster.sandbox(nodes=2, telemetry=True)
    box.wait("2m")
    return box


def test_queries_and_ranges_tell_what_was_scraped(watched: Sandbox) -> None:
    box = watched.fork()
    up = box.promql("up")
    assert len(up) > 8
    assert {one["value"][1] for one in up} == {"1"}
    end = unix_seconds(box.world.sim.now)
    (ready,) = box.promql("sum(kube_node_info)", start=end - 60, end=end, step="15s")
    assert [value for _, value in ready["values"]] == ["3"] * 5
    assert box.promql("scalar(vector(3))")[1] == "3"
    assert [one["labels"]["alertname"] for one in box.alerts()] == ["Watchdog"]
    with pytest.raises(QueryError, match="parse error"):
        box.promql("sum(")
    with pytest.raises(ValueError, match="a start and an end"):
        box.promql("up", start=3.0)


def test_a_query_is_a_look_and_repeats(watched: Sandbox) -> None:
    box, twin = watched.fork(), watched.fork()
    before = box.now_s
    assert box.promql("up") == twin.promql("up")
    assert box.now_s == pytest.approx(before + 2, abs=0.01)
    assert box.digest == twin.digest


def test_a_stopped_exporter_is_down_after_the_next_scrape(watched: Sandbox) -> None:
    box = watched.fork()
    where = str(box.kubectl("get pods -n observe -o wide"))
    server = next(line for line in where.splitlines() if line.startswith("prometheus-server"))
    other = "worker-1" if "worker-2" in server else "worker-2"
    box.node(other).sh("systemctl stop kubelet")
    box.wait("1m")
    down = {one["metric"]["instance"] for one in box.promql('up{job=~"kubernetes-nodes.*"} == 0')}
    assert down == {other}


def test_without_prometheus_there_is_nobody_to_ask() -> None:
    box = simcluster.sandbox(nodes=1)
    with pytest.raises(QueryError, match="404"):
        box.promql("up")


def test_the_desk_and_the_tools_answer_the_same(watched: Sandbox) -> None:
    box = watched.fork()
    desk, incident = Desk("token"), ServedIncident(box)
    desk.turns, desk.incident = Turns(SessionDoor(box)), incident
    tools = Toolbox(desk.turns, incident)
    with TestClient(desk.application(), headers={"Authorization": "Bearer token"}) as client:
        assert client.get("/prometheus/api/v1/query", headers={"Authorization": ""}).status_code == 401
        got = client.get("/prometheus/api/v1/query", params={"query": "count(up)"}).json()
        posted = client.post("/prometheus/api/v1/query", data={"query": "count(up)"}).json()
        assert got["status"] == posted["status"] == "success"
        assert got["data"]["result"][0]["value"][1] == posted["data"]["result"][0]["value"][1]
        bad = client.get("/prometheus/api/v1/query", params={"query": "up{"})
        assert (bad.status_code, bad.json()["errorType"]) == (400, "bad_data")
        silence = {
            "matchers": [{"name": "alertname", "value": "Watchdog", "isRegex": False}],
            "startsAt": "2026-03-02T09:00:00Z", "endsAt": "2026-03-02T19:00:00Z", "createdBy": "me", "comment": "no",
        }  # fmt: skip
        made = client.post("/alertmanager/api/v2/silences", json=silence)
        (shown,) = client.get("/alertmanager/api/v2/alerts", params={"filter": 'alertname="Watchdog"'}).json()
        assert shown["status"]["silencedBy"] == [made.json()["silenceID"]]
        assert client.delete(f"/alertmanager/api/v2/silence/{made.json()['silenceID']}").status_code == 200
        assert client.get("/alertmanager/api/v2/silences").json()[0]["status"] == {"state": "expired"}
        refused = client.post("/alertmanager/api/v2/silences", json={**silence, "matchers": []})
        assert (refused.status_code, refused.json()["message"]) == (
            422,
            "matchers in body should have at least 1 items",
        )
    text = asyncio.run(tools.get_metrics("count(up)"))
    assert f'"{got["data"]["result"][0]["value"][1]}"' in text
    assert '"alertname": "Watchdog"' in asyncio.run(tools.get_alerts()).replace('":"', '": "')
    with pytest.raises(Refused, match="parse error"):
        asyncio.run(tools.get_metrics("up{"))


def test_jaeger_answers_in_python_at_the_desk_and_by_the_tools(watched: Sandbox) -> None:
    box = watched.fork()
    assert box.traces(service="nobody") == []
    with pytest.raises(QueryError, match="404: trace not found"):
        box.traces("abc")
    with pytest.raises(QueryError, match="400: parameter 'service' is required"):
        box.traces()

    door = SessionDoor(box)
    desk = Desk("secret")
    desk.turns, desk.incident = Turns(door), ServedIncident(box)
    with TestClient(desk.application(), headers={"Authorization": "Bearer secret"}) as client:
        assert client.get("/jaeger/api/services").json()["data"] == []
        refused = client.get("/jaeger/api/traces", params={"service": "x", "limit": "y"})
        assert (refused.status_code, refused.json()["errors"][0]["code"]) == (400, 400)
        assert client.get("/jaeger/api/services", headers={"Authorization": ""}).status_code == 401

    async def run() -> None:
        tools = Toolbox(Turns(door), ServedIncident(box))
        assert await tools.get_services() == await tools.get_operations("x") == await tools.get_traces("x", 5) == "[]"
        assert await tools.get_dependency_graph() == "[]"
        with pytest.raises(Refused, match="must be positive"):
            await tools.get_traces("x", 0)

    asyncio.run(run())
    box.kubectl("scale -n observe deployment jaeger --replicas=0")
    box.wait("10s")
    with pytest.raises(QueryError, match="503: no endpoints available"):
        box.traces(service="x")
