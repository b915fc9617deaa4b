"""The grammar of jq: a filter becomes a tree of plain tuples. Source: the jq 1.7 manual."""

from __future__ import annotations

import json
import re
from typing import Any

from simcluster.models.userland.tools.tokens import Tokens

Node = tuple[Any, ...]
_TOKEN = re.compile(
    r"\s*(?:#[^\n]*\n?\s*)*(?:(?P<number>\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|(?P<format>@\w+)"
    r"|(?P<field>\.[A-Za-z_]\w*)|(?P<name>\$?[A-Za-z_]\w*(?:::\w+)*)|(?P<string>\")"
    r"|(?P<op>\?//|//=|\|=|\+=|-=|\*=|/=|%=|==|!=|<=|>=|//|\.\.|\$__loc__|[-+*/%=<>|,.:;?()\[\]{}$]))"
)
_KEYWORDS = frozenset(
    [
        "def",
        "if",
        "then",
        "elif",
        "else",
        "end",
        "as",
        "reduce",
        "foreach",
        "try",
        "catch",
        "label",
        "import",
        "include",
        "and",
        "or",
        "not",
        "__loc__",
    ]
)
_DEPTH_MAX = 80
#: Operators by rising precedence: (signs, whether they group to the left).
_LEVELS = ((("//",), False), (("or",), True), (("and",), True))
_ASSIGN = ("=", "|=", "+=", "-=", "*=", "/=", "%=", "//=")


class JqSyntaxError(Exception):
    """The filter cannot be compiled; the text is jq's."""


class Parser(Tokens):
    """Reads a filter."""

    def _advance(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            rest = re.sub(r"#[^\n]*", "", self.text[self.at :]).strip()
            if rest:
                raise self._fail("INVALID_CHARACTER")
            self.kind, self.value = "eof", ""
            self.at = len(self.text)
            return
        self.at = match.end()
        self.kind = str(match.lastgroup)
        self.value = match[self.kind]
        if self.kind == "name" and self.value in _KEYWORDS:
            self.kind = "key"

    def _fail(self, near: str = "") -> JqSyntaxError:
        token = near or (
            "$end"
            if self.kind == "eof"
            else "IDENT"
            if self.kind == "name"
            else "FIELD"
            if self.kind == "field"
            else "LITERAL"
            if self.kind == "number"
            else "QQSTRING_START"
            if self.kind == "string"
            else self.value
            if self.kind == "key"
            else f"'{self.value}'"
        )
        return JqSyntaxError(
            f"syntax error, unexpected {token} (Unix shell quoting issues?) at <top-level>, line 1:\n{self.text}"
        )

    def whole(self) -> Node:
        """The tree of the whole filter. Raises JqSyntaxError."""
        if self.kind == "eof":
            return (".",)
        node = self.pipe()
        if self.kind != "eof":
            raise self._fail()
        return node

    def pipe(self) -> Node:
        """A filter with its pipes, definitions and bindings."""
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise JqSyntaxError("memory exhausted")
        node = self._pipe()
        self.depth -= 1
        return node

    def _pipe(self) -> Node:
        if self._is("def"):
            name, params, body = self._definition()
            rest = (".",) if self.kind == "eof" else self.pipe()
            return ("def", name, params, body, rest)
        if self._take("label"):
            name = self.value
            self._advance()
            self._expect("|")
            return ("label", name, self.pipe())
        node = self._comma()
        if self._take("as"):
            patterns = [self._pattern()]
            while self._take("?//"):
                patterns.append(self._pattern())
            self._expect("|")
            return ("as", node, patterns, self.pipe())
        if self._take("|"):
            return ("|", node, self.pipe())
        return node

    def _definition(self) -> tuple[str, list[str], Node]:
        self._expect("def")
        name = self.value
        self._advance()
        params: list[str] = []
        if self._take("("):
            params.append(self.value)
            self._advance()
            while self._take(";"):
                params.append(self.value)
                self._advance()
            self._expect(")")
        self._expect(":")
        body = self.pipe()
        self._expect(";")
        return name, params, body

    def _pattern(self) -> Node:
        if self.kind == "name" and self.value.startswith("$"):
            name = self.value
            self._advance()
            return ("var", name)
        if self._take("["):
            items = [self._pattern()]
            while self._take(","):
                items.append(self._pattern())
            self._expect("]")
            return ("array", items)
        self._expect("{")
        pairs: list[tuple[Node, Node | None]] = []
        while True:
            key, pattern = self._pattern_key()
            if self._take(":"):
                pattern = self._pattern()
            pairs.append((key, pattern))
            if not self._take(","):
                break
        self._expect("}")
        return ("object", pairs)

    def _pattern_key(self) -> tuple[Node, Node | None]:
        if self.kind == "name":
            name = self.value
            self._advance()
            return (("lit", name.lstrip("$")), ("var", name) if name[0] == "$" else None)
        if self.kind == "string":
            return (self._string(""), None)
        self._expect("(")
        node = self.pipe()
        self._expect(")")
        return (node, None)

    def _comma(self) -> Node:
        node = self._assign()
        while self._take(","):
            node = (",", node, self._assign())
        return node

    def _assign(self) -> Node:
        node = self._level(0)
        if self._is(*_ASSIGN):
            operator = self.value
            self._advance()
            return ("assign", operator, node, self._level(0))
        return node

    def _level(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._comparison()
        signs, left = _LEVELS[level]
        node = self._level(level + 1)
        while self._is(*signs):
            operator = self.value
            self._advance()
            node = (operator, node, self._level(level + 1) if left else self._level(level))
        return node

    def _comparison(self) -> Node:
        node = self._sum()
        if self._is("==", "!=", "<", "<=", ">", ">="):
            operator = self.value
            self._advance()
            return ("compare", operator, node, self._sum())
        return node

    def _sum(self) -> Node:
        node = self._product()
        while self._is("+", "-"):
            operator = self.value
            self._advance()
            node = ("binary", operator, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._unary()
        while self._is("*", "/", "%"):
            operator = self.value
            self._advance()
            node = ("binary", operator, node, self._unary())
        return node

    def _unary(self) -> Node:
        if self._take("-"):
            return ("neg", self._postfix())
        return self._postfix()

    def _postfix(self) -> Node:
        node = self._term()
        while True:
            if self.kind == "field":
                node = ("index", node, ("lit", self.value[1:]))
                self._advance()
            elif self._is(".") and self.text[self.at : self.at + 1] in ('"', "["):
                self._advance()
                if self.kind == "string":
                    node = ("index", node, self._string(""))
            elif self._take("["):
                node = self._bracket(node)
            elif self._take("?"):
                node = ("try", node, None)
            elif self._is("as"):
                return self._binding(node)
            else:
                return node

    def _binding(self, node: Node) -> Node:
        """`TERM as $x | BODY` binds more tightly than a pipe before it."""
        self._advance()
        patterns = [self._pattern()]
        while self._take("?//"):
            patterns.append(self._pattern())
        self._expect("|")
        return ("as", node, patterns, self.pipe())

    def _bracket(self, node: Node) -> Node:
        if self._take("]"):
            return ("each", node)
        if self._take(":"):
            stop = self.pipe()
            self._expect("]")
            return ("slice", node, None, stop)
        start = self.pipe()
        if self._take(":"):
            last: Node | None = None if self._is("]") else self.pipe()
            self._expect("]")
            return ("slice", node, start, last)
        self._expect("]")
        return ("index", node, start)

    def _term(self) -> Node:
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise JqSyntaxError("memory exhausted")
        node = self._one_term()
        self.depth -= 1
        return node

    def _one_term(self) -> Node:
        kind, value = self.kind, self.value
        if kind == "number":
            self._advance()
            return (
                "lit",
                json.loads(value.rstrip(".") if not value.startswith(".") else "0" + value)
                if len(value) < 300
                else float(value[:300]),
            )
        if kind == "string":
            return self._string("")
        if kind == "format":
            self._advance()
            return self._string(value) if self.kind == "string" else ("format", value)
        if kind == "field":
            self._advance()
            return ("index", (".",), ("lit", value[1:]))
        if self._take(".."):
            return ("call", "recurse", [])
        if self._take("."):
            return ("index", (".",), self._string("")) if self.kind == "string" else (".",)
        if self._take("("):
            node = self.pipe()
            self._expect(")")
            return ("group", node)
        if self._take("["):
            if self._take("]"):
                return ("lit_array",)
            node = self.pipe()
            self._expect("]")
            return ("collect", node)
        if self._take("{"):
            return self._object()
        if kind in ("key", "name"):
            return self._word(value)
        raise self._fail()

    def _word(self, value: str) -> Node:
        if self._take("if"):
            return self._if()
        if self._take("try"):
            body = self._postfix_without_try()
            return ("try", body, self._postfix_without_try() if self._take("catch") else None)
        if self._take("reduce", "foreach"):
            return self._fold(value)
        if self._is("def"):
            name, params, body = self._definition()
            return ("def", name, params, body, self.pipe())
        if self._take("not"):
            return ("call", "not", [])
        if self.kind == "key":
            raise self._fail()
        self._advance()
        if value == "$__loc__":
            return ("lit_loc",)
        if value.startswith("$"):
            return ("var", value)
        if value == "break" and self.kind == "name":
            name = self.value
            self._advance()
            return ("break", name)
        args: list[Node] = []
        if self._take("("):
            args.append(self.pipe())
            while self._take(";"):
                args.append(self.pipe())
            self._expect(")")
        return ("call", value, args)

    def _postfix_without_try(self) -> Node:
        return self._postfix()

    def _if(self) -> Node:
        test = self.pipe()
        self._expect("then")
        yes = self.pipe()
        if self._take("elif"):
            return ("if", test, yes, self._if())
        otherwise: Node = (".",)
        if self._take("else"):
            otherwise = self.pipe()
        self._expect("end")
        return ("if", test, yes, otherwise)

    def _fold(self, word: str) -> Node:
        source = self._term_only()
        self._expect("as")
        pattern = self._pattern()
        self._expect("(")
        parts = [self.pipe()]
        while self._take(";"):
            parts.append(self.pipe())
        self._expect(")")
        return (word, source, pattern, parts)

    def _term_only(self) -> Node:
        node = self._term()
        while not self._is("as"):
            if self.kind == "field":
                node = ("index", node, ("lit", self.value[1:]))
                self._advance()
            elif self._take("["):
                node = self._bracket(node)
            elif self._take("?"):
                node = ("try", node, None)
            else:
                raise self._fail()
        return node

    def _object(self) -> Node:
        pairs: list[tuple[Node, Node]] = []
        while not self._is("}"):
            pairs.append(self._pair())
            if not self._take(","):
                break
        self._expect("}")
        return ("object", pairs)

    def _pair(self) -> tuple[Node, Node]:
        kind, value = self.kind, self.value
        if kind == "string":
            key = self._string("")
        elif kind in ("name", "key"):
            self._advance()
            if value.startswith("$"):
                return (
                    ("lit", value[1:] if value != "$__loc__" else "__loc__"),
                    ("lit_loc",) if value == "$__loc__" else ("var", value),
                )
            key = ("lit", value)
        elif kind == "format":
            self._advance()
            key = self._string(value) if self.kind == "string" else ("format", value)
        elif kind == "number":
            raise self._fail()
        else:
            self._expect("(")
            key = self.pipe()
            self._expect(")")
        if not self._take(":"):
            return (key, ("index", (".",), key))
        node = self._alternative_without_comma()
        return (key, node)

    def _alternative_without_comma(self) -> Node:
        node = self._level(0)
        while self._take("|"):
            node = ("|", node, self._level(0))
        return node

    def _string(self, form: str) -> Node:
        """A string, whose opening quote is the present token, with its interpolations."""
        parts: list[Any] = []
        text, at, run = self.text, self.at, self.at
        while True:
            if at >= len(text):
                self.kind = "eof"
                raise self._fail()
            char = text[at]
            if char == '"':
                parts.append(_plain(text[run:at]))
                self.at = at + 1
                self._advance()
                return ("lit", parts[0]) if len(parts) == 1 else ("string", form, parts)
            if char == "\\":
                if text[at + 1 : at + 2] == "(":
                    parts.append(_plain(text[run:at]))
                    self.at = at + 2
                    self._advance()
                    parts.append(self.pipe())
                    if not self._is(")"):
                        raise self._fail()
                    at = run = self.at
                    continue
                at += 1
            at += 1


def _plain(text: str) -> str:
    try:
        return str(json.loads('"' + text.replace("\n", "\\n").replace("\t", "\\t") + '"'))
    except ValueError:
        raise JqSyntaxError(
            f"Invalid escape at line 1, column {len(text)} (while parsing '\"{text}\"') at <top-level>, line 1:\n{text}"
        ) from None
