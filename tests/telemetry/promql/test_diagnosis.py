"""Texts of mistakes in expressions, as a real server words them (asked of 2.42, or recorded of 3.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster.telemetry.promql import printing
from simcluster.telemetry.promql.parsing import parse
from simcluster.telemetry.promql.tokens import ParseError

MISTAKES = {
    "sum(up": "1:7: parse error: unclosed left parenthesis",
    "rate(up)": '1:6: parse error: expected type range vector in call to function "rate", got instant vector',
    "foo(up)": '1:1: parse error: unknown function with name "foo"',
    "": "unknown position: parse error: no expression found in input",
    "up[5x]": '1:4: parse error: bad number or duration syntax: "5"',
    "foo bar": '1:5: parse error: unexpected identifier "bar"',
    "1 +": "1:4: parse error: unexpected end of input",
    "a + * b": "1:5: parse error: unexpected <op:*>",
    "sum(up) by": '1:11: parse error: unexpected end of input in grouping opts, expected "("',
    "up{a}": '1:5: parse error: unexpected "}" in label matching, expected label matching operator',
    "up{a=b}": '1:6: parse error: unexpected identifier "b" in label matching, expected string',
    'up{job=="a"}': '1:8: parse error: unexpected "=" in label matching, expected string',
    "sum()": "1:1: parse error: no arguments for aggregate expression provided",
    "topk(up)": "1:1: parse error: wrong number of arguments for aggregate expression provided, expected 2, got 1",
    "1 == 1": "1:3: parse error: comparisons between scalars must use BOOL modifier",
    '"a"+1': "1:1: parse error: binary expression must contain only scalar and instant vector types",
    "1 and 2": '1:1: parse error: set operator "and" not allowed in binary scalar expression',
    '{a=""}': "1:1: parse error: vector selector must contain at least one non-empty matcher",
    "up[5m][5m]": "1:7: parse error: ranges only allowed for vector selectors",
    "round()": '1:1: parse error: expected at least 1 argument(s) in call to "round", got 0',
    'x{a=~"["}': "1:3: parse error: error parsing regexp: missing closing ]: `[)$`",
    "sum by (a up": '1:11: parse error: unexpected identifier "up" in grouping opts, expected "," or ")"',
    "up)": "1:4: parse error: unexpected right parenthesis ')'",
    "sum(up,)": "1:7: parse error: trailing commas not allowed in function call args",
    "rate(up[5m)": '1:11: parse error: unexpected ")" in subquery or range, expected ":" or "]"',
    "1e400": '1:1: parse error: error parsing number: strconv.ParseFloat: parsing "1e400": value out of range',
    "up @ 1e30": "1:1: parse error: timestamp out of bounds for @ modifier: 1000000000000000019884624838656.000000",
    "up @ NaN": "1:1: parse error: timestamp out of bounds for @ modifier: NaN",
    "up offset 1e30": "1:11: parse error: duration out of range",
    "up[300y]": "1:4: parse error: duration out of range",
    "sum(start())": '1:10: parse error: unexpected "(" in aggregation',
    "sum(abs(up up))": '1:12: parse error: unexpected identifier "up" in aggregation',
    "sum(up and)": '1:11: parse error: unexpected ")" in aggregation',
    "abs(sum(up) up)": '1:13: parse error: unexpected identifier "up"',
    "abs(up up)": '1:8: parse error: unexpected identifier "up"',
    "up[5m6h]": '1:4: parse error: not a valid duration string: "5m6h"',
    'up{a="\\z"}': "1:6: parse error: unknown escape sequence U+007A 'z'",
    "up[$__rate_interval]": "1:4: parse error: unexpected character in duration expression: '$'",
    "a\n  + on(x) 1": "1:1: parse error: vector matching only allowed between instant vectors",
    "a and\n  rate(b)": '2:8: parse error: expected type range vector in call to function "rate", got instant vector',
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.items())
def test_mistakes_are_worded_as_by_prometheus(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["(" * 5000 + "a", "-" * 50_000 + "a", "+".join(["a"] * 30_000), "a[" * 4000])
def test_expressions_without_end_are_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


@given(st.text(alphabet="ab(){}[]\"'+-*/=~!<>,:.0159smh@ \\\nofsetbyrumin_", max_size=40))
def test_anything_is_an_expression_or_a_mistake(text: str) -> None:
    try:
        expr = parse(text)
    except ParseError:
        return
    assert parse(printing.shown(expr)) == expr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sum by(job)(up)", "sum by (job) (up)"),
        ("a{b='c'}/on()group_left(d)e", 'a{b="c"} / on () group_left (d) e'),
        ("sum without(x)(rate(a[90s]offset-1m))", "sum without (x) (rate(a[1m30s] offset -1m))"),
        ("topk(3,a)", "topk(3, a)"),
        ("max_over_time(a[1h:]@end())", "max_over_time(a[1h:] @ end())"),
        ("-1e3^2", "-1000 ^ 2"),
        ("a == bool 1", "a == bool 1"),
    ],
)
def test_expressions_are_printed_as_by_prometheus(text: str, shown: str) -> None:
    assert printing.shown(parse(text)) == shown
