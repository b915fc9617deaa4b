"""`-o go-template`: the part of Go's text/template that people write on kubectl's command line.

Served: text, `{{.a.b}}`, `range`/`if`/`with`/`else`/`end`, variables, pipelines, literals,
`{{-` and `-}}`, and the functions index, len, print, printf, println, eq, ne, lt, le, gt,
ge, and, or, not, exists, base64decode. Left out: template definitions, methods, slices.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from simcluster.surface.kubectl.printers.go_value import go_text

_ACTION = re.compile(r"\{\{(-\s)?(.*?)(\s-)?\}\}", re.DOTALL)
_TOKEN = re.compile(
    r"""\s*(?:("(?:\\.|[^"\\])*")|(`[^`]*`)|(:=|=|\||\(|\)|,)|((?:\$\w*)?(?:\.[\w-]+)+|\$\w*|\.)|([-+]?\d+(?:\.\d+)?)|([A-Za-z_]\w*))"""
)


class GoTemplateError(Exception):
    """The template cannot be parsed or executed."""


class _Node:
    """Text, an action, or a block with its branches."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text
        self.body: list[_Node] = []
        self.otherwise: list[_Node] = []


def render(source: str, value: Any) -> str:
    """The template filled with a value. Raises GoTemplateError."""
    return _Execution(value).block(_parse(source), value)


def _parse(source: str) -> list[_Node]:
    root = _Node("root", "")
    stack: list[tuple[_Node, list[_Node]]] = [(root, root.body)]
    position, trim = 0, False
    for match in _ACTION.finditer(source):
        text = source[position : match.start()]
        text = text.lstrip() if trim else text
        if match[1]:
            text = text.rstrip()
        trim, position = bool(match[3]), match.end()
        if text:
            stack[-1][1].append(_Node("text", text))
        _open(stack, match[2].strip())
    rest = source[position:].lstrip() if trim else source[position:]
    if "{{" in rest:
        raise GoTemplateError("template: output:1: unclosed action")
    if len(stack) > 1:
        raise GoTemplateError("template: output:1: unexpected EOF")
    root.body.append(_Node("text", rest))
    return root.body


def _open(stack: list[tuple[_Node, list[_Node]]], action: str) -> None:
    word, _, rest = action.partition(" ")
    if action.startswith("/*"):
        return
    if word in ("range", "if", "with"):
        node = _Node(word, rest.strip())
        stack[-1][1].append(node)
        stack.append((node, node.body))
    elif word == "else":
        node, _ = stack.pop()
        if node.kind == "root":
            raise GoTemplateError("template: output:1: unexpected {{else}}")
        stack.append((node, node.otherwise))
        if rest.strip():
            inner_word, _, inner = rest.strip().partition(" ")
            chained = _Node(inner_word, inner.strip())
            chained.kind = inner_word
            node.otherwise.append(chained)
            stack[-1] = (chained, chained.body)
    elif word == "end":
        if len(stack) == 1:
            raise GoTemplateError("template: output:1: unexpected {{end}}")
        stack.pop()
    else:
        stack[-1][1].append(_Node("action", action))


class _Execution:
    """Variables and functions while a template runs."""

    def __init__(self, root: Any) -> None:
        self.variables: dict[str, Any] = {"$": root}

    def block(self, nodes: list[_Node], dot: Any) -> str:
        """The text of a list of nodes."""
        return "".join(self._node(node, dot) for node in nodes)

    def _node(self, node: _Node, dot: Any) -> str:
        if node.kind == "text":
            return node.text
        if node.kind == "action":
            names, value = self._pipeline(node.text, dot)
            return "" if names else _shown(value)
        if node.kind == "range":
            return self._range(node, dot)
        names, value = self._pipeline(node.text, dot)
        if _truth(value):
            return self.block(node.body, value if node.kind == "with" else dot)
        return self.block(node.otherwise, dot)

    def _range(self, node: _Node, dot: Any) -> str:
        names, value = self._pipeline(node.text, dot, assign=False)
        pairs = (
            [(key, value[key]) for key in sorted(value)] if isinstance(value, dict) else list(enumerate(value or ()))
        )
        if not pairs:
            return self.block(node.otherwise, dot)
        output = []
        for key, item in pairs:
            if len(names) == 2:
                self.variables[names[0]], self.variables[names[1]] = key, item
            elif names:
                self.variables[names[0]] = item
            output.append(self.block(node.body, item))
        return "".join(output)

    def _pipeline(self, text: str, dot: Any, *, assign: bool = True) -> tuple[list[str], Any]:
        tokens = _tokens(text)
        names: list[str] = []
        for mark in (":=", "="):
            if mark in tokens:
                at = tokens.index(mark)
                names = [token for token in tokens[:at] if token != ","]
                tokens = tokens[at + 1 :]
                break
        value, rest = self._pipe(tokens, dot)
        if rest:
            raise GoTemplateError(f"template: output:1: unexpected {rest[0]} in operand")
        if assign and names:
            self.variables[names[0]] = value
        return names, value

    def _pipe(self, tokens: list[str], dot: Any) -> tuple[Any, list[str]]:
        value, tokens = self._command(tokens, dot, [])
        while tokens and tokens[0] == "|":
            value, tokens = self._command(tokens[1:], dot, [value])
        return value, tokens

    def _command(self, tokens: list[str], dot: Any, last: list[Any]) -> tuple[Any, list[str]]:
        if not tokens:
            raise GoTemplateError("template: output:1: missing value for command")
        if re.fullmatch(r"[A-Za-z_]\w*", tokens[0]) and tokens[0] not in ("true", "false", "nil"):
            name, tokens = tokens[0], tokens[1:]
            arguments = []
            while tokens and tokens[0] not in ("|", ")"):
                value, tokens = self._operand(tokens, dot)
                arguments.append(value)
            return _call(name, [*arguments, *last]), tokens
        return self._operand(tokens, dot)

    def _operand(self, tokens: list[str], dot: Any) -> tuple[Any, list[str]]:
        token, tokens = tokens[0], tokens[1:]
        if token == "(":
            value, tokens = self._pipe(tokens, dot)
            return value, tokens[1:]
        if token.startswith('"'):
            return json.loads(token), tokens
        if token.startswith("`"):
            return token[1:-1], tokens
        if token in ("true", "false", "nil"):
            return {"true": True, "false": False, "nil": None}[token], tokens
        if token.startswith("$"):
            name, *path = token.split(".")
            if name not in self.variables:
                raise GoTemplateError(f'template: output:1: undefined variable "{name}"')
            return _walk(self.variables[name], path), tokens
        if token.startswith("."):
            return _walk(dot, [part for part in token.split(".") if part]), tokens
        if re.fullmatch(r"[-+]?\d+", token):
            return int(token), tokens
        if re.fullmatch(r"[-+]?\d+\.\d+", token):
            return float(token), tokens
        raise GoTemplateError(f'template: output:1: function "{token}" not defined')


def _tokens(text: str) -> list[str]:
    found, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise GoTemplateError(f"template: output:1: unexpected {json.dumps(text[position])} in command")
        found.append(next(group for group in match.groups() if group is not None))
        position = match.end()
    return found


def _walk(value: Any, path: list[str]) -> Any:
    for part in path:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise GoTemplateError(f"template: output:1: can't evaluate field {part} in type {type(value).__name__}")
        value = value.get(part)
    return value


def _truth(value: Any) -> bool:
    return bool(value)


def _shown(value: Any) -> str:
    return "<no value>" if value is None else go_text(value)


def _call(name: str, arguments: list[Any]) -> Any:
    first = arguments[0] if arguments else None
    if name == "index":
        for key in arguments[1:]:
            first = first.get(key) if isinstance(first, dict) else first[key] if isinstance(first, list) else None
        return first
    if name == "len":
        return len(first or ())
    if name in ("eq", "ne", "lt", "le", "gt", "ge"):
        return _compare(name, first, arguments[1:])
    if name == "not":
        return not _truth(first)
    if name == "and":
        return next((value for value in arguments if not _truth(value)), arguments[-1])
    if name == "or":
        return next((value for value in arguments if _truth(value)), arguments[-1])
    if name == "exists":
        return _call("index", arguments) is not None
    if name == "base64decode":
        return base64.b64decode(str(first)).decode(errors="replace")
    if name in ("print", "println"):
        return "".join(_shown(value) for value in arguments) + ("\n" if name == "println" else "")
    if name == "printf":
        return _printf(str(first), arguments[1:])
    raise GoTemplateError(f'template: output:1: function "{name}" not defined')


def _compare(name: str, first: Any, rest: list[Any]) -> bool:
    if name == "eq":
        return any(first == other for other in rest)
    second = rest[0] if rest else None
    if name == "ne":
        return bool(first != second)
    try:
        return bool({"lt": first < second, "le": first <= second, "gt": first > second, "ge": first >= second}[name])
    except TypeError:
        raise GoTemplateError("template: output:1: incompatible types for comparison") from None


def _printf(text: str, arguments: list[Any]) -> str:
    values = iter(arguments)

    def replace(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        value = next(values, None)
        if match[2] == "q":
            shown = json.dumps(value, ensure_ascii=False)
        else:
            shown = go_text(value)
        width = match[1]
        if width.startswith("-"):
            return shown.ljust(int(width[1:] or "0"))
        return shown.rjust(int(width)) if width.isdigit() else shown

    return re.sub(r"%%|%(-?\d*)([svdq])", replace, text)
