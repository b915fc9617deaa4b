"""YAML, JSONPath, custom columns, columns and tab stops against what the real kubectl prints."""

from __future__ import annotations

import re

import pytest

from simcluster.surface.kubectl.printers.custom_columns import CustomColumns
from simcluster.surface.kubectl.printers.gotemplate import GoExecutionError, GoTemplateError, render
from simcluster.surface.kubectl.printers.jsonpath import JsonPathError, parse
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter, align
from simcluster.surface.kubectl.printers.yaml import to_yaml

LONG = "a very long line that goes beyond eighty columns because it has to be folded somewhere around here"

# Left the value, right what `kubectl create configmap --from-literal -o yaml` printed for it.
SCALARS = [
    ("1", '"1"'),
    ("yes", '"yes"'),
    ("", '""'),
    (" lead", "' lead'"),
    ("a: b", "'a: b'"),
    ("a #b", "'a #b'"),
    ("-x", "-x"),
    ("- x", "'- x'"),
    ("1e3", '"1e3"'),
    ("1:30", '"1:30"'),
    ("2020-01-01T00:00:00Z", '"2020-01-01T00:00:00Z"'),
    ("it's: ok", "'it''s: ok'"),
    ("'q'", "'''q'''"),
    ("1.5.2", "1.5.2"),
    ("=", "="),
    ("?x", "?x"),
    (":x", ":x"),
    ("x:", "'x:'"),
    ("08", '"08"'),
    ("a: b\tc\nx", '"a: b\\tc\\nx"'),
    ("trail \nnext\n", '"trail \\nnext\\n"'),
    ("line1\nline2\n", "|\n  line1\n  line2"),
    ("no newline\nend", "|-\n  no newline\n  end"),
    ("  lead\nx\n", "|2\n    lead\n  x"),
    ("unicode é €", "unicode é €"),
]


@pytest.mark.parametrize(("value", "printed"), SCALARS)
def test_yaml_scalars(value: str, printed: str) -> None:
    assert to_yaml({"k": value}) == f"k: {printed}\n"


def test_yaml_folds_beyond_eighty_columns() -> None:
    first, second = LONG[:76], LONG[77:]
    assert to_yaml({"data": {"w": LONG}}) == f"data:\n  w: {first}\n    {second}\n"
    assert to_yaml({"data": {"x": LONG + ": no"}}) == f"data:\n  x: '{first}\n    {second}: no'\n"


def test_yaml_structure_and_key_order() -> None:
    value = {"b": [{"y": 1, "x": []}, [1, {}]], "a10": None, "a2": {"n": True}, "c": 1.0}
    assert to_yaml(value) == 'a2:\n  "n": true\na10: null\nb:\n- x: []\n  "y": 1\n- - 1\n  - {}\nc: 1\n'


def test_json() -> None:
    assert to_json({"b": "<&>", "a": []}) == '{\n    "a": [],\n    "b": "\\u003c\\u0026\\u003e"\n}\n'


OBJECT = {
    "metadata": {"name": "x", "labels": {"a": "b", "k8s.io/x": "yy"}},
    "spec": {
        "containers": [
            {"name": "a", "image": "i1", "ports": [{"containerPort": 80}, {"containerPort": 81}]},
            {"name": "b", "image": "i2", "resources": {"requests": {"cpu": 1}}},
            {"name": "c", "image": "i3", "ready": True, "n": 7},
        ],
        "f": 1.5,
        "nl": None,
        "list": [[1, 2], [3]],
    },
}

PATHS = [
    ("{.spec.containers[*].name}", "a b c"),
    ("{.spec.containers[0,2].name}", "a c"),
    ("{.spec.containers[-1].name}", "c"),
    ("{.spec.containers[0:2].name}", "a b"),
    ("{.spec.containers[::2].name}", "a c"),
    ('{.spec.containers[?(@.name=="a")].image}', "i1"),
    ("{.spec.containers[?(@.n>5)].image}", "i3"),
    ("{.spec.containers[?(@.resources)].image}", "i2"),
    ("{.spec.containers[?(@.ready==true)].image}", "i3"),
    ('{.spec.containers[?(@.name!="a")].name}', "b c"),
    ('{range .spec.containers[*]}{.name}{"\\t"}{.image}{"\\n"}{end}', "a\ti1\nb\ti2\nc\ti3\n"),
    ("{range .spec.containers[*]}[{.name}, {.resources}] {end}", '[a, ] [b, {"requests":{"cpu":1}}] [c, ] '),
    ("text {.metadata.name} more", "text x more"),
    ("{.metadata.labels.k8s\\.io/x}", "yy"),
    ("{.metadata.labels['k8s\\.io/x']}", "yy"),
    ("{.spec.nope.x}", ""),
    ("{.spec.nl}", "null"),
    ("{.spec.f}", "1.5"),
    ("{.spec.list[*][0]}", "1 3"),
    ("{.spec.containers[*].ports[*].containerPort}", "80 81"),
    ("{$.metadata.name}{@.metadata.name}", "xx"),
    (".metadata.name", ".metadata.name"),
    ("{range .x}", ""),
]


@pytest.mark.parametrize(("path", "printed"), PATHS)
def test_jsonpath(path: str, printed: str) -> None:
    assert parse(path).render(OBJECT) == printed


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("{.spec.containers[9].name}", "array index out of bounds: index 9, length 3"),
        ("{.spec.containers[*", "unterminated array"),
        ("{.spec.containers[a]}", "invalid array index a"),
        ("{metadata.name}", "unrecognized identifier metadata"),
        ("{end}", "not in range, nothing to end"),
        ('{.a[?(@.b=~"c")]}', "unrecognized character in action: U+007E '~'"),
    ],
)
def test_jsonpath_problems(path: str, problem: str) -> None:
    with pytest.raises(JsonPathError) as caught:
        parse(path).render(OBJECT)
    assert str(caught.value) == problem


def test_custom_columns() -> None:
    columns = CustomColumns("NAME:.metadata.name,IMG:.spec.containers[*].image,X:.nope", no_headers=False)
    assert columns.text([OBJECT]) == "NAME   IMG        X\nx      i1,i2,i3   <none>\n"


def test_go_template() -> None:
    source = '{{range $i, $c := .spec.containers}}{{if $i}}, {{end}}{{$c.name}}={{index $c "image"}}{{end}}'
    assert render(source, OBJECT) == "a=i1, b=i2, c=i3"


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("{{range .nope}}x{{else}}none{{end}}", "none"),
        ("{{if .nope}}a{{else if .spec}}b{{else}}c{{end}}", "b"),
        ("{{with index .spec.containers 0}}{{.name}} {{$.metadata.name}}{{end}}", "a x"),
        ("{{(index .spec.containers 1).image}}", "i2"),
        ('{{range .spec.containers}}{{if eq .name "b"}}{{continue}}{{end}}{{.name}}{{end}}', "ac"),
        ("{{range $i, $c := .spec.containers}}{{if eq $i 1}}{{break}}{{end}}{{$c.name}}{{end}}", "a"),
        ('{{define "x"}}<{{.}}>{{end}}{{template "x" .metadata.name}}', "<x>"),
        ("{{len .spec.containers}} {{.nope}} {{.nope.more}}", "3 <no value> <no value>"),
        ("{{$n := 1}}{{$n = 2}}{{$n}}{{- /* a comment */ -}} !", "2!"),
        ('{{printf "%-4s|%4d|%5.1f|%q|%v|%t" "ab" 7 1.25 "z" .metadata.name true}}', 'ab  |   7|  1.2|"z"|x|true'),
        ('{{.metadata.name | printf "%s-%s" "pod"}}', "pod-x"),
        ('{{and .metadata.name "y"}}{{or .nope "z"}}{{not 0}}', "yztrue"),
        ('{{print 1 2 "a" 3}} {{slice "hello" 1 3}} {{html "<"}} {{base64decode "aGk="}}', "1 2a3 el &lt; hi"),
        ("{{1000000.0}} {{123456.5}} {{0.5}} {{0.00001}}", "1e+06 123456.5 0.5 1e-05"),
    ],
)
def test_go_template_actions(source: str, printed: str) -> None:
    assert render(source, OBJECT) == printed


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{{range", "unclosed action"),
        ("{{if .a}}x", "unexpected EOF"),
        ("{{end}}", "unexpected {{end}}"),
        ("{{nofunc 1}}", 'function "nofunc" not defined'),
        ("{{$y}}", 'undefined variable "$y"'),
        ("{{if}}x{{end}}", "missing value for if"),
    ],
)
def test_go_template_problems(source: str, problem: str) -> None:
    with pytest.raises(GoTemplateError, match=re.escape(problem)):
        render(source, OBJECT)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{{index .spec.containers 9}}", "slice index out of range: 9"),
        ("{{.metadata.name.more}}", "can't evaluate field more in type string"),
        ("{{eq 1 1.0}}", "incompatible types for comparison"),
        ("{{len 3}}", "len of type int"),
        ("{{range .metadata.name}}{{end}}", "range can't iterate over x"),
    ],
)
def test_go_template_failures(source: str, problem: str) -> None:
    with pytest.raises(GoExecutionError, match=re.escape(problem)):
        render(source, OBJECT)


def test_tab_stops_align_adjacent_lines_only() -> None:
    text = "A:\t1\nLonger:\t2\nplain\nB:\t3\n"
    assert align(text) == "A:       1\nLonger:  2\nplain\nB:  3\n"


def test_columns_remember_their_widths() -> None:
    writer = ColumnWriter()
    writer.row(["NAME", "AGE"])
    writer.row(["a-long-name", "1s"])
    assert writer.flush() == "NAME          AGE\na-long-name   1s\n"
    writer.row(["b", "2s"])
    assert writer.flush() == "b             2s\n"
