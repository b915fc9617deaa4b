"""Jaeger's storage and its query API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simcluster.engine import fork
from simcluster.telemetry.traces.gotext import duration, texts
from simcluster.telemetry.traces.http import handle
from simcluster.telemetry.traces.span import Log, Source, Span, Tags
from simcluster.telemetry.traces.store import Query, TraceStore

NOW_US = 1_795_294_396_330_882
WEB, GEO = Source("web", (("hostname", "web-1"),)), Source("geo", (("hostname", "geo-1"),))


def span(number: int, source: Source, took_us: int = 1000, parent: str = "", tags: Tags = (), ago_s: int = 60) -> Span:
    identity = f"{number:016x}"
    own = f"{number:08x}{len(parent):04x}{took_us % 65536:04x}"
    kind = (("span.kind", "server"),)
    start = NOW_US - ago_s * 1_000_000 + number
    return Span(identity, own, parent, source, f"/{source.service}", start, took_us, (*kind, *tags))


@pytest.fixture
def store() -> TraceStore:
    store = TraceStore()
    for number in range(1, 6):
        root = span(number, WEB, number * 1000)
        error: Tags = (("error", True),) if number == 3 else ()
        store.write(span(number, GEO, 500, root.span_id, error))
        store.write(root)
    return store


def ask(store: TraceStore, target: str) -> Any:
    path, _, query = target.partition("?")
    answer = handle(("GET", path, query), store, NOW_US)
    return json.loads(answer.body)


def found(store: TraceStore, query: str) -> list[int]:
    answer = ask(store, f"/api/traces?{query}")
    assert answer["errors"] is None, answer
    return [int(trace["traceID"], 16) for trace in answer["data"]]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("service=web", [1, 2, 3, 4, 5]),
        ("service=web&limit=2", [4, 5]),
        ("service=geo&tags=%7B%22error%22%3A%22true%22%7D", [3]),
        ("service=geo&tag=error:true", [3]),
        ("service=web&tag=error:true", []),
        ("service=web&tag=hostname:web-1", [1, 2, 3, 4, 5]),
        ("service=web&minDuration=3ms&maxDuration=4ms", [3, 4]),
        ("service=web&operation=/geo", []),
        (f"service=web&start={NOW_US}", []),
        (f"service=web&end={NOW_US - 60_000_000 + 2}", [1, 2]),
        ("traceID=3&traceID=9", [3]),
    ],
)  # fmt: skip
def test_traces_are_found(store: TraceStore, query: str, numbers: list[int]) -> None:
    if "traceID=9" in query:
        answer = ask(store, f"/api/traces?{query}")
        assert answer["errors"] == [{"msg": "trace not found", "traceID": "0000000000000009"}]
        assert [int(trace["traceID"], 16) for trace in answer["data"]] == numbers
    else:
        assert found(store, query) == numbers


@pytest.mark.parametrize(
    ("target", "status", "message"),
    [
        ("/api/traces/abc123", 404, "trace not found"),
        ("/api/traces/zzz", 400, 'strconv.ParseUint: parsing "zzz": invalid syntax'),
        (f"/api/traces/{'1' * 33}", 400, f"TraceID cannot be longer than 32 hex characters: {'1' * 33}"),
        ("/api/traces?service=web&tag=x", 400, "malformed 'tag' parameter, expecting key:value, received: x"),
        ("/api/traces?service=web&end=9e9", 400, "unable to parse param 'end': strconv.ParseInt: parsing \"9e9\": "),
        ("/api/traces?service=web&limit=99999999999", 400, 'strconv.ParseInt: parsing "99999999999": value out of '),
        ("/api/traces?service=web&minDuration=2s&maxDuration=1s", 400, "'maxDuration' should be greater than 'minD"),
        ("/api/traces?service=web&maxDuration=3y", 400, "unable to parse param 'maxDuration': time: unknown unit "),
        ("/api/dependencies?lookback=1h", 400, "unable to parse param 'lookback': strconv.ParseInt: parsing "),
        ("/api/metrics/calls?service=web", 501, "metrics querying is currently disabled"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_as_jaeger_says_it(store: TraceStore, target: str, status: int, message: str) -> None:
    path, _, query = target.partition("?")
    answer = handle(("GET", path, query), store, NOW_US)
    (error,) = json.loads(answer.body)["errors"]
    assert (answer.status, error["code"]) == (status, status)
    assert error["msg"].startswith(message)
    assert answer.content_type == "text/plain; charset=utf-8"


def test_dependencies_count_calls_between_services(store: TraceStore) -> None:
    answer = ask(store, "/api/dependencies")
    assert answer["data"] == [{"parent": "web", "child": "geo", "callCount": 5}]
    assert ask(store, "/api/dependencies?lookback=1000")["data"] == []
    assert ask(store, "/api/dependencies?service=nobody")["data"] == []


def test_the_ring_forgets_the_oldest_trace() -> None:
    store = TraceStore(most=3)
    for number in range(1, 6):
        store.write(span(number, WEB))
    assert [trace[0].trace_id for trace in store.find(Query("web"))] == [f"{n:016x}" for n in (3, 4, 5)]
    assert (len(store), store.spans) == (3, 3)
    assert store.services() == ["web"]


def test_forks_go_ways_of_their_own(store: TraceStore) -> None:
    other = fork({"store": store})["store"]
    other.write(span(9, Source("late", ())))
    assert (len(store), len(other)) == (5, 6)
    assert store.services() == ["geo", "web"]


def test_an_event_is_shown_with_its_fields() -> None:
    store = TraceStore()
    failed = span(1, WEB)._replace(logs=(Log(NOW_US, (("event", "error"), ("message", "no <way>"))),))
    store.write(Span(*failed))
    (trace,) = ask(store, "/api/traces?traceID=1")["data"]
    (log,) = trace["spans"][0]["logs"]
    assert log["timestamp"] == NOW_US
    assert log["fields"][1] == {"key": "message", "type": "string", "value": "no <way>"}
    assert "\\u003cway\\u003e" in handle(("GET", "/api/traces", "traceID=1"), store, NOW_US).body


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nojson", "invalid character 'o' in literal null (expecting 'u')"),
        ("", "unexpected end of JSON input"),
        ('{"a":', "unexpected end of JSON input"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a":1}', "json: cannot unmarshal number into Go value of type string"),
        ("[]", "json: cannot unmarshal array into Go value of type map[string]string"),
        ('{"a":"b"} x', "invalid character 'x' after top-level value"),
    ],
)
def test_json_is_read_as_go_reads_it(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(").replace(")", r"\)").replace("[", r"\[")):
        texts(text)


@pytest.mark.parametrize("text", ["", "15", "1x", "s", "1..s", "9999999h"])
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^time: "):
        duration(text)
