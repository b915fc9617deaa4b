"""Conditions on lines and labels."""

from __future__ import annotations

import ipaddress
import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.entry import Entry
from simcluster.telemetry.logql.patterns import fits, pattern_parts
from simcluster.telemetry.logql.storage import matches
from simcluster.telemetry.logql.tokens import ParseError
from simcluster.telemetry.logql.units import duration_ns, size_bytes
from simcluster.telemetry.promql.regex import anywhere
from simcluster.telemetry.promql.storage import Matcher

Stage = Callable[[Entry], bool]
TextTest = Callable[[str], bool]
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt,
    "<=": operator.le,
}  # fmt: skip
_ADDRESS = re.compile(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:]+(?:\.\d+){0,3})(?![\w:])")


def line_test(stage: syntax.LineFilter) -> TextTest:
    """Whether a line passes; of several texts one is enough (with `!=` and `!~`: none may be there)."""
    tests = [_finder(stage.op, text, is_address) for text, is_address in stage.texts]
    wanted = not stage.op.startswith("!")
    if len(tests) == 1 and wanted:
        return tests[0]

    def passes(line: str) -> bool:
        return any(test(line) for test in tests) == wanted

    return passes


def _finder(op: str, text: str, is_address: bool) -> TextTest:
    if is_address:
        return partial(_mentions, _network(text))
    if op in ("|=", "!="):
        return partial(_holds, text)
    if op in ("|>", "!>"):
        return partial(fits, pattern_parts(text, names=False))
    return partial(_found, anywhere(f"(?s){text}"))


def _holds(text: str, line: str) -> bool:
    return text in line


def _found(expression: Any, line: str) -> bool:
    return expression.search(line) is not None


_Range = tuple[int, int, int]


def _network(text: str) -> _Range:
    """Version, first and last address of an address, a range `a-b` or a network.

    Raises:
        ParseError: it is none of them.
    """
    first, dash, last = text.partition("-")
    try:
        if dash:
            low, high = ipaddress.ip_address(first.strip()), ipaddress.ip_address(last.strip())
            return low.version, int(low), int(high)
        net = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ParseError(f"ip: invalid pattern: {text}") from None
    return net.version, int(net.network_address), int(net.broadcast_address)


def _inside(network: _Range, text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return address.version == network[0] and network[1] <= int(address) <= network[2]


def _mentions(network: _Range, line: str) -> bool:
    return any(_inside(network, found[0]) for found in _ADDRESS.finditer(line))


def label_test(stage: syntax.LabelFilter) -> Stage:
    """Whether the labels of an entry pass; what cannot be compared passes with an error."""
    if isinstance(stage, syntax.Both):
        return partial(_either if stage.word == "or" else _both, label_test(stage.left), label_test(stage.right))
    if stage.kind == "string":
        return partial(_matches, Matcher(stage.name, stage.op, str(stage.value)))
    if stage.kind == "ip":
        return partial(_is_inside, _network(str(stage.value)), stage.name, stage.op == "=")
    return _number_test(stage)


def _either(left: Stage, right: Stage, entry: Entry) -> bool:
    return left(entry) or right(entry)


def _both(left: Stage, right: Stage, entry: Entry) -> bool:
    return left(entry) and right(entry)


def _matches(matcher: Matcher, entry: Entry) -> bool:
    return matches(matcher, entry.labels.get(matcher.name, ""))


def _is_inside(network: _Range, name: str, wanted: bool, entry: Entry) -> bool:
    return name in entry.labels and _inside(network, entry.labels[name]) == wanted


def _number_test(stage: syntax.Condition) -> Stage:
    compare, name, limit, kind = _COMPARE[stage.op], stage.name, float(stage.value), stage.kind

    def run(entry: Entry) -> bool:
        if entry.failed:
            return True
        text = entry.labels.get(name)
        if text is None:
            return False
        value, wrong = measured(kind, text)
        if value is None:
            entry.fail("LabelFilterErr", wrong)
            return True
        return compare(value, limit)

    return run


def measured(kind: str, text: str) -> tuple[float | None, str]:
    """A label as a number, nanoseconds or bytes; None and Go's words if it is none."""
    if kind == "duration":
        found = duration_ns(text)
        return (None, f'time: invalid duration "{text}"') if found is None else (float(found), "")
    if kind == "bytes":
        size = size_bytes(text)
        return (None, f'strconv.ParseFloat: parsing "{text}": invalid syntax') if size is None else (float(size), "")
    try:
        return float(text), ""
    except ValueError:
        return None, f'strconv.ParseFloat: parsing "{text}": invalid syntax'
