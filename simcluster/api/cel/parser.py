"""From the text of a CEL expression to plain nested tuples.

A node is a tuple whose first item is its kind:
`("lit", value)`, `("id", name)`, `("select", of, name, optional)`, `("has", of, name)`,
`("index", of, at, optional)`, `("call", name, target or None, arguments)`, `("list", items)`,
`("map", pairs)`, `("cond", test, then, else)`, `("and", a, b)`, `("or", a, b)`, `("not", a)`,
`("neg", a)`, `("op", sign, a, b)`, `("maybe", x)`
within lists and as keys of maps, `("each", macro, range, variable, body, result or None)`.
"""

from __future__ import annotations

import functools
from typing import Any

from simcluster.api.cel.lexer import CelSyntaxError, Token, error_at, tokens

__all__ = ["CelSyntaxError", "Node", "names_of", "parse"]

Node = tuple[Any, ...]

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_MACROS = {
    "all": (2,),
    "exists": (2,),
    "exists_one": (2,),
    "filter": (2,),
    "map": (2, 3),
    "optMap": (2,),
    "optFlatMap": (2,),
}
_RESERVED = (
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
)  # fmt: skip
#: With what an operand may start, as the parser of cel-go lists it.
_STARTS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_DEPTH = 200


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def fail(self, token: Token, expecting: str) -> CelSyntaxError:
        return error_at(self.source, token.at, f"Syntax error: mismatched input '{token.text}' expecting {expecting}")

    def take(self, *texts: str) -> Token | None:
        """The next token if it is one of these operators."""
        token = self.next
        if (token.kind == "op" and token.text in texts) or (token.kind == "name" and token.text in texts):
            self.at += 1
            return token
        return None

    def need(self, text: str) -> None:
        if self.take(text) is None:
            raise self.fail(self.next, f"'{text}'")

    # From the weakest binding to the strongest.

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > _DEPTH:
            raise error_at(self.source, self.next.at, "Syntax error: expression recursion limit exceeded")
        test = self.disjunction()
        if self.take("?"):
            then = self.disjunction()
            self.need(":")
            test = ("cond", test, then, self.expression())
        self.depth -= 1
        return test

    def disjunction(self) -> Node:
        node = self.conjunction()
        while self.take("||"):
            node = ("or", node, self.conjunction())
        return node

    def conjunction(self) -> Node:
        node = self.relation()
        while self.take("&&"):
            node = ("and", node, self.relation())
        return node

    def relation(self) -> Node:
        node = self.sum()
        while sign := self.take(*_COMPARISONS, "in"):
            node = ("op", sign.text, node, self.sum())
        return node

    def sum(self) -> Node:
        node = self.product()
        while sign := self.take("+", "-"):
            node = ("op", sign.text, node, self.product())
        return node

    def product(self) -> Node:
        node = self.unary()
        while sign := self.take("*", "/", "%"):
            node = ("op", sign.text, node, self.unary())
        return node

    def unary(self) -> Node:
        if self.take("!"):
            return ("not", self.unary())
        if self.take("-"):
            inner = self.unary()
            if inner[0] == "lit" and isinstance(inner[1], (int, float)) and not isinstance(inner[1], bool):
                return ("lit", -inner[1])
            return ("neg", inner)
        return self.member()

    def member(self) -> Node:
        node = self.primary()
        while True:
            if sign := self.take(".", ".?"):
                name = self.name()
                if sign.text == "." and self.take("("):
                    node = self.method(node, name)
                else:
                    node = ("select", node, name.text, sign.text == ".?")
            elif sign := self.take("[", "[?"):
                index = self.expression()
                self.need("]")
                node = ("index", node, index, sign.text == "[?")
            else:
                return node

    def name(self) -> Token:
        token = self.next
        if token.kind != "name":
            raise self.fail(token, "IDENTIFIER")
        self.at += 1
        return token

    def method(self, target: Node, name: Token) -> Node:
        arguments = self.arguments(")")
        if name.text in _MACROS and len(arguments) in _MACROS[name.text]:
            variable = arguments[0]
            if variable[0] != "id":
                raise error_at(self.source, name.at, "argument must be a simple name")
            if len(arguments) == 3:
                return ("each", "map", target, variable[1], arguments[1], arguments[2])
            if name.text == "map":
                return ("each", "map", target, variable[1], None, arguments[1])
            return ("each", name.text, target, variable[1], arguments[1], None)
        return ("call", name.text, target, arguments)

    def arguments(self, closing: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self.take(closing):
            found.append(self.expression())
            if not self.take(","):
                self.need(closing)
                break
        return tuple(found)

    def elements(self, *, maybe: bool) -> tuple[Node, ...]:
        """Of a list; one behind a `?` (`maybe` the first) is left out if it is an optional without value."""
        found: list[Node] = []
        while not self.take("]"):
            maybe = maybe or self.take("?") is not None
            found.append(("maybe", self.expression()) if maybe else self.expression())
            maybe = False
            if not self.take(","):
                self.need("]")
                break
        return tuple(found)

    def primary(self) -> Node:
        token = self.next
        if token.kind == "literal":
            self.at += 1
            return ("lit", token.value)
        if self.take("("):
            node = self.expression()
            self.need(")")
            return node
        if opening := self.take("[", "[?"):
            return ("list", self.elements(maybe=opening.text == "[?"))
        if self.take("{"):
            return self.mapping()
        self.take(".")
        if self.next.kind != "name":
            raise self.fail(self.next, _STARTS)
        name = self.name()
        if name.text in _RESERVED:
            raise error_at(self.source, name.at, f"reserved identifier: {name.text}")
        if not self.take("("):
            return ("id", name.text)
        arguments = self.arguments(")")
        if name.text == "has":
            if len(arguments) != 1 or arguments[0][0] != "select":
                raise error_at(self.source, name.at, "invalid argument to has() macro")
            return ("has", arguments[0][1], arguments[0][2])
        return ("call", name.text, None, arguments)

    def mapping(self) -> Node:
        pairs: list[tuple[Node, Node]] = []
        while not self.take("}"):
            maybe = self.take("?") is not None
            key = self.expression()
            if maybe:
                key = ("maybe", key)
            self.need(":")
            pairs.append((key, self.expression()))
            if not self.take(","):
                self.need("}")
                break
        return ("map", tuple(pairs))


@functools.lru_cache(maxsize=2048)
def parse(source: str) -> Node:
    """The tree of an expression. Raises CelSyntaxError.

    >>> parse("a.b <= 3")
    ('op', '<=', ('select', ('id', 'a'), 'b', False), ('lit', 3))
    """
    parser = _Parser(source)
    node = parser.expression()
    if parser.next.kind != "end":
        text = parser.next.text
        raise error_at(source, parser.next.at, f"Syntax error: extraneous input '{text}' expecting <EOF>")
    return node


def names_of(node: Any, bound: tuple[str, ...] = ()) -> list[str]:
    """Names an expression takes from outside, in order of appearance."""
    if not isinstance(node, tuple) or not node:
        return []
    kind = node[0]
    if kind == "lit":
        return []
    if kind == "id":
        return [] if node[1] in bound else [node[1]]
    if kind == "each":
        _, _, over, variable, body, result = node
        inner = (*bound, variable)
        return [*names_of(over, bound), *names_of(body, inner), *names_of(result, inner)]
    return [name for part in node[1:] for name in _names_in(part, bound)]


def _names_in(part: Any, bound: tuple[str, ...]) -> list[str]:
    if not isinstance(part, tuple):
        return []
    if part and isinstance(part[0], str):
        return names_of(part, bound)
    return [name for inner in part for name in _names_in(inner, bound)]
