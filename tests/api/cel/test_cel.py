"""CEL expressions as policies and schemas use them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from simcluster.api.cel import CelError, CelSyntaxError, compile_expression, evaluate

POD: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "web", "tier": "front"}},
    "spec": {
        "replicas": 3,
        "containers": [
            {"name": "a", "image": "reg.example.com/a:1", "resources": {"limits": {"memory": "128Mi"}}},
            {"name": "b", "image": "docker.io/b"},
        ],
    },
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("object.spec.replicas <= 10", True),
        ("1 + 2 * 3 == 7 && !(2 > 3)", True),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7.0 / 2.0", 3.5),
        ("1 == 1.0", True),
        ("1 == '1'", False),
        ("object.spec.replicas > 5 ? 'many' : 'few'", "few"),
        ("has(object.spec.replicas) && !has(object.spec.paused)", True),
        ("object.spec.containers.all(c, c.image.startsWith('reg.example.com/'))", False),
        ("object.spec.containers.exists(c, c.name == 'b')", True),
        ("object.spec.containers.exists_one(c, has(c.resources))", True),
        ("object.spec.containers.filter(c, !has(c.resources)).map(c, c.name)", ["b"]),
        ("object.spec.containers.map(c, c.name != 'a', c.image)", ["docker.io/b"]),
        ("object.metadata.labels['app.kubernetes.io/name']", "web"),
        ("'tier' in object.metadata.labels && 'x' in ['x', 'y']", True),
        ("object.metadata.labels.all(k, k.size() < 64)", True),
        ("size(object.spec.containers) + size('abc') + 'ab'.size()", 7),
        ("object.?spec.?paused.orValue(false)", False),
        ("object.?spec.?replicas.orValue(1)", 3),
        ("object.metadata[?'owner'].hasValue()", False),
        ("'a,b,c'.split(',').join('-')", "a-b-c"),
        ("'Hello'.lowerAscii().substring(1, 3) + 'x'.upperAscii()", "elX"),
        ("'web-1'.matches('^[a-z]+-[0-9]$')", True),
        ("'%s has %d of %.1f'.format(['x', 3, 2.5])", "x has 3 of 2.5"),
        ("quantity('1Gi').compareTo(quantity('512Mi'))", 1),
        ("quantity('50m').add(quantity('950m')).asInteger()", 1),
        ("isQuantity('12x')", False),
        ("duration('90m') > duration('1h')", True),
        ("timestamp('2026-03-02T09:00:00Z') + duration('1h') == timestamp('2026-03-02T10:00:00Z')", True),
        ("string(timestamp('2026-03-02T09:00:00Z'))", "2026-03-02T09:00:00Z"),
        ("[3, 1, 2].max() - [3, 1, 2].min() + [1, 2].sum()", 5),
        ("[1, 2, 2].isSorted() && sets.contains([1, 2], [2])", True),
        ("{'a': 1, 'b': {'c': 2}}.b.c", 2),
        ("type(1) == int && type('') == string && type(null) == null_type", True),
        ("int('12') + int(3.9) + size(string(true))", 19),
        ("url('https://shop.example.com/a').getHost()", "shop.example.com"),
        ("r'\\d' == '\\\\d' && \"it's\" == 'it\\'s'", True),
        (
            """'''a
b'''.size()""",
            3,
        ),
        ("0x10 + 1 // a comment", 17),
    ],
)
def test_values(expression: str, value: Any) -> None:
    assert evaluate(expression, {"object": POD}) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("object.spec.paused", "no such key: paused"),
        ("object.spec.replicas == object.spec.nothing.at.all", "no such key: nothing"),
        ("object.spec.containers[2].name", "index out of bounds: 2"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("1 + 'a'", "no such overload"),
        ("object.spec.replicas < '3'", "no such overload"),
        ("object.spec.replicas.foo", "no such overload"),
        ("object.spec.replicas && true", "no such overload"),
    ],
)
def test_errors(expression: str, message: str) -> None:
    with pytest.raises(CelError) as error:
        evaluate(expression, {"object": POD})
    assert str(error.value) == message


def test_an_error_counts_only_if_the_other_side_does_not_decide() -> None:
    scope = {"object": POD}
    assert evaluate("object.nothing == 1 || true", scope) is True
    assert evaluate("false && object.nothing == 1", scope) is False
    assert evaluate("object.nothing == 1 && false", scope) is False
    assert evaluate("object.spec.containers.exists(c, c.resources.limits.memory == '128Mi')", scope) is True
    with pytest.raises(CelError, match="no such key: resources"):
        evaluate("object.spec.containers.all(c, c.resources.limits.memory == '128Mi')", scope)


@pytest.mark.parametrize(
    ("expression", "where"),
    [
        ("object.spec.replicas <=", "<input>:1:24: Syntax error: mismatched input '<EOF>'"),
        ("foo.bar == 1", "<input>:1:1: undeclared reference to 'foo' (in container '')\n | foo.bar == 1\n | ^"),
        ("object.a == 1 &&\n  blah", "<input>:2:3: undeclared reference to 'blah'"),
        ("frob(object)", "undeclared reference to 'frob'"),
        ("object.a b", "Syntax error: extraneous input 'b' expecting <EOF>"),
        ("object.a == #", "token recognition error at: '#'"),
        ("has(object)", "invalid argument to has() macro"),
    ],
)
def test_what_is_no_expression(expression: str, where: str) -> None:
    with pytest.raises(CelSyntaxError) as error:
        compile_expression(expression, ("object",))
    assert where in str(error.value)


def test_a_program_is_plain_data() -> None:
    program = compile_expression("object.spec.containers.all(c, c.name != '')", ("object",))
    assert pickle.loads(pickle.dumps(program)).evaluate({"object": POD}) is True


def test_a_runaway_expression_is_stopped() -> None:
    many = list(range(2000))
    with pytest.raises(CelError, match="cost limit"):
        evaluate("object.all(a, object.all(b, a + b >= 0))", {"object": many})
