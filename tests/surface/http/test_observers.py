"""What observes a served cluster, asked by programs of others: promtool, client libraries, an MCP server, Grafana."""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import wsproto
from mcp import Client, StdioServerParameters

from tests.surface.http.served import Answer, ServedCluster


class Observed:
    """A served cluster with everything that observes, two minutes old."""

    def __init__(self, folder: Path) -> None:
        self.served = ServedCluster(folder / "served", "--empty", "--telemetry", "--nodes", "1")
        self.served.wait()
        self.served.desk("/wait", "90s")
        self.desk = self.served.environment["SIMCLUSTER_DESK"].strip("'")
        self.prometheus = f"{self.desk}/prometheus"
        self.now = float(self.data("/prometheus/api/v1/query?query=time()")["result"][0])

    def get(self, path: str) -> Answer:
        """What a GET brings."""
        place = urlsplit(self.desk)
        request = urllib.request.Request(f"http://{place.hostname}:{place.port}{path}")
        request.add_header("Authorization", "Basic " + b64encode(f"a:{place.password}".encode()).decode())
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return Answer(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read())

    def data(self, path: str) -> Any:
        """The `data` of a good answer."""
        found = self.get(path)
        assert found.code == 200, found.body
        return found.json["data"]


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    made = Observed(tmp_path_factory.mktemp("observed"))
    yield made
    made.served.kill()


def promtool(*words: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("no promtool on this machine (package prometheus)")
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=300)


def test_promtool_asks_for_samples_series_and_labels(observed: Observed) -> None:
    url, now = observed.prometheus, int(observed.now)
    instant = promtool("query", "instant", f"--time={now}", url, 'up{job="prometheus"}')
    assert instant.stdout.startswith("up{"), instant.stderr
    assert f"=> 1 @[{now}" in instant.stdout
    span = (f"--start={now - 30}", f"--end={now}", "--step=15s")
    assert promtool("query", "range", *span, url, "count(up) > bool 5").stdout.count("\n1 @[") == 3
    assert 'job="prometheus"' in promtool("query", "series", "--match=up", url).stdout
    assert "kubernetes-nodes-cadvisor\n" in promtool("query", "labels", url, "job").stdout
    wrong = promtool("query", "instant", url, "sum(up")
    assert (wrong.returncode, "unclosed left parenthesis" in wrong.stderr) == (1, True)


def test_promtool_takes_every_file_of_rules(observed: Observed, tmp_path: Path) -> None:
    found = observed.served.ask("GET", "/api/v1/namespaces/observe/configmaps/prometheus-rules").json["data"]
    assert len(found) >= 5
    for name, text in found.items():
        (tmp_path / name).write_text(text)
    checked = promtool("check", "rules", *(str(tmp_path / name) for name in found))
    assert (checked.returncode, checked.stdout.count("SUCCESS")) == (0, len(found)), checked.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_client_library_reads_metrics(observed: Observed) -> None:
    library = pytest.importorskip("prometheus_api_client")
    client = library.PrometheusConnect(url=observed.prometheus)
    assert client.check_prometheus_connection()
    assert {"up", "kube_pod_info", "node_cpu_seconds_total"} <= set(client.all_metrics())
    (up,) = client.get_current_metric_value("up", {"job": "prometheus"})
    assert up["value"][1] == "1"
    assert "kubernetes-nodes" in client.get_label_values("job")
    end = datetime.datetime.fromtimestamp(observed.now)
    span = {"start_time": end - datetime.timedelta(seconds=60), "end_time": end}
    (row,) = client.custom_query_range("count(up)", step="15s", **span)
    assert len(row["values"]) == 5
    assert client.get_metric_aggregation("count(up)", ["max"], step="15s", **span)["max"] > 5
    assert len(client.get_metric_range_data("up", **span)) == int(float(row["values"][-1][1]))
    own = {"job": "prometheus"}
    assert {"type": "gauge", "metric": "up"}.items() <= next(
        entry for entry in client.get_target_metadata(own) if entry["metric"] == "up"
    ).items()
    client._session.close()


def test_an_mcp_server_of_others_answers_from_it(observed: Observed) -> None:
    pytest.importorskip("prometheus_mcp_server")

    async def run() -> list[str]:
        arguments = ["-m", "prometheus_mcp_server.main"]
        environment = {**os.environ, "PROMETHEUS_URL": observed.prometheus}
        place = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
        end = str(int(observed.now))
        span = {"start": str(int(observed.now) - 30), "end": end, "step": "15s"}
        async with Client(place) as client:
            asked: list[tuple[str, dict[str, Any]]] = [
                ("execute_query", {"query": "count(up)", "time": end}),
                ("execute_range_query", {"query": "count(up)", **span}),
                ("list_metrics", {"filter_pattern": "kube_pod_info"}),
                ("get_targets", {}),
            ]
            return [(await client.call_tool(name, given)).content[0].text for name, given in asked]

    instant, whole, names, targets = (json.loads(text) for text in asyncio.run(run()))
    assert float(instant["result"][0]["value"][1]) > 5
    assert len(whole["result"][0]["values"]) == 3
    assert names["metrics"] == ["kube_pod_info"]
    assert any(one["labels"]["job"] == "prometheus" for one in targets["activeTargets"])


def test_grafana_finds_what_its_data_sources_ask_for(observed: Observed) -> None:
    now = int(observed.now)
    span = f"start={now - 60}&end={now}"
    metrics = "/prometheus/api/v1"
    assert observed.data(f"{metrics}/status/buildinfo")["version"].startswith("3.")
    assert observed.data(f"{metrics}/query?query=1%2B1&time={now}")["result"][1] == "2"
    assert "__name__" in observed.data(f"{metrics}/labels?{span}&match[]=up")
    assert "up" in observed.data(f"{metrics}/label/__name__/values?{span}&limit=40000")
    assert observed.data(f"{metrics}/series?{span}&match[]=up")[0]["__name__"] == "up"
    assert observed.data(f"{metrics}/metadata?metric=up&limit=1")["up"][0]["type"] == "gauge"
    assert observed.data(f"{metrics}/query_exemplars?query=up&{span}") == []
    assert observed.data(f"{metrics}/format_query?query=sum(up)by(job)") == "sum by (job) (up)"
    assert observed.data(f"{metrics}/parse_query?query=up")["type"] == "vectorSelector"
    assert observed.data(f"{metrics}/rules?type=alert")["groups"]
    assert "prometheus" in observed.data(f"{metrics}/scrape_pools")["scrapePools"]
    assert observed.get(f"{metrics}/targets/metadata?match_target=%7Bjob%3D%22none%22%7D").json == {
        "status": "error", "errorType": "not_found", "error": "specified metadata not found",
    }  # fmt: skip
    logs, loki = "/loki/api/v1", "query=%7Bapp%3D%22loki%22%7D"
    health = observed.data(f"{logs}/query?query=vector(1)%2Bvector(1)&time={now}000000000")
    assert health["result"][0]["value"][1] == "2"
    assert {"app", "namespace", "pod"} <= set(observed.data(f"{logs}/labels?since=1h"))
    assert "loki" in observed.data(f"{logs}/label/app/values?since=1h")
    assert observed.data(f"{logs}/query_range?{loki}&limit=10&direction=backward&since=1h")["result"]
    assert observed.get(f"{logs}/index/stats?{loki}&since=1h").json["entries"] > 0
    assert observed.data(f"{logs}/index/volume_range?{loki}&since=1h&step=5m")["resultType"] == "matrix"
    detected = observed.get(f"{logs}/detected_labels?{loki}&since=1h").json["detectedLabels"]
    assert {"label": "app", "cardinality": 1} in detected
    fields = observed.get(f"{logs}/detected_fields?{loki}&since=1h").json["fields"]
    assert {"label": "caller", "type": "string", "parsers": ["logfmt"]}.items() <= fields[0].items()
    assert observed.data(f"{logs}/patterns?{loki}&since=1h")[0]["samples"]
    assert observed.data(f"{logs}/format_query?{loki}") == '{app="loki"}'
    volume = "query=sum%20by(level)(count_over_time(%7Bapp%3D%22loki%22%7D%7Cdrop%20__error__%5B1m%5D))"
    assert observed.data(f"{logs}/query_range?{volume}&since=1h&step=60")["resultType"] == "matrix"
    traces = "/jaeger/api"
    assert observed.data(f"{traces}/services") == []
    assert observed.data(f"{traces}/services/frontend/operations") == []
    assert observed.data(f"{traces}/traces?service=frontend&limit=20&lookback=1h") == []
    assert observed.data(f"{traces}/dependencies?endTs={now}000&lookback=3600000") == []
    silences = "/alertmanager/api/v2"
    assert observed.get(f"{silences}/status").json["versionInfo"]["version"]
    assert observed.get(f"{silences}/receivers").json
    assert observed.get(f"{silences}/alerts/groups?active=true").code == 200
    assert b"Healthy" in observed.get("/prometheus/-/healthy").body
    assert observed.get("/alertmanager/-/healthy").body == b"OK"
    assert b"up{" in observed.get("/prometheus/federate?match[]=up").body


def followed(observed: Observed, query: str, messages: int) -> list[dict[str, Any]]:
    """So many messages of a `tail`, then the client goes."""
    place = urlsplit(observed.desk)
    peer = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
    given = b"Basic " + b64encode(f"a:{place.password}".encode())
    asked = wsproto.events.Request(
        host=str(place.hostname), target=f"/loki/api/v1/tail?{query}", extra_headers=[(b"authorization", given)]
    )
    found: list[dict[str, Any]] = []
    with socket.create_connection((place.hostname, place.port), timeout=60) as wire:
        wire.sendall(peer.send(asked))
        while len(found) < messages:
            peer.receive_data(wire.recv(65536))
            for event in peer.events():
                if isinstance(event, wsproto.events.TextMessage):
                    found.append(json.loads(event.data))
                elif isinstance(event, wsproto.events.RejectData):
                    return [{"refused": event.data.decode()}]
        wire.sendall(peer.send(wsproto.events.CloseConnection(1000)))
    return found


def test_lines_are_followed_as_they_come(observed: Observed) -> None:
    create = "create deployment chat --image=busybox -- sh -c 'while true; do echo hello; sleep 1; done'"
    observed.served.desk("/sh", f"kubectl {create}")
    observed.served.desk("/wait", "40s")
    query = quote('{app="chat"} |= "hello"')
    first, *rest = followed(observed, f"query={query}&limit=5", 6)
    assert len(first["streams"]) == 5
    lines = [(int(at), line) for one in (first, *rest) for each in one["streams"] for at, line in each["values"]]
    assert lines == sorted(set(lines))
    assert {line for _, line in lines} == {"hello"}
    assert first["streams"][0]["stream"]["app"] == "chat"
    assert lines[-1][0] - lines[4][0] > 4e9
    assert "could not parse" in followed(observed, f"query={query}&start=yesterday", 1)[0]["refused"]
