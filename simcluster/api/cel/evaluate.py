"""Evaluates the trees of `parser` over JSON values.

`&&`, `||`, `all` and `exists` absorb an error if the other side decides, as CEL demands. A
budget of steps stands for the cost limit of the real server.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.cel import formats, network
from simcluster.api.cel.functions import GLOBAL, METHODS
from simcluster.api.cel.lexer import CelSyntaxError, UInt, error_at
from simcluster.api.cel.parser import Node, names_of, parse
from simcluster.api.cel.values import (
    CelError,
    Duration,
    Lazy,
    Optional,
    Timestamp,
    TypeName,
    equal,
    is_number,
    less,
    need_text,
    no_overload,
)
from simcluster.engine import Shared

_BUDGET = 1_000_000
_INT64, _UINT64 = 1 << 63, 1 << 64
_TYPES = (
    "bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string", "timestamp", "type",
    "uint",
)  # fmt: skip
_FULL = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}
_NAMESPACES = ("format", "ip", "optional", "sets", "strings")
#: Functions of the namespaces.
_SPACED = (
    *("contains", "equivalent", "intersects", "isCanonical", "of", "none", "ofNonZeroValue", "quote"),
    *formats.NAMES,
)


class Program(Shared):
    """An expression whose names are known to exist.

    Attributes:
        source: its text.
        tree: its nodes.
        names: what it takes from outside.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = parse(source)
        self.names = tuple(dict.fromkeys(names_of(self.tree)))

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (compiled, (self.source,))

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """The value under these variables. Raises CelError."""
        return _Evaluation(variables).value(self.tree)


@functools.lru_cache(maxsize=2048)
def compiled(source: str) -> Program:
    """The program of a text; made once. Raises CelSyntaxError."""
    return Program(source)


def compile_expression(source: str, declared: Iterable[str]) -> Program:
    """A program that uses no names but the declared ones and those of CEL. Raises CelSyntaxError."""
    program = compiled(source)
    known = (*declared, *_TYPES, *_NAMESPACES)
    for name in program.names:
        if name not in known:
            at = _position(source, name)
            raise error_at(source, at, f"undeclared reference to '{name}' (in container '')")
    for name, is_method in functions_of(program.tree):
        if name not in (METHODS if is_method else GLOBAL) and name not in _SPACED:
            raise error_at(source, _position(source, name), f"undeclared reference to '{name}' (in container '')")
    return program


def _position(source: str, name: str) -> int:
    found = re.search(rf"(?<![\w.]){name}\b", source) or re.search(rf"\b{name}\b", source)
    return found.start() if found is not None else 0


def functions_of(node: Any) -> list[tuple[str, bool]]:
    """Functions an expression calls; the flag tells methods from functions."""
    if not isinstance(node, tuple) or (node and node[0] == "lit"):
        return []
    own = [(node[1], node[2] is not None)] if node and node[0] == "call" else []
    return own + [found for part in node for found in functions_of(part)]


def evaluate(source: str, variables: Mapping[str, Any]) -> Any:
    """The value of an expression. Raises CelSyntaxError or CelError.

    >>> evaluate("object.replicas <= 3 && has(object.name)", {"object": {"replicas": 2}})
    False
    """
    return compiled(source).evaluate(variables)


class _Evaluation:
    """One evaluation; knows the variables in scope."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self.variables: dict[str, Any] = dict(variables)
        self.left = _BUDGET

    def value(self, node: Node) -> Any:
        self.left -= 1
        if self.left < 0:
            raise CelError("operation cancelled: actual cost limit exceeded")
        kind = node[0]
        if kind == "lit":
            return node[1]
        if kind == "select":
            return self._select(node)
        if kind == "id":
            return self._name(node[1])
        if kind == "op":
            return _operate(node[1], self.value(node[2]), self.value(node[3]))
        if kind in ("and", "or"):
            return self._decide(node, kind == "or")
        if kind == "call":
            return self._call(node)
        if kind == "each":
            return self._each(node)
        return self._rest(node)

    def _rest(self, node: Node) -> Any:
        kind = node[0]
        if kind == "has":
            return _has(self.value(node[1]), node[2])
        if kind == "not":
            return not self._truth(node[1])
        if kind == "neg":
            value = self.value(node[1])
            return -value if is_number(value) and not isinstance(value, UInt) else no_overload()
        if kind == "cond":
            return self.value(node[2]) if self._truth(node[1]) else self.value(node[3])
        if kind == "index":
            return self._index(node)
        if kind == "list":
            return self._list(node[1])
        return self._map(node[1])

    def _list(self, items: tuple[Node, ...]) -> list[Any]:
        found: list[Any] = []
        for item in items:
            if item[0] != "maybe":
                found.append(self.value(item))
            else:
                found.extend(_optional(self.value(item[1])).items)
        return found

    def _map(self, pairs: tuple[tuple[Node, Node], ...]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, item in pairs:
            if key[0] != "maybe":
                found[self.value(key)] = self.value(item)
                continue
            optional = _optional(self.value(item))
            if optional.present:
                found[self.value(key[1])] = optional.items[0]
        return found

    def _truth(self, node: Node) -> bool:
        value = self.value(node)
        return value if isinstance(value, bool) else no_overload()

    def _name(self, name: str) -> Any:
        if name in self.variables:
            return self.variables[name]
        if name in _TYPES:
            return TypeName(_FULL.get(name, name))
        raise CelError(f"undeclared reference to '{name}' (in container '')")

    def _select(self, node: Node) -> Any:
        of = self.value(node[1])
        if isinstance(of, Optional):
            return _optionally(of, node[2])
        if node[3]:
            return _optionally(Optional((of,)), node[2])
        return field_of(of, node[2])

    def _index(self, node: Node) -> Any:
        of, at = self.value(node[1]), self.value(node[2])
        if isinstance(of, Optional) or node[3]:
            inner = of if isinstance(of, Optional) else Optional((of,))
            try:
                return Optional((_item(inner.items[0], at),)) if inner.present else Optional()
            except CelError:
                return Optional()
        return _item(of, at)

    def _decide(self, node: Node, wanted: bool) -> bool:
        """`||` (wanted True) and `&&` (wanted False)."""
        try:
            if self._truth(node[1]) is wanted:
                return wanted
        except CelError:
            if self._truth(node[2]) is wanted:
                return wanted
            raise
        return self._truth(node[2])

    def _call(self, node: Node) -> Any:
        _, name, target, arguments = node
        if target is None:
            return _apply(GLOBAL, name, [self.value(a) for a in arguments])
        if target[0] == "id" and target[1] in _NAMESPACES and target[1] not in self.variables:
            return _namespaced(target[1], name, [self.value(a) for a in arguments])
        return _apply(METHODS, name, [self.value(target), *(self.value(a) for a in arguments)])

    def _each(self, node: Node) -> Any:
        _, macro, over, variable, body, result = node
        value = self.value(over)
        if macro in ("optMap", "optFlatMap"):
            mapped = self._mapped(value, variable, body)
            return _optional(mapped.items[0]) if macro == "optFlatMap" and mapped.present else mapped
        if not isinstance(value, (list, Mapping)):
            no_overload()
        outer = self.variables
        self.variables = dict(outer)
        try:
            return self._loop(macro, list(value), variable, body, result)
        finally:
            self.variables = outer

    def _mapped(self, value: Any, variable: str, body: Node) -> Optional:
        if not isinstance(value, Optional):
            no_overload()
        if not value.present:
            return Optional()
        outer = self.variables
        self.variables = {**outer, variable: value.items[0]}
        try:
            return Optional((self.value(body),))
        finally:
            self.variables = outer

    def _loop(self, macro: str, items: list[Any], variable: str, body: Node | None, result: Node | None) -> Any:
        if macro in ("all", "exists"):
            assert body is not None
            return self._quantify(items, variable, body, macro == "exists")
        kept: list[Any] = []
        for item in items:
            self.variables[variable] = item
            if body is None or self._truth(body):
                kept.append(item if result is None else self.value(result))
        return len(kept) == 1 if macro == "exists_one" else kept

    def _quantify(self, items: list[Any], variable: str, body: Node, wanted: bool) -> bool:
        failure: CelError | None = None
        for item in items:
            self.variables[variable] = item
            try:
                if self._truth(body) is wanted:
                    return wanted
            except CelError as error:
                failure = error
        if failure is not None:
            raise failure
        return not wanted


def _optional(value: Any) -> Optional:
    return value if isinstance(value, Optional) else no_overload()


def _optionally(of: Optional, name: str) -> Optional:
    if not of.present or not _has(of.items[0], name):
        return Optional()
    return Optional((field_of(of.items[0], name),))


def field_of(of: Any, name: str) -> Any:
    """`of.name`. Raises CelError."""
    if isinstance(of, Mapping):
        if name not in of:
            raise CelError(f"no such key: {name}")
        return of[name]
    if isinstance(of, Lazy):
        return of.field(name)
    return no_overload()


def _has(of: Any, name: str) -> bool:
    if isinstance(of, Optional):
        return of.present and _has(of.items[0], name)
    if isinstance(of, Lazy):
        return of.has(name)
    return name in of if isinstance(of, Mapping) else no_overload()


def _item(of: Any, at: Any) -> Any:
    if isinstance(of, list):
        if not is_number(at) or at != int(at):
            no_overload()
        if not 0 <= at < len(of):
            raise CelError(f"index out of bounds: {int(at)}")
        return of[int(at)]
    if isinstance(of, Mapping) and not isinstance(at, (list, Mapping)):
        if at not in of:
            raise CelError(f"no such key: {at}")
        return of[at]
    return no_overload()


def _apply(table: Mapping[str, Any], name: str, arguments: list[Any]) -> Any:
    function = table.get(name)
    if function is None:
        no_overload()
    try:
        return function(*arguments)
    except (TypeError, AttributeError):
        return no_overload()


def _namespaced(space: str, name: str, arguments: list[Any]) -> Any:
    if space == "optional":
        if name == "none":
            return Optional()
        empty = arguments[0] in (None, "", 0, False, [], {})
        return Optional() if name == "ofNonZeroValue" and empty else Optional((arguments[0],))
    if space == "ip":
        return network.is_canonical(*arguments) if name == "isCanonical" and len(arguments) == 1 else no_overload()
    if space == "format":
        return formats.named(*arguments) if name == "named" else formats.of_name(name)
    if space == "strings":
        return json.dumps(need_text(arguments[0]), ensure_ascii=False) if name == "quote" else no_overload()
    if len(arguments) != 2 or not all(isinstance(a, list) for a in arguments):
        no_overload()
    a, b = arguments
    within = all(any(equal(x, y) for y in a) for x in b)
    if name == "contains":
        return within
    if name == "intersects":
        return any(equal(x, y) for x in a for y in b)
    if name == "equivalent":
        return within and all(any(equal(x, y) for y in b) for x in a)
    return no_overload()


def _operate(sign: str, a: Any, b: Any) -> Any:
    if sign == "==":
        return equal(a, b)
    if sign == "!=":
        return not equal(a, b)
    if sign == "<":
        return less(a, b)
    if sign == ">":
        return less(b, a)
    if sign == "<=":
        return less(a, b) or equal(a, b)
    if sign == ">=":
        return less(b, a) or equal(a, b)
    if sign == "in":
        return _contained(a, b)
    return _calculate(sign, a, b)


def _contained(a: Any, b: Any) -> bool:
    if isinstance(b, list):
        return any(equal(a, item) for item in b)
    if isinstance(b, Mapping):
        return any(equal(a, key) for key in b)
    return no_overload()


def _calculate(sign: str, a: Any, b: Any) -> Any:
    if not (is_number(a) and is_number(b)):
        return _joined(sign, a, b)
    if isinstance(a, float) != isinstance(b, float) or isinstance(a, UInt) != isinstance(b, UInt):
        no_overload()
    if isinstance(a, float):
        return _floating(sign, a, b)
    if sign in "/%" and b == 0:
        raise CelError("division by zero" if sign == "/" else "modulus by zero")
    if sign in "/%":
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        result = quotient if sign == "/" else a - quotient * b
    else:
        result = a + b if sign == "+" else a - b if sign == "-" else a * b
    if isinstance(a, UInt):
        if not 0 <= result < _UINT64:
            raise CelError("unsigned integer overflow")
        return UInt(result)
    if not -_INT64 <= result < _INT64:
        raise CelError("integer overflow")
    return result


def _floating(sign: str, a: float, b: float) -> float:
    if sign == "/":
        if b == 0.0:
            return float("nan") if a == 0.0 else float("inf") if a > 0 else float("-inf")
        return a / b
    if sign == "%":
        no_overload()
    return a + b if sign == "+" else a - b if sign == "-" else a * b


def _joined(sign: str, a: Any, b: Any) -> Any:
    """`+` and `-` of what is no number."""
    if sign == "+" and type(a) is type(b) and isinstance(a, (str, bytes, list)):
        return a + b
    if isinstance(a, (Timestamp, Duration)) and isinstance(b, (Timestamp, Duration)) and sign in "+-":
        both = isinstance(a, Timestamp) and isinstance(b, Timestamp)
        ns = a.ns + b.ns if sign == "+" else a.ns - b.ns
        if both and sign == "+":
            no_overload()
        instant = (isinstance(a, Timestamp) or isinstance(b, Timestamp)) and not both
        return Timestamp(ns) if instant else Duration(ns)
    return no_overload()


__all__ = ["CelError", "CelSyntaxError", "Program", "compile_expression", "evaluate", "field_of"]
