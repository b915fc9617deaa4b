"""Go's template language as far as alerts use it: text, actions, pipelines, `if`, `with`, `range`, variables."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class TemplateError(ValueError):
    """A template that is none, or that cannot be executed."""


class Text(NamedTuple):
    """What is printed as it stands."""

    text: str


class Term(NamedTuple):
    """A literal, a variable or field with its path, a function's name, or a pipeline in parentheses."""

    kind: str
    value: object
    path: tuple[str, ...] = ()


Command: TypeAlias = tuple[Term, ...]
Pipeline: TypeAlias = tuple[Command, ...]


class Print(NamedTuple):
    """`{{ pipeline }}`, or `{{ $x := pipeline }}`, which prints nothing."""

    pipeline: Pipeline
    variable: str


@dataclass(frozen=True)
class Block:
    """`if`, `with` or `range`: what is done when there is something, and else."""

    kind: str
    pipeline: Pipeline
    variables: tuple[str, ...]
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


Node: TypeAlias = Text | Print | Block

_ACTION = re.compile(r"\{\{(-\s)?((?:\"(?:[^\"\\]|\\.)*\"|`[^`]*`|[^\"`])*?)(\s-)?\}\}", re.DOTALL)
_TOKEN = re.compile(
    r"\s*(?:(?P<string>\"(?:[^\"\\]|\\.)*\"|`[^`]*`)|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))"
    r"|(?P<sign>:=|=|\||\(|\)|,)|(?P<variable>\$\w*(?:\.\w+)*)|(?P<field>\.(?:\w+(?:\.\w+)*)?)|(?P<word>\w+))"
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


@functools.lru_cache(maxsize=1024)
def parsed(source: str) -> tuple[Node, ...]:
    """The nodes of a template.

    Raises:
        TemplateError: it is none.
    """
    pieces: list[tuple[str, str]] = []
    at, trim = 0, False
    for match in _ACTION.finditer(source):
        text = source[at : match.start()]
        text = text.lstrip() if trim else text
        pieces += [("text", text.rstrip() if match[1] else text), ("action", match[2].strip())]
        trim, at = bool(match[3]), match.end()
    rest = source[at:]
    if "{{" in rest:
        raise TemplateError("unclosed action")
    pieces.append(("text", rest.lstrip() if trim else rest))
    nodes, end, left = _nodes(pieces)
    if end or left:
        raise TemplateError(f"unexpected {{{{{end}}}}}")
    return nodes


def called(nodes: Iterable[Node]) -> Iterator[str]:
    """Names of functions that a template calls, in order.

    >>> list(called(parsed("{{if eq .a 1}}{{.b | printf `%s`}}{{end}}")))
    ['eq', 'printf']
    """
    for node in nodes:
        if isinstance(node, Text):
            continue
        yield from _called(node.pipeline)
        if isinstance(node, Block):
            yield from called((*node.body, *node.otherwise))


def _called(pipeline: Pipeline) -> Iterator[str]:
    for command in pipeline:
        for term in command:
            if term.kind == "function":
                yield str(term.value)
            elif term.kind == "pipeline":
                assert isinstance(term.value, tuple)
                yield from _called(term.value)


def _nodes(pieces: list[tuple[str, str]]) -> tuple[tuple[Node, ...], str, list[tuple[str, str]]]:
    """Nodes up to an `end` or `else`, that word, and what is left."""
    found: list[Node] = []
    while pieces:
        (kind, content), pieces = pieces[0], pieces[1:]
        if kind == "text":
            if content:
                found.append(Text(content))
            continue
        word = content.split(None, 1)[0] if content else ""
        if content.startswith("/*"):
            continue
        if word in ("end", "else"):
            return tuple(found), content, pieces
        if word in ("if", "with", "range"):
            block, pieces = _block(word, content[len(word) :], pieces)
            found.append(block)
        elif not content:
            raise TemplateError("missing value for command")
        else:
            pipeline, variables = _assigned(content)
            found.append(Print(pipeline, variables[0] if variables else ""))
    return tuple(found), "", []


def _block(kind: str, head: str, pieces: list[tuple[str, str]]) -> tuple[Block, list[tuple[str, str]]]:
    pipeline, variables = _assigned(head)
    body, end, pieces = _nodes(pieces)
    otherwise: tuple[Node, ...] = ()
    if end.startswith("else"):
        rest = end[4:].strip()
        if rest:
            word = rest.split(None, 1)[0]
            inner, pieces = _block(word, rest[len(word) :], pieces)
            return Block(kind, pipeline, variables, body, (inner,)), pieces
        otherwise, end, pieces = _nodes(pieces)
    if end != "end":
        raise TemplateError("unexpected EOF")
    return Block(kind, pipeline, variables, body, otherwise), pieces


def _assigned(content: str) -> tuple[Pipeline, tuple[str, ...]]:
    match = re.match(r"\s*(\$\w+)(?:\s*,\s*(\$\w+))?\s*:?=(?!=)", content)
    variables = tuple(name for name in match.groups() if name) if match else ()
    terms = _terms(content[match.end() :] if match else content)
    pipeline, at = _pipeline(terms, 0)
    if at != len(terms):
        raise TemplateError(f"unexpected {terms[at][1]!r} in command")
    return pipeline, variables


def _terms(content: str) -> list[tuple[str, str]]:
    found, at = [], 0
    content = content.rstrip()
    while at < len(content):
        match = _TOKEN.match(content, at)
        if match is None:
            raise TemplateError(f'unexpected "{content[at:].strip()[:1]}" in command')
        kind = match.lastgroup
        assert kind is not None
        found.append((kind, match[kind]))
        at = match.end()
    return found


def _pipeline(terms: list[tuple[str, str]], at: int) -> tuple[Pipeline, int]:
    commands: list[Command] = []
    while True:
        command: list[Term] = []
        while at < len(terms) and terms[at][1] not in ("|", ")"):
            kind, word = terms[at]
            if word == "(" and kind == "sign":
                inner, at = _pipeline(terms, at + 1)
                if at >= len(terms) or terms[at][1] != ")":
                    raise TemplateError("unclosed left paren")
                at += 1
                path: tuple[str, ...] = ()
                if at < len(terms) and terms[at][0] == "field" and terms[at][1] != ".":
                    path, at = tuple(terms[at][1][1:].split(".")), at + 1
                command.append(Term("pipeline", inner, path))
            else:
                command.append(_term(kind, word))
                at += 1
        if not command:
            raise TemplateError("missing value for command")
        commands.append(tuple(command))
        if at < len(terms) and terms[at][1] == "|":
            at += 1
            continue
        return tuple(commands), at


def _term(kind: str, word: str) -> Term:
    if kind == "string":
        if word[0] == "`":
            return Term("literal", word[1:-1])
        return Term("literal", re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), word[1:-1]))
    if kind == "number":
        return Term("literal", int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word))
    if kind == "variable":
        name, *path = word.split(".")
        return Term("variable", name, tuple(path))
    if kind == "field":
        return Term("field", "", tuple(part for part in word[1:].split(".") if part))
    if word in ("true", "false"):
        return Term("literal", word == "true")
    if kind == "word":
        return Term("function", word)
    raise TemplateError(f"unexpected {word!r} in operand")
