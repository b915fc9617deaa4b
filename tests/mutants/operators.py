"""What a mutant changes, beside the operators of cosmic-ray: dropped effects and wrong words.

A cluster's mistakes are seldom a wrong sign: an Event that nobody records, a condition with the wrong reason, a
status that is not written. These operators make such mistakes.
"""

from __future__ import annotations

import ast
import re
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import parso
from cosmic_ray.operators.exception_replacer import ExceptionReplacer
from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Keyword, Number, String

Position = tuple[tuple[int, int], tuple[int, int]]

#: Methods that record Events here.
_EVENT_CALLS = frozenset(("event", "eventf", "record", "record_event", "normal", "warning", "emit"))
#: A reason or a type of a condition or an Event, as Kubernetes spells them.
_CAMEL = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]*)+")
_SPEAKS_OF_CODES = re.compile("code|status|error|answer|respon|refus|http|fail", re.I)
_WORD = re.compile(r"[A-Za-z][\w./-]{2,}")


def _call_statement(node: Any) -> Any:
    """The expression of a statement that is only a call, else None."""
    if node.type != "expr_stmt" and node.type in ("atom_expr", "power") and node.parent is not None:
        alone = node.parent.type in ("simple_stmt", "suite", "file_input")
        trailer = node.children[-1]
        if alone and trailer.type == "trailer" and trailer.children[0] == "(":
            return node
    return None


def _called(node: Any) -> str:
    """Name of the method or function that a call statement calls last."""
    if len(node.children) < 2:
        return ""
    before = node.children[-2]
    name = before.children[-1] if before.type == "trailer" else before
    return str(getattr(name, "value", ""))


class _Ours(Operator):
    """Base: an operator with one example."""

    example: tuple[str, str]

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """For cosmic-ray's own checks."""
        return (Example(*cls.example),)


class _Statement(_Ours):
    """Base: a statement that is a call is left out."""

    @abstractmethod
    def chosen(self, name: str) -> bool:
        """Whether calls of this name are left out."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Every such statement."""
        call = _call_statement(node)
        if call is not None and self.chosen(_called(call)):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """`pass` in its place."""
        return Keyword("pass", node.start_pos, prefix=node.get_first_leaf().prefix)


class DropEvent(_Statement):
    """An Event that is not recorded."""

    example = ("self.recorder.event(pod, 'Killing')\n", "pass\n")

    def chosen(self, name: str) -> bool:
        """Calls that record."""
        return name in _EVENT_CALLS


class DropCall(_Statement):
    """An effect that does not happen."""

    example = ("queue.add(key)\n", "pass\n")

    def chosen(self, name: str) -> bool:
        """All others."""
        return name not in _EVENT_CALLS and name != "__init__"


class WrongWord(_Ours):
    """Another word where Kubernetes has one of its own: a reason, a condition, a field, a tool's name."""

    example = ("reason = 'MinimumReplicasAvailable'", "reason = 'ReplicasAvailableMinimum'")

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Strings of one word that are no docstrings."""
        if isinstance(node, String) and _text(node) is not None and node.parent.type != "simple_stmt":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The word with its halves exchanged."""
        text = _text(node)
        assert text is not None
        parts = _CAMEL.fullmatch(text) and re.findall(r"[A-Z][a-z]*", text)
        wrong = "".join([*parts[1:], parts[0]]) if parts else text[1:] + text[0]
        return String(repr(wrong if wrong != text else f"not-{text}"), node.start_pos, prefix=node.prefix)


class WrongCode(_Ours):
    """Another status code of HTTP."""

    example = ("code = 404", "code = 405")

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Whole numbers from 200 to 599 of which HTTP makes use, where the statement speaks of such."""
        if isinstance(node, Number) and node.value in _CODES and _SPEAKS_OF_CODES.search(_statement(node)):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The next code of the list."""
        code = _CODES[(_CODES.index(node.value) + 1) % len(_CODES)]
        return Number(code, node.start_pos, prefix=node.prefix)


_CODES = (
    "200", "201", "202", "400", "401", "403", "404", "405", "409", "410", "413", "415", "422", "429", "500", "503",
)  # fmt: skip


def _statement(node: Any) -> str:
    while node.parent is not None and not node.type.endswith("stmt"):
        node = node.parent
    return str(node.get_code(include_prefix=False))


def _text(node: Any) -> str | None:
    """The value of a plain string of one word."""
    if node.value[0] not in "'\"":
        return None
    try:
        value = ast.literal_eval(node.value)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) and _WORD.fullmatch(value) else None


def silent_lines(source: str) -> set[int]:
    """Lines on which a change changes nothing: docstrings, annotations, imports, and what always holds (assertions)."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        for silent in _silent_parts(node):
            lines.update(range(silent.lineno, (silent.end_lineno or silent.lineno) + 1))
    return lines


def _silent_parts(node: ast.AST) -> list[ast.expr | ast.stmt]:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.AnnAssign(value=None):
            return [node]
        case ast.Expr(value=ast.Constant(value=str())):
            return [node]
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return [node]
        case ast.Assert():
            return [node]
        case ast.Call(func=ast.Name(id="cast"), args=[first, *_]):
            return [first]
        case ast.Call(func=ast.Name(id="dataclass" | "lru_cache"), keywords=keywords):
            return [one.value for one in keywords if one.arg in ("slots", "maxsize")]
        case ast.FunctionDef(args=arguments) if not arguments.defaults:
            return [one.annotation for one in arguments.args if one.annotation is not None]
    return []


def tree_of(source: str) -> Any:
    """The parse tree in which positions are looked for."""
    return parso.parse(source)


class WrongException(ExceptionReplacer):  # type: ignore[misc]
    """Another exception is caught than the one named; `except module.Error` is named as a whole, and left alone."""

    @staticmethod
    def _name_nodes(node: Any) -> list[Any]:
        caught = node.children[1]
        if caught.type == "atom":
            caught = caught.children[1]
        parts = caught.children[::2] if caught.type == "testlist_comp" else [caught]
        return [part for part in parts if part.type == "name"]
