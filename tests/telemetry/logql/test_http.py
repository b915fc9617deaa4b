"""Requests that Loki refuses, and what has no recording."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcluster.engine.clock import SECOND
from simcluster.telemetry.logql.http import handle
from simcluster.telemetry.logql.store import LogStore
from tests.telemetry.logql.hotel import FIRST, NOW_NS, store

SPAN = {"start": str((FIRST - 60) * SECOND), "end": str((FIRST + 65) * SECOND)}


def ask(path: str, source: LogStore | None = None, method: str = "GET", **values: str) -> tuple[int, str]:
    """Status and body."""
    text = urlencode(values)
    body = text.encode() if method == "POST" else b""
    answer = handle((method, path, "" if body else text, body), source or store(), NOW_NS)
    return answer.status, answer.body.decode()


def data(path: str, **values: str) -> Any:
    """What is in a good answer."""
    status, body = ask(path, **values)
    assert status == 200, body
    return json.loads(body)["data"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"start": "yesterday"},
            "could not parse 'start' parameter: strconv.ParseInt: parsing \"yesterday\": invalid syntax",
        ),
        ({"limit": "x"}, 'strconv.Atoi: parsing "x": invalid syntax'),
        ({"limit": "0"}, "limit must be a positive value"),
        ({"direction": "up"}, "invalid direction 'up'"),
        ({"step": "x"}, 'cannot parse "x" to a valid duration'),
        ({"step": "0"}, "zero or negative query resolution step widths are not accepted. Try a positive integer"),
        ({"start": "1795294209", "end": "1795294204"}, "end timestamp must not be before or equal to start time"),
        (
            {"limit": "5001"},
            "max entries limit per query exceeded, limit > max_entries_limit_per_query (5001 > 5000)",
        ),
        (
            {"start": "1792698603", "end": "1795294204"},
            "the query time range exceeds the limit (query length: 721h0m1s, limit: 30d1h)",
        ),
    ],
)  # fmt: skip
def test_parameters_that_are_wrong(values: dict[str, str], message: str) -> None:
    assert ask("/loki/api/v1/query_range", **{"query": '{app="geo"}', **SPAN, **values}) == (400, message)


def test_instants_may_be_seconds_or_dates() -> None:
    for start in ("1795294193", "1795294193.0", "2026-11-21T20:49:53Z", str(1795294193 * SECOND)):
        found = data("/loki/api/v1/query_range", query='{app="geo"}', start=start, end=SPAN["end"])
        assert [value[0] for one in found["result"] for value in one["values"]] == ["1795294193000000000"], start


def test_labels_and_values_are_of_streams_that_a_query_selects() -> None:
    assert data("/loki/api/v1/label/app/values", **SPAN) == ["frontend", "geo", "mongodb"]
    assert data("/loki/api/v1/label/pod/values", query='{app="geo"}', **SPAN) == ["geo-74cbd8bdf9-ff8j2"]
    assert ask("/loki/api/v1/label/none/values", **SPAN) == (200, '{"status":"success"}\n')
    assert ask("/loki/api/v1/labels", start="1", end="2") == (200, '{"status":"success"}\n')
    assert ask("/loki/api/v1/series", **SPAN) == (400, "0 matcher groups supplied")


def test_a_form_may_be_posted() -> None:
    found = ask("/loki/api/v1/query", method="POST", query='sum(count_over_time({app="geo"}[2m]))', time=SPAN["end"])
    assert json.loads(found[1])["data"]["result"] == [{"metric": {}, "value": [1795294209, "50"]}]


def test_instant_metrics_are_those_of_the_lines() -> None:
    time = str((FIRST + 60) * SECOND)
    unwrapped = 'avg_over_time({app="geo"} | json | unwrap latency [2m]) by (app)'
    assert data("/loki/api/v1/query", query=unwrapped, time=time)["result"] == [
        {"metric": {"app": "geo"}, "value": [1795294204, "2.45"]}
    ]
    assert data("/loki/api/v1/query", query="1 + 1", time=time)["result"] == [1795294204, "2"]
    status, body = ask("/loki/api/v1/query", query='sum(rate({app="mongodb"} | json [2m]))', time=time)
    assert (status, body.split("\n")[0]) == (
        400,
        'pipeline error: \'JSONParserErr\' for series: \'{app="mongodb", container="mongod", '
        'detected_level="unknown", namespace="hotel", pod="mongodb-0", service_name="mongodb"}\'.',
    )


def test_a_matrix_has_points_where_lines_are() -> None:
    counted = 'sum by (app) (count_over_time({app="mongodb"}[30s]))'
    found = data("/loki/api/v1/query_range", query=counted, step="30s", **SPAN)
    assert found["resultType"] == "matrix"
    assert found["result"] == [{"metric": {"app": "mongodb"}, "values": [[1795294200, "2"]]}]


def test_volume_is_by_the_labels_that_are_asked_for() -> None:
    found = data("/loki/api/v1/index/volume", query='{namespace="hotel"}', targetLabels="app", **SPAN)
    assert [one["metric"] for one in found["result"]] == [{"app": "frontend"}, {"app": "geo"}, {"app": "mongodb"}]
    assert found["result"][2]["value"][1] == str(70 - 16 + 16 + 14 + 7)


@pytest.mark.parametrize(
    ("stamp", "labels", "line", "message"),
    [
        ("1", {}, "x", "entry for stream '{service_name=\"unknown_service\"}' has timestamp too old: "
         "1970-01-01T00:00:00Z, oldest acceptable timestamp is: 2026-11-14T20:50:04Z"),
        (str(NOW_NS + 601 * SECOND), {"app": "a"}, "x", "entry for stream '{app=\"a\", service_name=\"a\"}' has "
         "timestamp too new: 2026-11-21T21:00:05Z"),
        (str(NOW_NS), {"app": "a"}, "x" * 256_001, "max entry size '256000' bytes exceeded for stream "
         "'{app=\"a\", service_name=\"a\"}' while adding an entry with length '256001' bytes"),
    ],
)  # fmt: skip
def test_lines_that_are_not_taken(stamp: str, labels: dict[str, str], line: str, message: str) -> None:
    body = json.dumps({"streams": [{"stream": labels, "values": [[stamp, line]]}]}).encode()
    source = LogStore()
    answer = handle(("POST", "/loki/api/v1/push", "", body), source, NOW_NS)
    assert (answer.status, answer.body.decode()) == (400, message + "\n")
    assert len(source) == 0


@pytest.mark.parametrize(
    "body", [b"[]", b'{"streams": 1}', b'{"streams": [{"stream": {}, "values": [["x", "y"]]}]}', b""]
)
def test_bodies_that_are_no_lines(body: bytes) -> None:
    assert handle(("POST", "/loki/api/v1/push", "", body), LogStore(), NOW_NS).status == 400


def test_the_other_pages() -> None:
    assert ask("/ready") == (200, "ready\n")
    assert ask("/loki/api/v1/nope") == (404, "404 page not found\n")
    assert ask("/loki/api/v1/labels", method="DELETE")[0] == 405
    assert ask("/loki/api/v1/tail", query='{app="geo"}') == (400, "Bad Request\n")
    assert ask("/loki/api/v1/tail", query='{app="geo"}', delay_for="6") == (400, "delay_for can't be greater than 5")
    assert ask("/loki/api/v1/rules") == (404, "no rule groups found\n")
    assert json.loads(ask("/prometheus/api/v1/rules")[1])["data"] == {"groups": []}
    assert json.loads(ask("/loki/api/v1/status/buildinfo")[1])["version"]
    assert 'loki_distributor_lines_received_total{tenant="fake"} 102\n' in ask("/metrics")[1]


def test_asking_changes_nothing() -> None:
    source = store()
    first = ask("/loki/api/v1/query_range", source, query='{namespace="hotel"} | json', **SPAN)
    assert ask("/loki/api/v1/query_range", source, query='{namespace="hotel"} | json', **SPAN) == first


WORDS = (
    '{app="geo"}', '{namespace=~".+"}', "|=", "!~", "|>", '"no.*"', '"("', "| json", "| logfmt", "|", "msg", "latency",
    "| pattern", '"<a> <b>"', "| regexp", '"(?P<x>.)"', "| unpack", "| line_format", '"{{.msg | ToUpper}}"', '"{{"',
    '"{{div 1 0}}{{.a.b}}{{index 1}}"', "| label_format", "x=msg", 'x="{{.msg}}"', "| drop", "| keep", "| unwrap",
    "latency", "duration(latency)", ">", "=", "5", "1h", "2KB", "ip(", "and", "or", ",", "(", ")", "[1m]", "[1x]",
    "rate(", "sum(", "topk(1,", "quantile_over_time(0.5,", "avg_over_time(", "by (app)", "without ()", "offset 1m", "+",
    "-", "/ on (app) group_left (pod)", "== bool", "unless", "vector(1)", "label_replace(", "^", "%", "#", "\n", "ä",
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=9))
def test_no_query_breaks_it(words: list[str]) -> None:
    text = urlencode({"query": " ".join(words), "time": SPAN["end"], **SPAN})
    for path in ("query", "query_range"):
        answer = handle(("GET", f"/loki/api/v1/{path}", text, b""), SOURCE, NOW_NS)
        assert answer.status in (200, 400)
        if answer.status == 200:
            json.loads(answer.body)


SOURCE = store()


@pytest.mark.parametrize("digits", ["9" * 30, "9" * 5000, "9" * 5000 + ".5"])
def test_no_number_is_too_long_for_it(digits: str) -> None:
    for query in (
        f'rate({{app="geo"}}[{digits}s])',
        f'{{app="geo"}} | json | latency > {digits}',
        f'{{app="geo"}} | json | latency > {digits}s',
        f'{{app="geo"}} | json | latency > {digits}KB',
        f'topk({digits}, rate({{app="geo"}}[1m]))',
        f"vector({digits}) * 2",
    ):
        assert ask("/loki/api/v1/query_range", query=query, **SPAN)[0] in (200, 400)
    for name in ("limit", "start", "end", "step", "since"):
        assert ask("/loki/api/v1/query_range", **{"query": '{app="geo"}', name: digits})[0] == 400
    line = json.dumps({"streams": [{"stream": {"app": "a"}, "values": [[digits, "x"]]}]})
    assert handle(("POST", "/loki/api/v1/push", "", line.encode()), store(), NOW_NS).status == 400
