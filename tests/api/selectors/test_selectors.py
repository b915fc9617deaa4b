"""The grammar of selectors, with the cases of k8s.io/apimachinery's own tests, and the texts of its errors."""

from __future__ import annotations

import pytest

from simcluster.api.errors import ApiError
from simcluster.api.selectors import Requirement, field_value, label_text, matches, of_label_selector, parse_fields
from simcluster.api.selectors import parse_labels as parse

OPERATORS = "in, notin, =, ==, !=, gt, lt"
QUALIFIED = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
WRAPPED = "unable to parse requirement: "


@pytest.mark.parametrize(
    "text",
    [
        "x=a,y=b,z=c",
        "",
        "x!=a,y=b",
        "x=",
        "x= ",
        "x=,z= ",
        "x= ,z= ",
        "!x",
        "x>1",
        "x>1,z<5",
        "x in (), y",
        "in in (in)",
    ],
)
def test_what_can_be_read(text: str) -> None:
    assert [term.key for term in parse(text)] == sorted(term.key for term in parse(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x==a==b", "found '==', expected: ',' or 'end of string'"),
        ("!x=a", "found '=', expected: ',' or 'end of string'"),
        ("x gt 3", f"{WRAPPED}found 'gt', expected: {OPERATORS}"),
        ("x lt 3", f"{WRAPPED}found 'lt', expected: {OPERATORS}"),
        ("x y", f"{WRAPPED}found 'y', expected: {OPERATORS}"),
        ("x!", f"{WRAPPED}found '!', expected: {OPERATORS}"),
        ("x<a", f"{WRAPPED}values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer"),
        ("x>9223372036854775808", "the value must be an integer"),
        ("x=a b", "found 'b', expected: ',' or 'end of string'"),
        ("x=a,", "found '', expected: identifier after ','"),
        ("x=a,,y", "found ',', expected: identifier after ','"),
        (",x", "found ',', expected: !, identifier, or 'end of string'"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("!", f"{WRAPPED}found '', expected: identifier"),
        ("x=!", f"{WRAPPED}found '!', expected: identifier"),
        ("x in a", f"{WRAPPED}found 'a' expected: '('"),
        ("x in (a", f"{WRAPPED}found '', expected: ',' or ')'"),
        ("x in (a b)", f"{WRAPPED}found 'b', expected: ',' or ')'"),
        ("x in (a,", f"{WRAPPED}found '', expected: ',', or identifier"),
        ("x in (=)", f"{WRAPPED}found '=', expected: ',', ')' or identifier"),
        ("a/b/c", f'{WRAPPED}<nil>: Invalid value: "a/b/c": a qualified name {QUALIFIED}'),
        ("x=a/b", f'{WRAPPED}values[0][x]: Invalid value: "a/b": a valid label must be an empty string or '),
        ("x in (a,b/,c_)", f'{WRAPPED}[values[1][x]: Invalid value: "b/": a valid label must be '),
    ],
)
def test_what_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse(text)
    assert refused.value.code == 400
    assert message in refused.value.message
    if not message.startswith("the value"):
        assert refused.value.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {"x": "y"}, True),
        ("x=y,z=w", {"x": "y", "z": "w"}, True),
        ("x!=y", {}, True),
        ("x!=y", {"x": "y"}, False),
        ("notin=in", {"notin": "in"}, True),
        ("x in (a,,b)", {"x": ""}, True),
        ("x notin (a)", {}, True),
        ("x", {"x": ""}, True),
        ("!x", {"x": ""}, False),
        ("x>1", {"x": "2"}, True),
        ("x>1", {"x": "1"}, False),
        ("x<7", {"x": "-8"}, True),
        ("x>1", {"x": "--8"}, False),
        ("x>1", {"x": "\u0662"}, False),
        ("x<1", {}, False),
    ],
)
def test_what_is_selected(text: str, labels: dict[str, str], expected: bool) -> None:
    assert matches(parse(text), labels) is expected


def test_a_selector_of_an_object_is_written_as_go_writes_it() -> None:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["db"]},
        {"key": "a", "operator": "NotIn", "values": ["y", "x"]},
        {"key": "gone", "operator": "DoesNotExist"},
    ]
    selector = of_label_selector({"matchLabels": {"app": "geo"}, "matchExpressions": expressions})
    assert label_text(selector) == "a notin (x,y),app=geo,!gone,tier in (db)"
    assert label_text(parse("x==1,b in (c),z>3")) == "b in (c),x==1,z>3"


@pytest.mark.parametrize("term", [{}, {"key": "x"}, {"key": "x", "operator": "Gt"}, {"key": "x", "operator": "Like"}])
def test_a_broken_term_selects_nothing(term: dict[str, str]) -> None:
    assert not matches(of_label_selector({"matchExpressions": [term]}), {"x": "3"})
    assert not Requirement("x", "Gt", ("many",)).matches({"x": "3"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        (r"metadata.name=a\b", r"invalid field selector: invalid escape sequence: \b"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ("=x", "field label not supported: "),
        ("spec.image=x", "field label not supported: spec.image"),
    ],
)
def test_fields_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_fields("pods", "Pod", text)
    assert (refused.value.code, refused.value.message) == (400, message)


def test_fields_are_unescaped() -> None:
    found = parse_fields("pods", "Pod", r"status.podIP!=a\,b,,metadata.name==x\=\\")
    assert [tuple(term) for term in found] == [("metadata.name", True, "x=\\"), ("status.podIP", False, "a,b")]
    assert field_value({"spec": {"nodeName": None}}, "spec.nodeName") == ""
