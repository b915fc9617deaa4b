"""What browsers of logs ask for: labels, fields, patterns, and queries as they are printed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simcluster.engine.clock import SECOND
from simcluster.telemetry.logql.parsing import parse
from simcluster.telemetry.logql.printing import pretty, shown
from tests.telemetry.logql.hotel import FIRST
from tests.telemetry.logql.test_http import SPAN, ask

ZERO = "zero or negative query resolution step widths are not accepted. Try a positive integer"
GEO = '{app="geo"}'


def found(path: str, **values: str) -> Any:
    """A good answer."""
    status, body = ask(f"/loki/api/v1/{path}", **{**SPAN, **values})
    assert status == 200, body
    return json.loads(body)


def test_fields_are_found_with_their_types_and_parsers() -> None:
    answer = found("detected_fields", query=GEO)
    assert answer["limit"] == 1000
    fields = {one["label"]: one for one in answer["fields"]}
    assert fields["latency"] == {"label": "latency", "type": "float", "cardinality": 50, "parsers": ["json"]}
    assert fields["detected_level"]["parsers"] is None
    assert {"level", "msg"} <= set(fields)
    assert "app" not in fields
    frontend = {one["label"]: one for one in found("detected_fields", query='{app="frontend"}')["fields"]}
    assert (frontend["duration"]["type"], frontend["status"]["type"]) == ("duration", "int")
    assert frontend["path"]["parsers"] == ["logfmt"]
    parsed = {
        one["label"]: one["parsers"] for one in found("detected_fields", query=f"{GEO} | json | latency > 4")["fields"]
    }
    assert parsed["msg"] == ["json"]


def test_fields_are_limited() -> None:
    assert len(found("detected_fields", query=GEO, limit="2")["fields"]) == 2
    assert len(found("detected_fields", query=GEO, field_limit="1")["fields"]) == 1
    one = found("detected_fields", query=GEO, line_limit="1")["fields"]
    assert {field["cardinality"] for field in one} == {1}
    assert found("detected_fields", query='{app="none"}') == {"limit": 1000}


def test_values_of_a_field() -> None:
    assert found("detected_field/level/values", query=GEO)["values"] == ["error", "info"]
    assert found("detected_field/level/values", query=GEO, limit="1") == {"values": ["error"], "limit": 1}
    assert found("detected_field/none/values", query=GEO) == {"limit": 1000}


@pytest.mark.parametrize(
    ("path", "values", "message"),
    [
        ("detected_fields", {"limit": "x"}, 'strconv.Atoi: parsing "x": invalid syntax'),
        ("detected_fields", {"line_limit": "0"}, "limit must be a positive value"),
        ("detected_fields", {"query": "rate({a=`b`}[1m])"}, "only log selector is supported"),
        ("detected_fields", {"step": "0"}, ZERO),
        (
            "detected_fields",
            {"line_limit": "5001"},
            "max entries limit per query exceeded, limit > max_entries_limit_per_query (5001 > 5000)",
        ),
        (
            "query_range",
            {"query": f"{GEO} | line_format `{{{{.msg | humanize}}}}`"},
            'parse error : invalid line template: template: line:1: function "humanize" not defined',
        ),
        ("patterns", {"query": f"{GEO} |= `x`"}, "parse error : only label matchers is supported"),
        ("patterns", {"start": "2", "end": "1"}, "end timestamp must not be before or equal to start time"),
        ("query_range", {"interval": "-1"}, "interval must be >= 0"),
        (
            "query_range",
            {"step": "1ms"},
            "exceeded maximum resolution of 11,000 points per time series. "
            "Try increasing the value of the step parameter",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(path: str, values: dict[str, str], message: str) -> None:
    assert ask(f"/loki/api/v1/{path}", **{"query": GEO, **SPAN, **values}) == (400, message)


def test_patterns_say_what_differs_and_when() -> None:
    rows = found("patterns", query='{app="frontend"}')["data"]
    assert sum(count for row in rows for _, count in row["samples"]) == 50
    assert rows[0]["level"] == "info"
    assert 'msg="handled request" path=/hotels status=<_> duration=<_>' in rows[0]["pattern"]
    stamps = [at for at, _ in rows[0]["samples"]]
    assert stamps == sorted(stamps)
    assert all(at % 10 == 0 and FIRST - 10 <= at <= FIRST + 50 for at in stamps)
    assert found("patterns", query='{app="none"}') == {"status": "success", "data": []}


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ('{{__timestamp__ | date "2006-01-02 15:04:05.000"}}', "2026-11-21 20:49:53.000"),
        ('{{__timestamp__ | date "Mon Jan _2 3:04PM MST"}}', "Sat Nov 21 8:49PM UTC"),
        ('{{"2026-03-02 09:30" | toDate "2006-01-02 15:04" | unixEpoch}}', "1772443800"),
        ('{{unixToTime "1772442000000" | date "2006"}}', "2026"),
        ('{{(fromJson __line__).msg}}', "nearby"),
    ],
)  # fmt: skip
def test_templates_print_instants(template: str, line: str) -> None:
    lines = found("query_range", query=f"{GEO} | line_format `{template}`", limit="1")["data"]["result"]
    assert lines[0]["values"][0][1] == line


def test_lines_may_be_thinned_out() -> None:
    lines = found("query_range", query=GEO, interval="10s", direction="forward")["data"]["result"]
    stamps = sorted(int(at) for stream in lines for at, _ in stream["values"])
    assert stamps == [(FIRST + at) * SECOND for at in range(0, 50, 10)]


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ('{a="b",c=~"d"}', '{a="b", c=~"d"}'),
        ('{a="b"}|="x"or"y"!="z"', '{a="b"} |= "x" or "y" != "z"'),
        ('{a="b"}|json x="y[0]",z|x>=5', '{a="b"} | json x="y[0]",z="z" | x>=5'),
        ('{a="b"}|logfmt --strict|d>10ms and s<2KB or l="e"',
         '{a="b"} | logfmt --strict | ( ( d>10ms , s<2.0kB ) or l="e" )'),
        ('{a="b"}|label_format c=d,e="{{.f}}"|drop g,h="i"', '{a="b"} | label_format c=d,e="{{.f}}" | drop g,h="i"'),
        ('quantile_over_time(0.99,{a="b"}|unwrap duration(c)[5m] offset 1h)by(d)',
         'quantile_over_time(0.99,{a="b"} | unwrap duration(c)[5m] offset 1h0m0s) by (d)'),
        ('topk(3,sum by(c)(rate({a="b"}[1m])))', 'topk(3,sum by (c)(rate({a="b"}[1m])))'),
        ('rate({a="b"}[1m])/on(x)group_left(y)rate({a="c"}[1m])',
         '(rate({a="b"}[1m]) / on (x) group_left (y) rate({a="c"}[1m]))'),
        ("1+1", "2"),
        ("vector(1)", "vector(1.000000)"),
    ],
)  # fmt: skip
def test_a_query_on_one_line_means_the_same(query: str, line: str) -> None:
    assert shown(parse(query)) == line
    assert shown(parse(line)) == line


def test_long_queries_are_broken() -> None:
    selector = '{namespace="production", app="checkout-service", container="server"}'
    query = f'sum by(level)(count_over_time({selector}|="error"!="timeout"|logfmt|duration>1s[5m]))'
    lines = [
        "sum by (level)(",
        "  count_over_time(",
        f"    {selector}",
        '      |= "error" != "timeout"',
        "      | logfmt",
        "      | duration>1s [5m]",
        "  )",
        ")",
    ]
    assert pretty(parse(query)) == "\n".join(lines)
    assert found("format_query", query=query)["data"] == "\n".join(lines)
    status, body = ask("/loki/api/v1/format_query", query="{a=")
    assert (status, json.loads(body)["status"]) == (400, "invalid-query")
