"""What is LogQL and what is not, in the words of Loki's parser."""

from __future__ import annotations

import pytest

from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.parsing import parse, parse_selector
from simcluster.telemetry.logql.tokens import ParseError
from simcluster.telemetry.promql.storage import Matcher

EVERYTHING = (
    "parse error : queries require at least one regexp or equality matcher that does not have an empty-compatible "
    'value. For instance, app=~".*" does not meet this requirement, but app=~".+" will'
)
#: Queries and what Loki says of them.
WRONG = {
    '{app="x"': "parse error at line 1, col 9: syntax error: unexpected $end, expecting } or ,",
    "{app=": "parse error at line 1, col 6: syntax error: unexpected $end, expecting STRING",
    "{": "parse error at line 1, col 2: syntax error: unexpected $end, expecting IDENTIFIER or }",
    "}": "parse error at line 1, col 1: syntax error: unexpected }",
    "": "parse error at line 1, col 1: syntax error: unexpected $end",
    "{}": EVERYTHING,
    '{app!="x"}': EVERYTHING,
    'rate({app=~".*"}[5m])': EVERYTHING,
    'rate({ foo = "bar" }[5minutes])': 'parse error at line 0, col 21: not a valid duration string: "5minutes"',
    'rate({ foo = "bar" }[5)': "parse error at line 0, col 21: missing closing ']' in duration",
    'min({ foo = "bar" }[5m])': "parse error at line 0, col 20: syntax error: unexpected RANGE",
    'unk({ foo = "bar" }[5m])': "parse error at line 1, col 1: syntax error: unexpected IDENTIFIER",
    '{foo="bar}': "parse error at line 1, col 6: literal not terminated",
    '{foo="bar"} |~': "parse error at line 1, col 15: syntax error: unexpected $end, expecting STRING or ip",
    '{foo="bar"} "foo"': "parse error at line 1, col 13: syntax error: unexpected STRING",
    '{foo="bar"} foo': "parse error at line 1, col 13: syntax error: unexpected IDENTIFIER",
    '{foo="bar"} | distinct a': "parse error at line 1, col 24: syntax error: unexpected IDENTIFIER",
    'label_replace(rate({a="b"}[5m]),"")': "parse error at line 1, col 35: syntax error: unexpected ), expecting ,",
    'absent_over_time({a="b"}[5h]) by (foo)': "parse error : grouping not allowed for absent_over_time aggregation",
    'sum_over_time({a="b"}[5m])': "parse error : invalid aggregation sum_over_time without unwrap",
    'count_over_time({a="b"} | unwrap x [5m])': "parse error : invalid aggregation count_over_time with unwrap",
    'topk(sum(rate({a="b"}[5m])))': "parse error : parameter required for operation topk",
    'quantile_over_time({a="b"} | unwrap x [5m])': "parse error : parameter required for operation quantile_over_time",
    'sort by (a) (rate({a="b"}[5m]))': "parse error : sort and sort_desc doesn't allow grouping by ",
    "vector(-1)": "parse error at line 1, col 8: syntax error: unexpected -, expecting NUMBER",
    '{a="b"} + 1': "parse error : unexpected type for left leg of binary operation (+): *syntax.MatchersExpr",
    '{a=~"("}': "parse error : error parsing regexp: missing closing ): `^(?s:()$`",
    '{a="b"} | pattern "<a><b>"': "parse error : found consecutive capture '<a><b>'",
    '{a="b"} | regexp "x"': "parse error : at least one named capture must be supplied",
}


@pytest.mark.parametrize("query", WRONG)
def test_what_is_wrong_is_said(query: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse(query)
    assert str(raised.value) == WRONG[query]


def test_a_position_counts_lines() -> None:
    with pytest.raises(ParseError, match="at line 3, col 4: "):
        parse('{a="b"}\n# nothing\n | ]')


def test_names_of_functions_are_labels_elsewhere() -> None:
    found = parse('{sum="b"} | logfmt | rate="a"')
    assert found == syntax.Selection(
        (Matcher("sum", "=", "b"),),
        (syntax.LabelParser("logfmt"), syntax.Condition("rate", "=", "string", "a")),
    )


def test_units_are_recognised() -> None:
    found = parse('{a="b"} | x > 1.5s and y <= 2KiB or z == -3')
    assert isinstance(found, syntax.Selection)
    assert found.stages == (
        syntax.Both(
            "or",
            syntax.Both(
                "and",
                syntax.Condition("x", ">", "duration", 1.5e9),
                syntax.Condition("y", "<=", "bytes", 2048.0),
            ),
            syntax.Condition("z", "==", "number", -3.0),
        ),
    )


@pytest.mark.parametrize(
    "query",
    [
        'rate({a="b"} |= "x" [5m] offset 1m)',
        'rate({a="b"}[5m] offset 1m |= "x")',
        'rate(({a="b"} |= "x")[5m] offset 1m)',
        'rate(({a="b"} |= "x" [5m] offset 1m))',
    ],
)
def test_a_range_may_stand_anywhere(query: str) -> None:
    assert parse(query) == parse('rate({a="b"} |= "x" [5m] offset 1m)')


def test_powers_bind_to_the_right_and_the_rest_to_the_left() -> None:
    found = parse('rate({a="b"}[1m]) - 2 - 3 * 2 ^ 3 ^ 2')
    assert isinstance(found, syntax.Binary)
    assert isinstance(found.left, syntax.Binary)
    assert isinstance(found.right, syntax.Binary)
    assert (found.op, found.left.op, found.right.op) == ("-", "-", "*")
    power = found.right.right
    assert isinstance(power, syntax.Binary)
    assert power.left == syntax.Number(2.0)


def test_a_selector_has_nothing_behind_it() -> None:
    assert parse_selector('{a="b", c!~"d"}') == (Matcher("a", "=", "b"), Matcher("c", "!~", "d"))
    with pytest.raises(ParseError, match="only label matchers is supported"):
        parse_selector('{a="b"} |= "x"')


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        parse("(" * 500 + "1" + ")" * 500)
