"""The syntax of Go's text/template: from source to a tree.

Served: text with `{{-` and `-}}`, comments, if, else if, with, range, break, continue,
define, block, template, variables, pipelines, parentheses with fields behind them, literals.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_ACTION = re.compile(r"\{\{(-\s)?(.*?)(\s-)?\}\}", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<text>"(?:\\.|[^"\\])*"|`[^`]*`)|(?P<char>'(?:\\.|[^'\\])+')|(?P<assign>:=|=)|(?P<pipe>\|)"""
    r"""|(?P<open>\()|(?P<close>\))|(?P<comma>,)|(?P<number>[-+]?\d[\w.]*)|(?P<field>(?:\.[A-Za-z_]\w*)+)|(?P<dot>\.)"""
    r"""|(?P<variable>\$\w*(?:\.[A-Za-z_]\w*)*)|(?P<word>[A-Za-z_]\w*)"""
)
_BLOCKS = ("if", "with", "range", "define", "block")


class GoTemplateError(Exception):
    """The template cannot be parsed."""


class Operand(NamedTuple):
    """One operand of a command.

    Attributes:
        kind: literal, dot, field, variable, function or pipeline.
        value: the literal, the names of fields, the variable, the function or the inner pipeline.
        fields: names behind a variable or a pair of parentheses.
        text, at: as it stands in the source, and where.
    """

    kind: str
    value: Any
    fields: tuple[str, ...] = ()
    text: str = ""
    at: int = 0


class Pipeline(NamedTuple):
    """Commands whose values are handed on, and the variables that get the last one."""

    commands: tuple[tuple[Operand, ...], ...]
    variables: tuple[str, ...] = ()
    declares: bool = False


class Node(NamedTuple):
    """One node: text, action, if, with, range, break, continue or template.

    Attributes:
        text: of a text node; the name of a template.
        body, otherwise: of a block.
    """

    kind: str
    text: str = ""
    pipeline: Pipeline | None = None
    body: tuple[Node, ...] = ()
    otherwise: tuple[Node, ...] = ()


class Tree(NamedTuple):
    """A parsed template and those it defines."""

    nodes: tuple[Node, ...]
    defined: dict[str, tuple[Node, ...]]


class _Piece(NamedTuple):
    """Text, or an action without its braces, and where it stands."""

    is_action: bool
    text: str
    at: int


def parse(source: str) -> Tree:
    """The tree of a template. Raises GoTemplateError."""
    parser = _Parser(_pieces(source))
    nodes, end = parser.nodes(inside="")
    if end:
        raise _error(f"unexpected {{{{{end}}}}}")
    return Tree(nodes, parser.defined)


def _error(text: str) -> GoTemplateError:
    return GoTemplateError(f"template: output:1: {text}")


def _pieces(source: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    position, trim = 0, False
    for match in _ACTION.finditer(source):
        text = source[position : match.start()]
        text = text.lstrip() if trim else text
        text = text.rstrip() if match[1] else text
        if text:
            pieces.append(_Piece(False, text, position))
        trim, position = bool(match[3]), match.end()
        pieces.append(_Piece(True, match[2], match.start(2)))
    rest = source[position:].lstrip() if trim else source[position:]
    if "{{" in rest:
        raise _error("unclosed action")
    if rest:
        pieces.append(_Piece(False, rest, position))
    return pieces


class _Parser:
    """Reads pieces one after the other."""

    def __init__(self, pieces: list[_Piece]) -> None:
        self.pieces = pieces
        self.position = 0
        self.defined: dict[str, tuple[Node, ...]] = {}
        self.ranges = 0  # that are open here

    def nodes(self, inside: str) -> tuple[tuple[Node, ...], str]:
        """Nodes up to an `end` or `else`; that word, or empty at the end of the source."""
        found: list[Node] = []
        while self.position < len(self.pieces):
            piece = self.pieces[self.position]
            self.position += 1
            if not piece.is_action:
                found.append(Node("text", piece.text))
                continue
            text = piece.text.strip()
            if text.startswith("/*"):
                continue
            word = re.match(r"\w*", text)
            name = word[0] if word else ""
            if name in ("end", "else"):
                return tuple(found), text
            if name in _BLOCKS:
                found.extend(self._block(name, piece))
            elif name in ("break", "continue") and text == name:
                if not self.ranges:
                    raise _error(f"{{{{{name}}}}} outside {{{{range}}}}")
                found.append(Node(name))
            elif name == "template":
                found.append(self._template(piece))
            else:
                found.append(Node("action", pipeline=_Pipelines(piece.text, piece.at).whole()))
        if inside:
            raise _error("unexpected EOF")
        return tuple(found), ""

    def _block(self, name: str, piece: _Piece) -> list[Node]:
        at = piece.text.index(name) + len(name)
        head = piece.text[at:]
        if name in ("define", "block"):
            title, rest = _title(head)
            around, self.ranges = self.ranges, 0
            self.defined[title], end = self.nodes(name)
            self.ranges = around
            if end != "end":
                raise _error(f"unexpected {{{{{end}}}}}")
            if name == "define":
                return []
            return [Node("template", title, _Pipelines(rest, piece.at + piece.text.index(rest)).whole())]
        return [self._branches(name, head, piece.at + at)]

    def _branches(self, name: str, head: str, at: int) -> Node:
        if not head.strip():
            raise _error(f"missing value for {name}")
        pipeline = _Pipelines(head, at).whole()
        self.ranges += name == "range"
        body, end = self.nodes(name)
        self.ranges -= name == "range"
        otherwise: tuple[Node, ...] = ()
        if end.startswith("else"):
            more = end.removeprefix("else").strip()
            inner = re.match(r"\w+", more)
            if inner and inner[0] in ("if", "with"):
                otherwise = (self._branches(inner[0], more[inner.end() :], at),)
                return Node(name, "", pipeline, body, otherwise)
            otherwise, end = self.nodes(name)
        if end != "end":
            raise _error(f"expected end; found {{{{{end}}}}}")
        return Node(name, "", pipeline, body, otherwise)

    def _template(self, piece: _Piece) -> Node:
        title, rest = _title(piece.text.partition("template")[2])
        pipeline = _Pipelines(rest, piece.at + piece.text.index(rest)).whole() if rest.strip() else None
        return Node("template", title, pipeline)


def _title(text: str) -> tuple[str, str]:
    match = re.match(r'\s*("(?:\\.|[^"\\])*"|`[^`]*`)', text)
    if match is None:
        raise _error(f"unexpected {json.dumps(text.strip())} in template clause")
    return _unquoted(match[1]), text[match.end() :]


def _unquoted(text: str) -> str:
    return text[1:-1] if text[0] == "`" else str(json.loads(text))


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Pipelines:
    """Reads the inside of one action."""

    def __init__(self, text: str, at: int) -> None:
        self.tokens: list[_Token] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise _error(f"unexpected {json.dumps(text[position])} in command")
            self.tokens.append(_Token(match.lastgroup, match[0], at + position))
            position = match.end()
        self.position = 0

    def whole(self) -> Pipeline:
        """The one pipeline of the action."""
        pipeline = self._pipeline()
        if self.position < len(self.tokens):
            raise _error(f"unexpected {json.dumps(self.tokens[self.position].text)} in command")
        return pipeline

    def _peek(self) -> str:
        while self.position < len(self.tokens) and self.tokens[self.position].kind == "space":
            self.position += 1
        return self.tokens[self.position].kind if self.position < len(self.tokens) else ""

    def _take(self) -> _Token:
        self._peek()
        token = self.tokens[self.position]
        self.position += 1
        return token

    def _pipeline(self) -> Pipeline:
        variables, declares = self._declaration()
        commands = [self._command()]
        while self._peek() == "pipe":
            self._take()
            commands.append(self._command())
        return Pipeline(tuple(commands), variables, declares)

    def _declaration(self) -> tuple[tuple[str, ...], bool]:
        start, names = self.position, []
        while self._peek() == "variable":
            names.append(self._take().text)
            if self._peek() == "assign":
                return tuple(names), self._take().text == ":="
            if self._peek() != "comma":
                break
            self._take()
        self.position = start
        return (), False

    def _command(self) -> tuple[Operand, ...]:
        operands: list[Operand] = []
        while self._peek() not in ("", "pipe", "close"):
            operands.append(self._operand())
        if not operands:
            raise _error("missing value for command")
        return tuple(operands)

    def _operand(self) -> Operand:
        token = self._take()
        kind, text = token.kind, token.text
        if kind == "open":
            inner = self._pipeline()
            if self._peek() != "close":
                raise _error("unclosed left paren")
            self._take()
            fields: tuple[str, ...] = ()
            if self.position < len(self.tokens) and self.tokens[self.position].kind == "field":
                fields = tuple(self._take().text[1:].split("."))
            return Operand("pipeline", inner, fields, "(...)", token.at)
        if kind == "field":
            return Operand("field", None, tuple(text[1:].split(".")), text, token.at)
        if kind == "variable":
            name, *rest = text.split(".")
            return Operand("variable", name, tuple(rest), text, token.at)
        if kind == "dot":
            return Operand("dot", None, (), text, token.at)
        if kind == "word":
            return _word(token)
        if kind == "text":
            return Operand("literal", _unquoted(text), (), text, token.at)
        if kind == "char":
            return Operand("literal", ord(json.loads('"' + text[1:-1].replace('"', '\\"') + '"')), (), text, token.at)
        if kind == "number":
            return Operand("literal", _number(text), (), text, token.at)
        raise _error(f"unexpected {json.dumps(text)} in operand")


def _word(token: _Token) -> Operand:
    constants = {"true": True, "false": False, "nil": None}
    if token.text in constants:
        return Operand("literal", constants[token.text], (), token.text, token.at)
    return Operand("function", token.text, (), token.text, token.at)


def _number(text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise _error(f"bad number syntax: {json.dumps(text)}") from None
