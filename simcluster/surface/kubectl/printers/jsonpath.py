"""kubectl's JSONPath templates: `{range .items[*]}{.metadata.name}{"\\n"}{end}`.

The dialect of k8s.io/client-go/util/jsonpath: text outside braces is literal; inside stand
fields, `*`, `..`, indexes, slices, unions, filters `[?(@.a=="b")]`, quoted text, `range`
and `end`. `parse` makes a template, `Template.render` fills it. Go map order is random
where a wildcard meets a map; here such values come sorted by key.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from simcluster.surface.kubectl.printers.go_value import go_syntax
from simcluster.surface.kubectl.printers.jsontext import compact_json
from simcluster.surface.kubectl.printers.yaml import number_text


class JsonPathError(Exception):
    """The template is wrong, or does not fit the object; the text is client-go's."""


class Step(NamedTuple):
    """One step of a path.

    Attributes:
        kind: field, wildcard, recursive, slice, union, filter, text, number, boolean, identifier.
        value: field name, text, number, `(start, end, step)`, alternatives or `(left, operator, right)`.
    """

    kind: str
    value: Any = None


Path = tuple[Step, ...]

_FIELD_END = frozenset(" \t\r\n.,[]$@{}")
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")
_INDEX = re.compile(r"-?\d+")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_KEYS = re.compile(r"\s*'([^']*)'\s*|\s*\"([^\"]*)\"\s*")
_FILTER = re.compile(r"^([^!<>=]+)([!<>=]+)(.+?)$")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Template:
    """A parsed template: literal texts and actions in order."""

    def __init__(self, source: str, nodes: list[str | Path]) -> None:
        self.source = source
        self.nodes = nodes

    def render(self, root: Any, *, allow_missing: bool = True) -> str:
        """The text for an object. Raises JsonPathError."""
        return "".join(_Renderer(self.nodes, root, allow_missing).block(root))

    def find(self, root: Any, *, allow_missing: bool = True) -> list[Any]:
        """The values of all actions, in order."""
        found: list[Any] = []
        for node in self.nodes:
            if not isinstance(node, str):
                found.extend(_evaluate(node, [root], root, allow_missing))
        return found


def parse(source: str) -> Template:
    """Parse a template. Raises JsonPathError."""
    nodes: list[str | Path] = []
    position = 0
    while position < len(source):
        brace = source.find("{", position)
        if brace < 0:
            nodes.append(source[position:])
            break
        if brace > position:
            nodes.append(source[position:brace])
        reader = _Reader(source, brace + 1)
        nodes.append(reader.action("}"))
        position = reader.position
    return Template(source, nodes)


def relaxed(text: str) -> str:
    """`x.y`, `.x.y`, `{x.y}` or `{.x.y}` as a template (get.RelaxedJSONPathExpression).

    >>> relaxed("metadata.name"), relaxed("{.spec}")
    ('{.metadata.name}', '{.spec}')
    """
    if not text:
        return text
    match = re.fullmatch(r"\{\.?([^{}]+)\}|\.?([^{}]+)", text)
    if match is None:
        raise JsonPathError(
            "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'"
        )
    return "{." + (match[1] or match[2]) + "}"


class _Reader:
    """Reads the steps of one action."""

    def __init__(self, source: str, position: int) -> None:
        self.source = source
        self.position = position

    def action(self, end: str) -> Path:
        steps: list[Step] = []
        source = self.source
        while True:
            if self.position >= len(source) or source[self.position] == "\n":
                raise JsonPathError("unclosed action")
            c = source[self.position]
            if c == end:
                self.position += 1
                return tuple(steps)
            if c in " \t":
                self.position += 1
            elif c in "@$":
                self.position += 1
                if c == "$":
                    steps.append(Step("root"))
            elif c == "[":
                steps.append(self._array())
            elif c in "'\"":
                steps.append(Step("text", self._quoted(c)))
            elif c == ".":
                self._dot(steps)
            elif c.isdigit() or c in "+-":
                steps.append(self._number())
            elif c.isalpha() or c == "_":
                steps.append(self._identifier())
            else:
                raise JsonPathError(f"unrecognized character in action: U+{ord(c):04X} '{c}'")

    def _dot(self, steps: list[Step]) -> None:
        self.position += 1
        if self.source.startswith(".", self.position):
            self.position += 1
            steps.append(Step("recursive"))
            if self.source[self.position : self.position + 1] not in ("", "}", "[", "."):
                steps.append(self._field())
            return
        steps.append(self._field())

    def _field(self) -> Step:
        source = self.source
        pieces: list[str] = []
        if source.startswith("*", self.position):
            self.position += 1
            return Step("wildcard")
        while self.position < len(source):
            c = source[self.position]
            if c == "\\" and self.position + 1 < len(source):
                pieces.append(source[self.position + 1])
                self.position += 2
            elif c in _FIELD_END or c in "!<>=|)":
                break
            else:
                pieces.append(c)
                self.position += 1
        return Step("field", "".join(pieces))

    def _identifier(self) -> Step:
        match = _WORD.match(self.source, self.position)
        assert match is not None, self.source[self.position :]
        self.position = match.end()
        if match[0] in ("true", "false"):
            return Step("boolean", match[0] == "true")
        return Step("identifier", match[0])

    def _number(self) -> Step:
        match = _NUMBER.match(self.source, self.position)
        if match is None:
            raise JsonPathError(f"cannot parse number {self.source[self.position]}")
        self.position = match.end()
        try:
            return Step("number", int(match[0]))
        except ValueError:
            try:
                return Step("number", float(match[0]))
            except ValueError:
                raise JsonPathError(f"cannot parse number {match[0]}") from None

    def _quoted(self, quote: str) -> str:
        pieces: list[str] = []
        self.position += 1
        while self.position < len(self.source):
            c = self.source[self.position]
            self.position += 1
            if c == quote:
                return "".join(pieces)
            if c == "\\" and self.position < len(self.source):
                c = _ESCAPES.get(self.source[self.position], self.source[self.position])
                self.position += 1
            pieces.append(c)
        raise JsonPathError("unterminated quoted string")

    def _array(self) -> Step:
        source = self.source
        if source.startswith("[?(", self.position):
            return self._filter()
        quote, start = "", self.position + 1
        for end in range(start, len(source)):
            c = source[end]
            if quote:
                quote = "" if c == quote and source[end - 1] != "\\" else quote
            elif c in "'\"":
                quote = c
            elif c == "]":
                self.position = end + 1
                return _index(source[start:end])
            elif c == "\n":
                break
        raise JsonPathError("unterminated array")

    def _filter(self) -> Step:
        source = self.source
        start = self.position + 3
        depth, quote = 1, ""
        for end in range(start, len(source)):
            c = source[end]
            if quote:
                quote = "" if c == quote and source[end - 1] != "\\" else quote
            elif c in "'\"":
                quote = c
            elif c == "(":
                depth += 1
            elif c == ")":
                depth -= 1
                if depth == 0:
                    if not source.startswith("]", end + 1):
                        raise JsonPathError("unclosed array expect ]")
                    self.position = end + 2
                    return _comparison(source[start:end])
        raise JsonPathError("unterminated filter")


def _comparison(text: str) -> Step:
    match = _FILTER.match(text)
    if match is None:
        return Step("filter", (_operand(text), "exists", ()))
    return Step("filter", (_operand(match[1]), match[2], _operand(match[3])))


def _operand(text: str) -> Path:
    return _Reader(text.strip() + "}", 0).action("}")


def _index(text: str) -> Step:
    if text == "*":
        return Step("slice", (None, None, None))
    if text.startswith("'") or (text.startswith('"') and "," in text):
        names = [part.strip() for part in text.split(",")]
        if all(len(name) > 1 and name[0] == "'" and name[-1] == "'" for name in names):
            # A quoted key is read as a path, so that dots in it need a backslash.
            return Step("union", tuple(_operand("." + name[1:-1]) for name in names))
        raise JsonPathError(f"invalid array index {text}")
    if "," in text:
        return Step("union", tuple((_index(part.strip()),) for part in text.split(",")))
    match = _SLICE.fullmatch(text)
    if match is None or not text:
        raise JsonPathError(f"invalid array index {text}")
    if match[2] is None:
        return Step("index", int(match[1]))
    bounds = [match[1], match[2][1:], match[3][1:] if match[3] else ""]
    start, end, step = (int(part) if part else None for part in bounds)
    return Step("slice", (start, end, step))


class _Renderer:
    """Walks the nodes of a template, with its ranges."""

    def __init__(self, nodes: list[str | Path], root: Any, allow_missing: bool) -> None:
        self.nodes = nodes
        self.root = root
        self.allow_missing = allow_missing
        self.position = 0

    def block(self, current: Any, *, nested: bool = False) -> list[str]:
        """Text up to the end of the template or of the range."""
        output: list[str] = []
        while self.position < len(self.nodes):
            node = self.nodes[self.position]
            self.position += 1
            if isinstance(node, str):
                output.append(node)
            elif node and node[0] == Step("identifier", "range"):
                output.extend(self._range(node[1:], current))
            elif node and node[0] == Step("identifier", "end"):
                if not nested:
                    raise JsonPathError("not in range, nothing to end")
                return output
            else:
                values = _evaluate(node, [current], self.root, self.allow_missing)
                output.append(" ".join(_text(value) for value in values))
        return output

    def _range(self, path: Path, current: Any) -> list[str]:
        output: list[str] = []
        start = self.position
        values = _evaluate(path, [current], self.root, self.allow_missing)
        for value in values:
            self.position = start
            output.extend(self.block(value, nested=True))
        if not values:
            self._skip()
        return output

    def _skip(self) -> None:
        depth = 1
        while self.position < len(self.nodes) and depth:
            node = self.nodes[self.position]
            if not isinstance(node, str) and node:
                depth += (node[0] == Step("identifier", "range")) - (node[0] == Step("identifier", "end"))
            self.position += 1


def _evaluate(path: Path, values: list[Any], root: Any, allow_missing: bool) -> list[Any]:
    for step in path:
        if step.kind == "root":
            values = [root]
        elif step.kind == "identifier":
            raise JsonPathError(f"unrecognized identifier {step.value}")
        elif step.kind in ("text", "number", "boolean"):
            values = [step.value]
        else:
            values = [found for value in values for found in _step(step, value, root, allow_missing)]
    return values


def _step(step: Step, value: Any, root: Any, allow_missing: bool) -> list[Any]:
    kind = step.kind
    if kind == "field":
        return _field(step.value, value, allow_missing)
    if kind == "wildcard":
        return _children(value)
    if kind == "recursive":
        return _descendants(value)
    if kind == "index":
        return _at(step.value, value, allow_missing)
    if kind == "slice":
        return _slice(step.value, value, allow_missing)
    if kind == "union":
        return [found for path in step.value for found in _evaluate(path, [value], root, allow_missing)]
    left, operator, right = step.value
    items = value if isinstance(value, list) else _children(value) if isinstance(value, dict) else []
    return [item for item in items if _holds(left, operator, right, item, root)]


def _field(name: str, value: Any, allow_missing: bool) -> list[Any]:
    if isinstance(value, dict) and name in value:
        return [value[name]]
    if allow_missing or not isinstance(value, dict) or not name:
        return []
    raise JsonPathError(f"{name} is not found")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, list) else []


def _descendants(value: Any) -> list[Any]:
    if not isinstance(value, (dict, list)):
        return []
    found = [value]
    for child in _children(value):
        found.extend(_descendants(child))
    return found


def _need_list(value: Any, allow_missing: bool) -> list[Any] | None:
    if isinstance(value, list):
        return value
    if value is None or allow_missing:
        if value is None:
            return None
        raise JsonPathError(f"{go_syntax(value)} is not array or slice")
    raise JsonPathError(f"{go_syntax(value)} is not array or slice")


def _at(index: int, value: Any, allow_missing: bool) -> list[Any]:
    items = _need_list(value, allow_missing)
    if items is None:
        return []
    position = index + len(items) if index < 0 else index
    if not 0 <= position < len(items):
        raise JsonPathError(f"array index out of bounds: index {position}, length {len(items)}")
    return [items[position]]


def _slice(bounds: tuple[int | None, int | None, int | None], value: Any, allow_missing: bool) -> list[Any]:
    items = _need_list(value, allow_missing)
    if items is None:
        return []
    start, end, step = bounds
    if step is not None and step <= 0:
        raise JsonPathError("step must be > 0")
    return items[slice(start, end, step)]


def _holds(left: Path, operator: str, right: Path, item: Any, root: Any) -> bool:
    lefts = _evaluate(left, [item], root, True)
    if operator == "exists":
        return bool(lefts)
    rights = _evaluate(right, [item], root, True)
    if not lefts or not rights:
        return False
    if len(lefts) > 1:
        raise JsonPathError("can only compare one element at a time")
    return _compare(lefts[0], operator, rights[0])


def _compare(a: Any, operator: str, b: Any) -> bool:
    if operator == "==":
        return _kind(a) == _kind(b) and bool(a == b)
    if operator not in ("!=", "<", "<=", ">", ">="):
        raise JsonPathError(f"unrecognized filter operator {operator}")
    if operator == "!=":
        return _kind(a) != _kind(b) or bool(a != b)
    if _kind(a) != _kind(b) or _kind(a) not in ("number", "string"):
        raise JsonPathError("incompatible types for comparison")
    if operator == "<":
        return bool(a < b)
    if operator == "<=":
        return bool(a <= b)
    return bool(a > b) if operator == ">" else bool(a >= b)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, (int, float)) else "string" if isinstance(value, str) else "other"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)) or value is None:
        return compact_json(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value)
