"""Queries whose answers are worked out by hand."""

from __future__ import annotations

import math

import pytest

from simcluster.engine.clock import SECOND
from simcluster.telemetry.logql.context import QueryError
from simcluster.telemetry.logql.evaluation import query, query_range
from simcluster.telemetry.logql.store import LogStore

START = 1_800_000_000


def _store(lines: dict[str, list[tuple[float, str]]]) -> LogStore:
    found = LogStore()
    for app, entries in lines.items():
        for at, line in entries:
            found.append((("app", app),), int((START + at) * SECOND), line)
    return found


def _lines(text: str, *lines: str) -> list[tuple[str, dict[str, str]]]:
    """Lines and new labels after a pipeline."""
    source = _store({"a": list(enumerate(lines))})
    span = (START * SECOND, (START + 100) * SECOND)
    found = query_range(source, '{app="a"} ' + text, span, SECOND, 100, True)
    known = {"app": "a"}
    shown = [
        (t_ns, line, {name: value for name, value in labels if name not in known and name != "detected_level"})
        for labels, entries in found.streams
        for t_ns, line in entries
    ]
    return [(line, labels) for _, line, labels in sorted(shown, key=lambda one: one[0])]


def _values(source: LogStore, text: str, at: float = 60) -> dict[tuple[str, ...], float | None]:
    """Values at an instant by values of labels."""
    found = query(source, text, int((START + at) * SECOND))
    return {tuple(value for _, value in labels): row[0] for labels, row in found.series}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('|= "a"', ["abc", "cab"]),
        ('|= "a" != "c"', []),
        ('|= "abc" or "x.z"', ["abc", "x.z"]),
        ('!= "abc" or "x.z"', ["xyz", "cab"]),
        ('|~ "^x.z$"', ["xyz", "x.z"]),
        ("!~ `^x\\.z$`", ["abc", "xyz", "cab"]),
        ('|> "<_>a<_>"', ["cab"]),
    ],
)
def test_line_filters(text: str, expected: list[str]) -> None:
    assert [line for line, _ in _lines(text, "abc", "xyz", "x.z", "cab")] == expected


def test_addresses_are_found_in_lines_and_labels() -> None:
    lines = ("from 10.0.3.7 ok", "from 10.1.0.1 ok", "from ::1 ok")
    assert [line for line, _ in _lines('|= ip("10.0.0.0/16")', *lines)] == [lines[0]]
    assert [line for line, _ in _lines('!= ip("10.0.0.0-10.1.255.255")', *lines)] == [lines[2]]
    assert [line for line, _ in _lines('| pattern "from <a> ok" | a=ip("10.1.0.1")', *lines)] == [lines[1]]


def test_json_is_flattened_and_says_what_is_none() -> None:
    found = _lines("| json", '{"a": {"b": 1.50, "c-d": true}, "e": [1], "app": "x", "n": null}', "no")
    assert found[0][1] == {"a_b": "1.50", "a_c_d": "true", "app_extracted": "x"}
    assert found[1][1]["__error__"] == "JSONParserErr"
    assert _lines('| json x="a.b", y="e[1].f", z="k"', '{"a": {"b": 1}, "e": [0, {"f": "g"}]}')[0][1] == {
        "x": "1",
        "y": "g",
    }


def test_logfmt_takes_quoted_values_and_leaves_out_empty_ones() -> None:
    line = r'level=warn msg="a \"b\"" took=3ms empty= flag http.code=200'
    assert _lines("| logfmt", line)[0][1] == {
        "level": "warn",
        "msg": 'a "b"',
        "took": "3ms",
        "http_code": "200",
    }
    assert _lines("| logfmt code=`http.code`, took", line)[0][1] == {"code": "200", "took": "3ms"}
    assert _lines("| logfmt --strict", 'a=1 b"=2')[0][1]["__error__"] == "LogfmtParserErr"


def test_pattern_regexp_and_unpack() -> None:
    line = '10.0.0.1 - - [x] "GET /cart HTTP/1.1" 200 5'
    assert _lines('| pattern `<ip> - - <_> "<method> <path> <_>" <status> <_>`', line)[0][1] == {
        "ip": "10.0.0.1",
        "method": "GET",
        "path": "/cart",
        "status": "200",
    }
    assert _lines(r"| regexp `\"(?P<verb>\w+) (?P<where>\S+)`", line)[0][1] == {"verb": "GET", "where": "/cart"}
    assert _lines("| unpack", '{"pod": "p", "_entry": "the line"}') == [("the line", {"pod": "p"})]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("| logfmt | status >= 500", 1),
        ("| logfmt | took > 1s", 2),
        ("| logfmt | size <= 1KB", 1),
        ('| logfmt | status="200" or took < 1ms', 2),
        ("| logfmt | status = 200, took > 1s", 1),
        ("| logfmt | absent > 1", 0),
        ('| logfmt | absent=""', 3),
        ('| logfmt | status=~"2.."', 2),
    ],
)
def test_label_filters(text: str, count: int) -> None:
    lines = ("status=200 took=1.5s size=1kB", "status=200 took=20ms size=2MB", "status=500 took=1m size=3MiB")
    assert len(_lines(text, *lines)) == count


def test_what_cannot_be_compared_passes_with_an_error() -> None:
    assert _lines("| logfmt | took > 1s", "took=soon")[0][1]["__error__"] == "LabelFilterErr"
    assert _lines('| logfmt | took > 1s | __error__=""', "took=soon") == []


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{.a}}-{{.none}}", "Xy-"),
        ("{{ToUpper .a}} {{.a | ToLower}}", "XY xy"),
        ("{{Replace .a `y` `z` -1}}{{ .a | replace `X` `W` }}", "XzWy"),
        ("{{regexReplaceAll `(X)(.)` .a `$2$1`}}", "yX"),
        ("{{if eq .n `12`}}twelve{{else}}other{{end}}", "twelve"),
        ("{{add .n 3}} {{div .n 5}} {{mulf .n 0.5}}", "15 2 6"),
        ("{{__line__ | trunc 4}}", "a=Xy"),
        ("{{alignRight 4 .a}}|{{alignLeft 4 .a}}|", "  Xy|Xy  |"),
        ("{{.t | duration}} {{.s | bytes}}", "1.5 2000"),
        ("{{ .none | default `-` }}", "-"),
        ("{{TrimPrefix .t `15`}} {{.t | trimPrefix `1`}} {{trimSuffix `s` .t}}", "00ms 500ms 1500m"),
        ("{{substr 1 3 .t}}{{.t | contains `ms`}}{{indent 2 .a}}", "50true  Xy"),
        ("{{__timestamp__ | unixEpoch}} {{max 1 5 3}} {{round 2.55 1}} {{floor 2.7}}", "1800000000 5 2.6 2"),
        ("{{urlencode `a b`}} {{b64enc .a}} {{count `[0-9]` .t}} {{mod 7 3}} {{printf `%03d` 7}}", "a+b WHk= 4 1 007"),
    ],
)
def test_templates(template: str, expected: str) -> None:
    found = _lines(f'| logfmt | line_format "{template}"', "a=Xy n=12 t=1500ms s=2KB")
    assert found[0][0] == expected


def test_label_format_drop_and_keep() -> None:
    line = "a=1 b=2 c=3"
    assert _lines('| logfmt | label_format d=a, e="{{.b}}{{.c}}"', line)[0][1] == {
        "d": "1",
        "e": "23",
        "b": "2",
        "c": "3",
    }
    assert _lines('| logfmt | drop a, b="x", c=~"[34]"', line)[0][1] == {"b": "2"}
    assert _lines("| logfmt | keep a, b", line)[0][1] == {"a": "1", "b": "2"}
    assert _lines("| decolorize", "\x1b[31mred\x1b[0m")[0][0] == "red"


def test_counts_and_rates_are_of_a_range_open_on_the_left() -> None:
    source = _store({"a": [(0, "xx"), (30, "yyyy"), (60, "z"), (61, "later")], "b": [(59, "äö")]})
    counted = 'count_over_time({app=~".+"}[1m])'
    assert _values(source, f"sum by (app) ({counted})") == {("a",): 2, ("b",): 1}
    assert _values(source, 'sum(rate({app="a"}[1m]))') == {(): 2 / 60}
    assert _values(source, 'sum by (app) (bytes_over_time({app=~".+"}[1m]))') == {("a",): 5, ("b",): 4}
    assert _values(source, 'sum(bytes_rate({app="a"}[30s]))') == {(): 1 / 30}
    assert _values(source, 'sum(count_over_time({app="a"}[1m] offset 30s))') == {(): 2}
    assert _values(source, 'absent_over_time({app="c", x!="y"}[1m])') == {("c",): 1}
    assert _values(source, 'absent_over_time({app="a"}[1m])') == {}


def test_unwrapped_values_are_folded() -> None:
    source = _store({"a": [(at, f"v={value} t={value}00ms") for at, value in enumerate((4, 1, 3, 2), 1)]})
    expected = {
        "sum_over_time": 10, "avg_over_time": 2.5, "min_over_time": 1, "max_over_time": 4, "first_over_time": 4,
        "last_over_time": 2, "stdvar_over_time": 1.25, "stddev_over_time": math.sqrt(1.25), "rate": 10 / 60,
    }  # fmt: skip
    for op, value in expected.items():
        found = _values(source, f'{op}({{app="a"}} | logfmt v | unwrap v [1m])')
        assert list(found.values()) == [value], op
    inside = '{app="a"} | logfmt | unwrap duration(t) [1m]'
    assert _values(source, f"quantile_over_time(0.5, {inside}) by (app)") == {("a",): 0.25}
    assert _values(source, f"max_over_time({inside}) by ()") == {(): 0.4}


def test_a_counter_that_was_reset_goes_on() -> None:
    source = _store({"a": [(10, "v=8"), (20, "v=10"), (30, "v=1"), (40, "v=3"), (50, "v=5")]})
    # 2 + 1 + 2 + 2 in 40 s, extrapolated by 10 s at both ends
    assert _values(source, 'rate_counter({app="a"} | logfmt | unwrap v [1m])') == {("a", "unknown"): 7 * 60 / 40 / 60}


def test_a_line_that_has_no_number_fails_the_query_unless_it_is_left_out() -> None:
    source = _store({"a": [(1, "v=1"), (2, "v=x"), (3, "other")]})
    with pytest.raises(QueryError) as raised:
        _values(source, 'sum_over_time({app="a"} | logfmt | unwrap v [1m])')
    assert str(raised.value).startswith(
        'pipeline error: \'SampleExtractionErr\' for series: \'{app="a", detected_level="unknown", v="x"}\'.\n'
        'Use a label filter to intentionally skip this error. (e.g | __error__!="SampleExtractionErr").\n'
    )
    assert _values(source, 'sum(sum_over_time({app="a"} | logfmt | unwrap v | __error__="" [1m]))') == {(): 1}


def test_aggregations_choose_and_sort() -> None:
    source = _store(
        {app: [(at, "x") for at in range(1, count + 1)] for app, count in zip("abc", (3, 1, 2), strict=True)}
    )
    counts = 'sum by (app) (count_over_time({app=~".+"}[1m]))'
    assert list(_values(source, f"topk(2, {counts})").items()) == [(("a",), 3), (("c",), 2)]
    assert list(_values(source, f"bottomk(1, {counts})")) == [("b",)]
    assert list(_values(source, f"sort_desc({counts})")) == [("a",), ("c",), ("b",)]
    assert list(_values(source, f"sort({counts})")) == [("b",), ("c",), ("a",)]
    for op, value in {"avg": 2, "max": 3, "min": 1, "count": 3, "stdvar": 2 / 3}.items():
        assert _values(source, f"{op}({counts})") == {(): value}
    assert _values(source, f"sum without (app) ({counts})") == {(): 6}


def test_operations_match_labels() -> None:
    source = _store({"a": [(1, "ok"), (2, "bad"), (3, "ok"), (4, "ok")], "b": [(1, "ok")]})
    everything = 'sum by (app) (count_over_time({app=~".+"}[1m]))'
    wrong = 'sum by (app) (count_over_time({app=~".+"} |= "bad" [1m]))'
    assert _values(source, f"{wrong} / {everything}") == {("a",): 0.25}
    assert _values(source, f"100 * {wrong} - 1") == {("a",): 99}
    assert _values(source, f"{everything} > 2") == {("a",): 4}
    assert _values(source, f"{everything} > bool 2") == {("a",): 1, ("b",): 0}
    assert _values(source, f"{wrong} or {everything}") == {("a",): 1, ("b",): 1}
    assert _values(source, f"{everything} unless {wrong}") == {("b",): 1}
    assert _values(source, f"{everything} and on (app) {wrong}") == {("a",): 4}
    assert _values(source, f"{everything} / on () group_left sum({everything})") == {("a",): 0.8, ("b",): 0.2}
    assert math.isnan(_values(source, f"sum({everything}) / 0")[()] or 0)
    assert _values(source, "vector(3) ^ 2 % 5") == {(): 4}
    with pytest.raises(QueryError, match="many-to-many matching not allowed"):
        _values(source, f"sum({everything}) / ignoring (app) {everything}")


def test_labels_are_replaced() -> None:
    source = _store({"geo-1": [(1, "x")]})
    counts = 'sum by (app) (count_over_time({app=~".+"}[1m]))'
    assert _values(source, f'label_replace({counts}, "name", "$1", "app", "(.*)-1")') == {("geo-1", "geo"): 1}


def test_a_range_query_has_a_value_at_each_step_that_has_lines() -> None:
    source = _store({"a": [(5, "x"), (65, "x"), (70, "x")]})
    span = ((START + 30) * SECOND, (START + 200) * SECOND)
    found = query_range(source, 'sum(count_over_time({app="a"}[1m]))', span, 60 * SECOND, 100, False)
    assert [step // SECOND - START for step in found.steps] == [0, 60, 120, 180]
    assert list(found.series) == [((), [None, 1, 2, None])]


def test_the_newest_lines_are_given_first() -> None:
    source = _store({"a": [(1, "1"), (4, "4")], "b": [(2, "2"), (3, "3")]})
    span = (START * SECOND, (START + 4) * SECOND)
    found = query_range(source, '{app=~".+"}', span, SECOND, 2, False)
    assert [(dict(labels)["app"], [line for _, line in lines]) for labels, lines in found.streams] == [
        ("b", ["3", "2"])
    ]


def test_too_many_series_or_bytes_or_points_are_refused() -> None:
    source = _store({"a": [(1, f"v={at}") for at in range(501)]})
    with pytest.raises(QueryError, match=r"maximum number of series \(500\) reached for a single query"):
        _values(source, 'count_over_time({app="a"} | logfmt [1m])')
    with pytest.raises(QueryError, match="exceeded maximum resolution of 11,000 points"):
        query_range(source, "vector(1)", (0, 20_000 * SECOND), SECOND, 100, False)
    large = _store({"a": [(1, "x" * 200_000)] * 200})
    with pytest.raises(QueryError, match="the query would read too many bytes"):
        _values(large, 'rate({app="a"} | json | __error__="" [1m])')
