"""Every operator and function of CEL over values of every type: the result or the mistake, pinned whole."""

from __future__ import annotations

import re
from itertools import product

from simcluster.api.cel import CelError, CelSyntaxError, evaluate
from tests.pins import Pins

VALUES = (
    *("1", "-2", "3u", "2.5", "'a'", "'B,c'", "true", "null", "[1, 2]", "['b', 'a']", "{'a': 1}", "b'x'"),
    *("duration('90s')", "timestamp('2026-03-02T09:30:15Z')", "quantity('1500m')", "ip('10.0.0.1')"),
    *("cidr('10.0.0.0/8')", "url('https://a.b:80/c?x=1')", "optional.of(1)", "optional.none()", "semver('1.2.3')"),
)
OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in")
FUNCTIONS = (
    *("int", "uint", "double", "string", "bool", "bytes", "size", "type", "dyn", "duration", "timestamp", "quantity"),
    *("isQuantity", "ip", "isIP", "cidr", "isCIDR", "url", "isURL", "ip.isCanonical", "semver", "isSemver"),
    *("format.dns1123Label", "format.named", "optional.ofNonZeroValue", "math.abs", "sets.contains", "-", "!"),
)
METHODS = (
    *("size", "startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii", "trim", "split", "join"),
    *("replace", "substring", "indexOf", "lastIndexOf", "charAt", "find", "findAll", "reverse", "sort", "sum", "min"),
    *("max", "isSorted", "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
    *("getHours", "getMinutes", "getSeconds", "getMilliseconds", "isGreaterThan", "isLessThan", "compareTo", "add"),
    *("sub", "sign", "asInteger", "isInteger", "asApproximateFloat", "family", "isLoopback", "isGlobalUnicast"),
    *("containsIP", "containsCIDR", "masked", "prefixLength", "getHost", "getHostname", "getPort", "getScheme"),
    *("getQuery", "getEscapedPath", "hasValue", "value", "or", "orValue", "major", "minor", "patch", "flatten"),
    *("all", "exists", "exists_one", "map", "filter", "validate", "format", "distinct", "isUnspecified"),
    *("isLinkLocalUnicast", "isLinkLocalMulticast", "optMap", "optFlatMap", "ip"),
)
ARGUMENTS = ("", "1", "'a'", "'a', 'z'", "0, 1", "quantity('1')", "'10.0.0.1'", "optional.of(2)", "x, x == 1", "x, x")
MORE = (
    *("1 +", "(1", "[1, 2][0]", "[1][3]", "{'a': 1}.a", "{'a': 1}.b", "{'a': 1}['b']", "has({'a': 1}.a)", "x", "f(1)"),
    *("{'a': 1}.?b.orValue(3)", "{'a': 1}[?'a'].hasValue()", "[1][?5].hasValue()", "true ? 1 : 2", "1 ? 2 : 3"),
    *("'%s %d %.2f %x %%'.format(['a', 3, 1.5, 255])", "'%d'.format(['a'])", "'a\\n\\x41'", 'r"\\n"', "'''a'''"),
    *("0x1F", "1e3", "9223372036854775807 + 1", "-9223372036854775808 - 1", "1 / 0", "1 % 0", "1u - 2u", "1.0 / 0.0"),
    *(
        "false && (1 / 0 == 1)",
        "true || (1 / 0 == 1)",
        "(1 / 0 == 1) || true",
        "cel.bind(x, 2, x * x)",
        "[?optional.of(1)]",
    ),
    *(
        "{?'a': optional.none()}",
        "type(1) == int",
        "type('') == string",
        "int('x')",
        "int(1.9)",
        "int(-1.9)",
        "double('x')",
    ),
    *(
        "timestamp('x')",
        "duration('x')",
        "timestamp('2026-03-02T09:30:15Z').getHours('Europe/Berlin')",
        "'ab'.matches('(')",
    ),
    *("duration('1h30m') + duration('1s')", "string(duration('90s'))", "string(timestamp('2026-03-02T09:30:15Z'))"),
    *("'a,b,c'.split(',', 2)", "'aXbX'.replace('X', '-', 1)", "'abcdef'.substring(4, 2)", "'abc'.indexOf('c', 5)"),
    *(
        "[1, 2, 3].all(x, x > 0) && [1, 2].exists(y, y == 2)",
        "{'a': 1, 'b': 2}.all(k, k != 'c')",
        "[1, 'a'] == [1, 'a']",
    ),
    *(
        "[[1], [2, [3]]].flatten()",
        "sets.intersects([1], [2])",
        "sets.equivalent([1, 1], [1])",
        "// note\n1",
        "a.b.c(1)",
    ),
)
#: Where in memory something lies is nobody's answer.
_PLACE = re.compile(r" at 0x[0-9a-f]+")


def told(expression: str) -> str:
    """The result, or what is wrong."""
    try:
        return _PLACE.sub("", repr(evaluate(expression, {})))
    except CelSyntaxError as wrong:
        return f"syntax: {wrong}"
    except CelError as wrong:
        return f"error: {wrong}"


def test_answers(pins: Pins) -> None:
    expressions = [
        *(f"{left} {operator} {right}" for operator, left, right in product(OPERATORS, VALUES, VALUES)),
        *(f"{function}({value})" for function, value in product(FUNCTIONS, VALUES)),
        *(f"{value}.{method}({given})" for method, value, given in product(METHODS, VALUES, ARGUMENTS)),
        *MORE,
    ]
    pins.hold("answers.txt.xz", (f"{one}: {told(one)}".replace("\n", "\\n") for one in expressions))
