"""Scripts of a few lines, as operators type them into shells; what they may not do ends them."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.models.userland.javascript import Exhausted, ScriptError, Unsupported, evaluate


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("let s = 0; for (const n of [1, 2, 3]) s += n; `sum ${s}`", "sum 6"),
        ("[3, 1, 2].sort().map((n, i) => n * i)", [0, 2, 6]),
        ("function f(x) { return x < 2 ? x : f(x - 1) + f(x - 2) }; f(10)", 55),
        ("(function f(n) { return n ? n * f(n - 1) : 1 })(5)", 120),
        ("var {a, b = 2, ...c} = {a: 1, d: 4}; [a, b, c]", [1, 2, {"d": 4}]),
        ("let m = ''; try { null.x } catch (e) { m = e.message } finally { m += '!' }; m",
         "Cannot read properties of null (reading 'x')!"),
        ("let i = 0; do { i++; if (i == 3) continue; if (i > 5) break } while (true); i", 6),
        ("let f = []; for (let i = 0; i < 3; i++) f.push(() => i); f.map(g => g())", [0, 1, 2]),
        ("[7 % -3, -7 % 3, '5' * 2, '5' + 2, 5 / 2, 1 << 31, 2 ** 10]", [1, -1, 10, "52", 2.5, -(1 << 31), 1024]),
        ("JSON.stringify({a: [1, null, undefined], b: undefined})", '{"a":[1,null,null]}'),
        ("Object.entries({x: 1}).concat([[1, 2]].flat())", [["x", 1], 1, 2]),
        ("'aXbX'.replace(/x/gi, '-') + 'a,b'.split(',').reverse().join()", "a-b-b,a"),
        ("new Date(0).toISOString()", "1970-01-01T00:00:00.000Z"),
        ("[typeof zz, typeof [], typeof 1, typeof (() => 1), null == undefined, NaN == NaN]",
         ["undefined", "object", "number", "function", True, False]),
    ],
)  # fmt: skip
def test_values(source: str, value: Any) -> None:
    assert evaluate(source, {}) == value


@pytest.mark.parametrize(
    ("source", "kind", "said"),
    [
        ("zz", "ReferenceError", "zz is not defined"),
        ("throw new Error('boom')", "Error", "boom"),
        ("const q = 1; q = 2", "TypeError", "Assignment to constant variable."),
        ("[1].foo()", "TypeError", "(intermediate value).foo is not a function"),
        ("x =", "SyntaxError", "Unexpected token (1:3)\n\n> 1 | x =\n    |    ^\n  2 |"),
        ("(function f() { f() })()", "RangeError", "Maximum call stack size exceeded"),
        ("(" * 4000, "RangeError", "Maximum call stack size exceeded"),
        ("db().x()", "ReferenceError", "db is not defined"),
        ("Math.max().x()", "TypeError", "Math.max(...).x is not a function"),
    ],
)
def test_mistakes(source: str, kind: str, said: str) -> None:
    with pytest.raises(ScriptError) as caught:
        evaluate(source, {})
    assert (caught.value.kind, caught.value.text) == (kind, said)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("f(", "Unexpected token (1:2)"), ("f(1", 'Unexpected token, expected "," (1:3)'),
        ("foo bar", "Missing semicolon. (1:3)"), ("1;\nf(1))", "Missing semicolon. (2:4)"),
        ("f({a: 1)", 'Unexpected token, expected "," (1:7)'), ("if (x {", 'Unexpected token, expected ")" (1:6)'),
        ("'abc", "Unterminated string constant. (1:0)"), ("x = #1", "Unexpected character '#'. (1:4)"),
        ("x = /abc", "Unterminated regular expression. (1:5)"), ("`abc", "Unterminated template. (1:1)"),
        ("if (x) { y z }", "Missing semicolon. (1:10)"), ("}", "Unexpected token (1:0)"),
        ("var 1a", "Identifier directly after number. (1:5)"), ("[1, 2", 'Unexpected token, expected "," (1:5)'),
    ],
)  # fmt: skip
def test_mistakes_of_the_grammar_are_worded_as_babel_does(source: str, said: str) -> None:
    with pytest.raises(ScriptError) as caught:
        evaluate(source, {})
    assert (caught.value.kind, caught.value.text.split("\n")[0]) == ("SyntaxError", said)


@pytest.mark.parametrize("source", ["x" * 300_000, "1+" * 60_000 + "1"])
def test_who_is_too_long_to_be_parsed_is_not(source: str) -> None:
    with pytest.raises(Unsupported):
        evaluate(source, {})


@pytest.mark.parametrize(
    "source",
    ["while (true) {}", "let s = 'a'; while (true) s += s", "let a = []; for (;;) a.push(1)", "'x'.repeat(1e9)",
     "try { while (true) {} } catch (e) { 1 }", "Array(1e9)", "let a = []; a[1e9] = 1",
     "let a = [1]; for (;;) a = [...a, ...a]", "let s = 'x'; for (;;) s = s.replace(/x/g, 'xx')"],
)  # fmt: skip
def test_what_would_not_end_is_ended(source: str) -> None:
    with pytest.raises(Exhausted):
        evaluate(source, {})


@pytest.mark.parametrize("source", ["class A {}", "async function f() {}", "function* g() {}", "new (() => 1)()"])
def test_what_is_left_out_says_so(source: str) -> None:
    with pytest.raises(Unsupported):
        evaluate(source, {})
