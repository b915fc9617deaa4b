"""The HTTP API: forms and texts as a real 3.5 answered (recorded), limits, and requests that make no sense."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster.engine.clock import MINUTE, SECOND
from simcluster.telemetry.promql.answers import Answer
from simcluster.telemetry.promql.http import ROUTES, Status, handle
from simcluster.telemetry.promql.native import Native
from simcluster.telemetry.promql.targets import Target, described
from tests.telemetry.promql.memory import Memory

NOW = 1_795_294_204_000


def store() -> Memory:
    memory = Memory()
    for job, value in (("down", 0.0), ("loki", 1.0), ("prometheus", 1.0)):
        samples = {NOW - 9_673 + 2_000 * k: value for k in range(5)}
        memory.add({"__name__": "up", "job": job, "instance": f"{job}:80"}, samples)
        memory.add({"__name__": "sent_total", "job": job}, {t: float(t - NOW + 20_000) for t in samples})
    return memory


def get(path: str, values: dict[str, object] | list[tuple[str, object]] | None = None) -> Answer:
    return handle(("GET", path, urlencode(values or {}), b""), store(), NOW)


def text(path: str, **values: object) -> str:
    return get(path, values).body.decode()


def test_results_have_the_recorded_forms() -> None:
    at = NOW // 1000
    assert text("/api/v1/query", query="1+1", time=at) == (
        '{"status":"success","data":{"resultType":"scalar","result":[1795294204,"2"]}}'
    )
    assert text("/api/v1/query", query='"x"', time=at) == (
        '{"status":"success","data":{"resultType":"string","result":[1795294204,"x"]}}'
    )
    assert text("/api/v1/query", query="0/0", time=at).endswith('"result":[1795294204,"NaN"]}}')
    assert text("/api/v1/query", query="nothing_here", time=at).endswith('{"resultType":"vector","result":[]}}')
    assert text("/api/v1/query", query='absent(nothing_here{a="b"})', time=at).endswith(
        '"result":[{"metric":{"a":"b"},"value":[1795294204,"1"]}]}}'
    )
    assert text("/api/v1/query", query='up{job="down"}[4s]', time=at).endswith(
        '{"resultType":"matrix","result":[{"metric":{"__name__":"up","instance":"down:80","job":"down"},'
        '"values":[[1795294200.327,"0"],[1795294202.327,"0"]]}]}}'
    )
    assert text("/api/v1/query_range", query='up{job="loki"}', start=at - 10, end=at, step=5).endswith(
        '"values":[[1795294199,"1"],[1795294204,"1"]]}]}}'
    )
    assert text("/api/v1/format_query", query="sum by(job)(up)") == '{"status":"success","data":"sum by (job) (up)"}'
    assert text("/api/v1/label/job/values") == '{"status":"success","data":["down","loki","prometheus"]}'
    assert text("/api/v1/label/a-b/values") == '{"status":"success","data":[]}'
    assert text("/-/ready") == "Prometheus Server is Ready.\n"


@pytest.mark.parametrize(
    ("path", "values", "status", "kind", "message"),
    [
        ("query", {"query": "sum(up"}, 400, "bad_data", 'invalid parameter "query": 1:7: parse error: unclosed left'),
        ("query", {"query": ""}, 400, "bad_data", 'invalid parameter "query": unknown position: parse error: no expr'),
        (
            "query",
            {"query": "up", "time": "x"},
            400,
            "bad_data",
            "Invalid time value for 'time': cannot parse \"x\" to",
        ),
        (
            "query",
            {"query": "up+on()up"},
            422,
            "execution",
            "found duplicate series for the match group {} on the right",
        ),
        ("query_range", {"query": "up"}, 400, "bad_data", 'invalid parameter "start": cannot parse "" to a valid time'),
        (
            "query_range",
            {"query": "up", "start": 2, "end": 1, "step": 1},
            400,
            "bad_data",
            'invalid parameter "end": end timestamp must not be before start time',
        ),
        (
            "query_range",
            {"query": "up", "start": 0, "end": 86400, "step": 1},
            400,
            "bad_data",
            "maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
        ),
        (
            "query_range",
            {"query": "up[5m]", "start": 0, "end": 1, "step": 1},
            400,
            "bad_data",
            'invalid expression type "range vector" for range query, must be Scalar or instant Vector',
        ),
        ("query_range", {"query": "up", "start": 0, "end": 1, "step": 0}, 400, "bad_data", "Try a positive integer"),
        ("series", {}, 400, "bad_data", "no match[] parameter provided"),
        ("series", {"match[]": '{a=""}'}, 400, "bad_data", "match[] must contain at least one non-empty matcher"),
        ("series", {"match[]": "rate(up[5m])"}, 400, "bad_data", '1:5: parse error: unexpected "("'),
        ("rules", {"type": "x"}, 400, "bad_data", 'invalid parameter "type": not supported value "x"'),
    ],
)
def test_mistakes_have_their_type_and_text(
    path: str, values: dict[str, object], status: int, kind: str, message: str
) -> None:
    answer = get(f"/api/v1/{path}", values)
    content = json.loads(answer.body)
    assert (answer.status, content["status"], content["errorType"]) == (status, "error", kind)
    assert message in content["error"]


def test_a_form_in_the_body_counts() -> None:
    answer = handle(("POST", "/api/v1/query", "", b"query=count(up)"), store(), NOW)
    assert json.loads(answer.body)["data"]["result"][0]["value"][1] == "3"


def test_labels_series_and_notes() -> None:
    assert json.loads(text("/api/v1/labels"))["data"] == ["__name__", "instance", "job"]
    found = json.loads(get("/api/v1/series", [("match[]", "up"), ("match[]", 'sent_total{job="loki"}')]).body)["data"]
    assert len(found) == 4
    limited = json.loads(text("/api/v1/label/job/values", limit=2))
    assert (len(limited["data"]), limited["warnings"]) == (2, ["results truncated due to limit"])
    noted = json.loads(text("/api/v1/query", query="sum(rate(up[5s]))"))
    assert noted["infos"] == [
        'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "up" (1:10)'
    ]


def test_what_a_server_says_of_itself() -> None:
    target = Target(
        (("__address__", "a:80"),), (("job", "a"),), "a", "http://a:80/metrics", "", "up", 0, SECOND, MINUTE, SECOND
    )

    def targets(state: str) -> dict[str, object]:
        return described([target], state)

    shown = handle(("GET", "/api/v1/targets", "", b""), store(), NOW, Status(targets=targets))
    assert json.loads(shown.body)["data"]["activeTargets"][0] == {
        "discoveredLabels": {"__address__": "a:80"},
        "labels": {"job": "a"},
        "scrapePool": "a",
        "scrapeUrl": "http://a:80/metrics",
        "globalUrl": "http://a:80/metrics",
        "lastError": "",
        "lastScrape": "2026-03-02T09:00:00.000000000Z",
        "lastScrapeDuration": 1,
        "health": "up",
        "scrapeInterval": "1m",
        "scrapeTimeout": "1s",
    }
    counts = json.loads(text("/api/v1/status/tsdb"))["data"]
    assert counts["headStats"]["numSeries"] == 6
    assert counts["seriesCountByMetricName"][0] == {"name": "sent_total", "value": 3}
    assert json.loads(text("/api/v1/status/buildinfo"))["data"]["version"].startswith("3.")
    assert json.loads(text("/api/v1/parse_query", query="rate(a[5m])"))["data"]["func"]["name"] == "rate"
    assert get("/").status == 302


def test_native_histograms_are_shown_with_their_buckets() -> None:
    memory = Memory()
    memory.add({"__name__": "calls"}, {})
    one = Native(0, 0.001, 1.0, 4.0, 6.0, {0: 1.0, 1: 2.0})
    memory.natives[(("__name__", "calls"),)] = {NOW: one}
    at = urlencode({"query": "calls", "time": NOW // 1000})
    body = handle(("GET", "/api/v1/query", at, b""), memory, NOW).body.decode()
    shown = '{"count":"4","sum":"6","buckets":[[3,"-0.001","0.001","1"],[0,"0.5","1","1"],[0,"1","2","2"]]}'
    assert body.endswith(f'[{{"metric":{{"__name__":"calls"}},"histogram":[1795294204,{shown}]}}]}}}}')
    span = urlencode({"query": "calls", "start": NOW // 1000, "end": NOW // 1000, "step": 1})
    body = handle(("GET", "/api/v1/query_range", span, b""), memory, NOW).body.decode()
    assert body.endswith(f'[{{"metric":{{"__name__":"calls"}},"histograms":[[1795294204,{shown}]]}}]}}}}')


def test_another_server_scrapes_the_newest_samples() -> None:
    found = get("/federate", [("match[]", 'up{job="loki"}'), ("match[]", '{__name__=~"up|sent_total",job="loki"}')])
    newest = NOW - 1_673
    assert found.body.decode().splitlines() == [
        "# TYPE sent_total untyped",
        f'sent_total{{instance="",job="loki"}} 18327 {newest}',
        "# TYPE up untyped",
        f'up{{instance="loki:80",job="loki"}} 1 {newest}',
    ]
    assert found.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert (get("/federate", {"match[]": "up{"}).status, get("/federate").body) == (400, b"")
    query = urlencode({"match[]": "up"})
    refused = handle(("POST", "/api/v1/admin/tsdb/delete_series", query, b""), store(), NOW)
    assert (refused.status, json.loads(refused.body)["error"]) == (503, "admin APIs disabled")
    assert (get("/graph", {"g0.expr": "up"}).headers["Location"], get("/alerts").status) == ("/query?g0.expr=up", 200)


def test_unknown_paths_and_methods() -> None:
    assert (get("/api/v1/nope").status, get("/api/v1/nope").body) == (404, b"404 page not found\n")
    assert handle(("DELETE", "/api/v1/query", "", b""), store(), NOW).status == 405
    assert handle(("GET", "/-/ready", "", b""), store(), NOW, Status(ready=False)).status == 503


@given(
    path=st.sampled_from(sorted(path for path, (methods, _) in ROUTES.items() if "GET" in methods)),
    values=st.dictionaries(
        st.sampled_from(["query", "time", "start", "end", "step", "match[]", "limit", "timeout", "lookback_delta"]),
        st.one_of(
            st.sampled_from(
                ["up", "rate(up[5m])", "1e300", "-1", "0", "5m", "NaN", "Inf", "2026-01-01T00:00:00Z", "{}"]
            ),
            st.text(alphabet='up{}[]()5m.,=~"-+ eN\x00\u00e9', max_size=12),
        ),
    ),
)
def test_any_request_is_answered(path: str, values: dict[str, str]) -> None:
    answer = get(path, dict(values))
    assert answer.status in ((200, 404, 400, 422) if path.endswith("/targets/metadata") else (200, 400, 422))
    if path.startswith("/api/"):
        assert json.loads(answer.body)["status"] == ("success" if answer.status == 200 else "error")
