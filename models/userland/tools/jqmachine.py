"""Evaluation of jq's filters: a filter gives any number of values for one, each with the path on which it lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcluster.models.userland.outcome import Exhausted, fitting
from simcluster.models.userland.tools.jqformats import formatted
from simcluster.models.userland.tools.jqparser import JqSyntaxError, Node, Parser
from simcluster.models.userland.tools.jqpaths import applied, at_path, changed, indexed, without
from simcluster.models.userland.tools.jqvalues import JqError, comparable, described, kind_of, truth, written

#: Steps of one run.
STEPS_MAX = 400_000
Path = tuple[Any, ...] | None
Found = tuple[Any, Path]


class Break(Exception):
    """`break $name`."""

    def __init__(self, label: object) -> None:
        super().__init__("break")
        self.label = label


class Scope:
    """Variables and functions that a filter sees."""

    __slots__ = ("functions", "labels", "variables")

    def __init__(
        self, variables: dict[str, Any], functions: dict[tuple[str, int], Any], labels: dict[str, object]
    ) -> None:
        self.variables, self.functions, self.labels = variables, functions, labels

    def binding(self, **more: Any) -> Scope:
        """The same with more variables."""
        return Scope({**self.variables, **more}, self.functions, self.labels)


class Closure:
    """A function: parameters, body, and the scope in which it was defined."""

    __slots__ = ("body", "name", "params", "scope")

    def __init__(self, name: str, params: list[str], body: Node, scope: Scope) -> None:
        self.name, self.params, self.body, self.scope = name, params, body, scope


class Machine:
    """Runs a filter."""

    def __init__(
        self, library: dict[tuple[str, int], Any], natives: dict[tuple[str, int], Any], inputs: Iterator[Any]
    ) -> None:
        self.library = library
        self.natives = natives
        self.inputs = inputs
        self.steps = 0
        self.now_s = 0.0
        self.environment: dict[str, str] = {}
        self.aside: list[str] = []

    def run(self, node: Node, value: Any, scope: Scope) -> Iterator[Any]:
        """The values of a filter."""
        for found, _ in self.eval(node, value, None, scope):
            yield found

    def one(self, node: Node, value: Any, scope: Scope) -> Any:
        """The first of them."""
        return next(self.run(node, value, scope), None)

    def eval(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        """Values with their paths; the path is None where nobody asks for it."""
        self.steps += 1
        if self.steps > STEPS_MAX:
            raise Exhausted
        found: Iterator[Found] = _EVALUATORS[node[0]](self, node, value, path, scope)
        return found

    # Structure.

    def _identity(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        yield value, path

    def _group(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        return self.eval(node[1], value, path, scope)

    def _literal(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        yield node[1], None if path is None else _no_path(node[1])

    def _location(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        yield {"file": "<top-level>", "line": 1}, None

    def _empty_array(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        yield [], None

    def _pipe(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for found, at in self.eval(node[1], value, path, scope):
            yield from self.eval(node[2], found, at, scope)

    def _comma(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        yield from self.eval(node[1], value, path, scope)
        yield from self.eval(node[2], value, path, scope)

    def _index(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for found, at in self.eval(node[1], value, path, scope):
            for key in self.run(node[2], value, scope):
                yield indexed(found, key), None if at is None else (*at, key)

    def _slice(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        _, source, first, last = node
        for found, at in self.eval(source, value, path, scope):
            for stop in self.run(last, value, scope) if last is not None else (None,):
                for start in self.run(first, value, scope) if first is not None else (None,):
                    key = {"start": start, "end": stop}
                    yield indexed(found, key), None if at is None else (*at, _Slice(key))

    def _each(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for found, at in self.eval(node[1], value, path, scope):
            if isinstance(found, list):
                for place, item in enumerate(found):
                    yield item, None if at is None else (*at, place)
            elif isinstance(found, dict):
                for name, item in found.items():
                    yield item, None if at is None else (*at, name)
            else:
                raise JqError(f"Cannot iterate over {described(found) if found is not None else 'null (null)'}")

    def _collect(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        items: list[Any] = []
        for found in self.run(node[1], value, scope):
            items.append(found)
            if len(items) > 500_000:
                raise Exhausted
        yield items, None

    def _object(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for made in self._objects(node[1], 0, value, scope):
            yield made, None

    def _objects(self, pairs: list[tuple[Node, Node]], at: int, value: Any, scope: Scope) -> Iterator[dict[str, Any]]:
        if at == len(pairs):
            yield {}
            return
        for key in self.run(pairs[at][0], value, scope):
            if not isinstance(key, str):
                raise JqError(
                    f"Object keys must be strings, not {described(key)}" if False else "Object keys must be strings"
                )
            for item in self.run(pairs[at][1], value, scope):
                for rest in self._objects(pairs, at + 1, value, scope):
                    yield {key: item, **rest}

    def _string(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for text in self._interpolated(node[1], node[2], len(node[2]) - 1, value, scope):
            yield text, None

    def _interpolated(self, form: str, parts: list[Any], at: int, value: Any, scope: Scope) -> Iterator[str]:
        if at < 0:
            yield ""
            return
        # The last interpolation varies slowest.
        for found in (parts[at],) if isinstance(parts[at], str) else self.run(parts[at], value, scope):
            text = (
                found
                if isinstance(parts[at], str)
                else formatted(form, found)
                if form
                else found
                if isinstance(found, str)
                else written(found)
            )
            for head in self._interpolated(form, parts, at - 1, value, scope):
                yield fitting(head + text)

    def _format(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        yield formatted(node[1], value), None

    # Control.

    def _if(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for test in self.run(node[1], value, scope):
            yield from self.eval(node[2] if truth(test) else node[3], value, path, scope)

    def _try(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        try:
            yield from self.eval(node[1], value, path, scope)
        except JqError as problem:
            if problem.value == {"__jq": 0}:
                return
            if node[2] is not None:
                yield from self.eval(node[2], problem.value, None, scope)

    def _alternative(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        some = False
        try:
            for found, at in self.eval(node[1], value, path, scope):
                if truth(found):
                    some = True
                    yield found, at
        except JqError:
            pass
        if not some:
            yield from self.eval(node[2], value, path, scope)

    def _and_or(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for left in self.run(node[1], value, scope):
            if truth(left) == (node[0] == "or"):
                yield node[0] == "or", None
                continue
            for right in self.run(node[2], value, scope):
                yield truth(right), None

    def _compare(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for right in self.run(node[3], value, scope):
            for left in self.run(node[2], value, scope):
                a, b, walked = comparable(left, right)
                self.steps += walked // 20
                yield {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[node[1]], None

    def _binary(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for right in self.run(node[3], value, scope):
            for left in self.run(node[2], value, scope):
                made = applied(node[1], left, right)
                self.steps += len(made) // 200 if isinstance(made, (str, list, dict)) else 0
                yield made, None

    def _negated(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        for found in self.run(node[1], value, scope):
            if kind_of(found) != "number":
                raise JqError(f"{described(found)} cannot be negated")
            yield -found, None

    # Names.

    def _variable(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        if node[1] == "$ENV":  # the library knows it, too
            yield scope.variables.get("$ENV", self.environment), None
            return
        if node[1] not in scope.variables:
            raise JqSyntaxError(f"{node[1]} is not defined at <top-level>, line 1:\n{node[1]}")
        yield scope.variables[node[1]], None

    def _as(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        _, source, patterns, body = node
        names = [name for pattern in patterns for name in names_in(pattern)]
        for found in self.run(source, value, scope):
            for at, pattern in enumerate(patterns):
                last = at == len(patterns) - 1
                base = dict.fromkeys(names) if len(patterns) > 1 else {}
                try:
                    for bound in self._bound(pattern, found, base, value, scope):
                        yield from self.eval(body, value, path, scope.binding(**bound))
                    break
                except JqError:
                    if last:
                        raise

    def _bound(
        self, pattern: Node, found: Any, bound: dict[str, Any], value: Any, scope: Scope
    ) -> Iterator[dict[str, Any]]:
        kind = pattern[0]
        if kind == "var":
            yield {**bound, pattern[1]: found}
        elif kind == "array":
            yield from self._bound_items(pattern[1], 0, found, bound, value, scope)
        else:
            yield from self._bound_pairs(pattern[1], 0, found, bound, value, scope)

    def _bound_items(
        self, items: list[Node], at: int, found: Any, bound: dict[str, Any], value: Any, scope: Scope
    ) -> Iterator[dict[str, Any]]:
        if at == len(items):
            yield bound
            return
        if found is not None and not isinstance(found, list):
            raise JqError(f"Cannot index {kind_of(found)} with number")
        for more in self._bound(items[at], indexed(found, at), bound, value, scope):
            yield from self._bound_items(items, at + 1, found, more, value, scope)

    def _bound_pairs(
        self, pairs: list[Any], at: int, found: Any, bound: dict[str, Any], value: Any, scope: Scope
    ) -> Iterator[dict[str, Any]]:
        if at == len(pairs):
            yield bound
            return
        key_node, pattern = pairs[at]
        for key in self.run(key_node, value, scope.binding(**bound)):
            item = indexed(found, key)
            for more in self._bound(pattern, item, bound, value, scope) if pattern is not None else (bound,):
                yield from self._bound_pairs(pairs, at + 1, found, more, value, scope)

    def _define(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        _, name, params, body, rest = node
        inner = Scope(scope.variables, dict(scope.functions), scope.labels)
        inner.functions[name, len(params)] = Closure(name, params, body, inner)
        return self.eval(rest, value, path, inner)

    def _call(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        _, name, args = node
        key = (name, len(args))
        closure = scope.functions.get(key) or self.library.get(key)
        if closure is not None:
            return self._closure(closure, args, value, path, scope)
        native = self.natives.get(key)
        if native is None:
            raise JqSyntaxError(f"{name}/{len(args)} is not defined at <top-level>, line 1:\n{name}")
        found: Iterator[Found] = native(self, args, value, path, scope)
        return found

    def _closure(self, closure: Closure, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        inner = Scope(closure.scope.variables, dict(closure.scope.functions), closure.scope.labels)
        inner.functions.setdefault((closure.name, len(closure.params)), closure)
        valued = [(param, arg) for param, arg in zip(closure.params, args, strict=True) if param.startswith("$")]
        for param, arg in zip(closure.params, args, strict=True):
            inner.functions[param.lstrip("$"), 0] = Closure(param.lstrip("$"), [], arg, scope)
        if not valued:
            return self.eval(closure.body, value, path, inner)
        return self._with_values(closure, valued, 0, value, path, (inner, scope))

    def _with_values(
        self,
        closure: Closure,
        valued: list[tuple[str, Node]],
        at: int,
        value: Any,
        path: Path,
        scopes: tuple[Scope, Scope],
    ) -> Iterator[Found]:
        inner, outer = scopes
        if at == len(valued):
            yield from self.eval(closure.body, value, path, inner)
            return
        name, arg = valued[at]
        for found in self.run(arg, value, outer):
            yield from self._with_values(closure, valued, at + 1, value, path, (inner.binding(**{name: found}), outer))

    def _reduce(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        _, source, pattern, parts = node
        for begun in self.run(parts[0], value, scope):
            state = begun
            for found in self.run(source, value, scope):
                for bound in self._bound(pattern, found, {}, value, scope):
                    found_states = list(self.run(parts[1], state, scope.binding(**bound)))
                    state = found_states[-1] if found_states else None
            yield state, None

    def _foreach(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        _, source, pattern, parts = node
        for begun in self.run(parts[0], value, scope):
            state = begun
            for found in self.run(source, value, scope):
                for bound in self._bound(pattern, found, {}, value, scope):
                    inner = scope.binding(**bound)
                    for following in self.run(parts[1], state, inner):
                        state = following
                        if len(parts) > 2:
                            yield from self.eval(parts[2], following, None, inner)
                        else:
                            yield following, None

    def _label(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        mark = object()
        inner = Scope(scope.variables, scope.functions, {**scope.labels, node[1]: mark})
        try:
            yield from self.eval(node[2], value, path, inner)
        except Break as leave:
            if leave.label is not mark:
                raise

    def _break(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        if node[1] not in scope.labels:
            raise JqSyntaxError(
                f"$*label-{node[1].lstrip('$')} is not defined at <top-level>, line 1:\nbreak {node[1]}"
            )
        raise Break(scope.labels[node[1]])

    def _assign(self, node: Node, value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        _, operator, target, source = node
        if operator == "|=":
            for at in list(self.paths(target, value, scope)):
                found = next(self.run(source, at_path(value, at), scope), _NOTHING)
                value = without(value, [at]) if found is _NOTHING else changed(value, at, found)
            yield value, None
            return
        for item in self.run(source, value, scope):
            made = value
            for at in self.paths(target, value, scope):
                if operator == "=":
                    new = item
                elif operator == "//=":
                    held = at_path(made, at)
                    new = held if truth(held) else item
                else:
                    new = applied(operator[0], at_path(made, at), item)
                made = changed(made, at, new)
            yield made, None

    def paths(self, node: Node, value: Any, scope: Scope) -> Iterator[tuple[Any, ...]]:
        """The paths that a filter names in a value."""
        for found, path in self.eval(node, value, (), scope):
            if path is None:
                raise JqError(f"Invalid path expression with result {written(found)[:30]}")
            yield path


_NOTHING = object()


class _Slice(dict[str, Any]):
    """A slice as part of a path."""

    def __hash__(self) -> int:  # type: ignore[override]
        return len(self)


def _no_path(value: Any) -> Path:
    return () if value is None else None


def names_in(pattern: Node) -> list[str]:
    """Variables that a pattern binds."""
    if pattern[0] == "var":
        return [pattern[1]]
    inner = pattern[1] if pattern[0] == "array" else [each for _, each in pattern[1] if each is not None]
    return [name for each in inner for name in names_in(each)]


def compiled(text: str) -> Node:
    """The tree of a filter. Raises JqSyntaxError."""
    return Parser(text).whole()


_EVALUATORS: dict[str, Any] = {
    ".": Machine._identity,
    "group": Machine._group,
    "lit": Machine._literal,
    "lit_array": Machine._empty_array,
    "lit_loc": Machine._location,
    "|": Machine._pipe,
    ",": Machine._comma,
    "index": Machine._index,
    "slice": Machine._slice,
    "each": Machine._each,
    "collect": Machine._collect,
    "object": Machine._object,
    "string": Machine._string,
    "format": Machine._format,
    "if": Machine._if,
    "try": Machine._try,
    "//": Machine._alternative,
    "and": Machine._and_or,
    "or": Machine._and_or,
    "compare": Machine._compare,
    "binary": Machine._binary,
    "neg": Machine._negated,
    "var": Machine._variable,
    "as": Machine._as,
    "def": Machine._define,
    "call": Machine._call,
    "reduce": Machine._reduce,
    "foreach": Machine._foreach,
    "label": Machine._label,
    "break": Machine._break,
    "assign": Machine._assign,
}
