"""From words of a script to arguments of a program: variables, substitutions, splitting, patterns of file names."""

from __future__ import annotations

import re
from collections.abc import Callable

from simcluster.surface.nodeshell import globs
from simcluster.surface.nodeshell.words import Part, Word

_SAFE = re.compile(r"[0-9+\-*/%()<>=!&| ]*")
_NAME = re.compile(r"\$?([A-Za-z_]\w*)")


class Expander:
    """Expands words in the present state of a shell.

    Args:
        variables: by name; `?` is the last exit status.
        run: what a command prints (a substitution).
        names_in: names in a folder of the node.
    """

    def __init__(
        self, variables: dict[str, str], run: Callable[[str], str], names_in: Callable[[str], list[str]]
    ) -> None:
        self.variables = variables
        self._run = run
        self._names_in = names_in

    def arguments(self, words: tuple[Word, ...]) -> list[str]:
        """The arguments that words become."""
        return [argument for word in words for argument in self._fields(word)]

    def text(self, word: Word) -> str:
        """One word as one text, as in an assignment."""
        return "".join(self._value(part) for part in word)

    def _fields(self, word: Word) -> list[str]:
        fields: list[str] = []
        current, open_ = "", False
        for number, part in enumerate(word):
            value = self._value(part)
            if part.kind == "text" and not part.quoted:
                value = "/root" + value[1:] if not number and value == "~" else value
                current, open_ = current + "".join(globs.MARKS.get(c, c) for c in value), True
            elif part.quoted or part.kind == "text":
                current, open_ = current + value, True
            else:
                pieces = value.split()
                if value[:1].isspace() and open_:
                    fields, current, open_ = [*fields, current], "", False
                for index, piece in enumerate(pieces):
                    if index:
                        fields.append(current)
                        current = ""
                    current, open_ = current + piece, True
                if pieces and value[-1:].isspace():
                    fields, current, open_ = [*fields, current], "", False
        if open_:
            fields.append(current)
        return [path for field in fields for path in globs.expanded(field, self._names_in)]

    def _value(self, part: Part) -> str:
        if part.kind == "variable":
            return self.variables.get(part.text, "") or part.default
        if part.kind == "command":
            return self._run(part.text).rstrip("\n")
        if part.kind == "number":
            return str(self.number(part.text))
        return part.text

    def number(self, expression: str) -> int:
        """The value of an arithmetic expression; 0 if it is none."""
        text = _NAME.sub(lambda match: self.variables.get(match[1], "") or "0", expression)
        if not _SAFE.fullmatch(text) or "**" in text or not text.strip():
            return 0
        return _Sum(text).value()


class _Sum:
    """Evaluates + - * / % and parentheses over integers."""

    def __init__(self, text: str) -> None:
        self._tokens = re.findall(r"\d+|[-+*/%()]", text)
        self._at = 0

    def value(self) -> int:
        total = self._product()
        while self._next() in ("+", "-"):
            sign = self._take()
            other = self._product()
            total = total + other if sign == "+" else total - other
        return total

    def _product(self) -> int:
        total = self._atom()
        while self._next() in ("*", "/", "%"):
            sign, other = self._take(), self._atom()
            if sign == "*":
                total *= other
            elif other:
                quotient = abs(total) // abs(other) * (1 if (total < 0) == (other < 0) else -1)
                total = quotient if sign == "/" else total - quotient * other
        return total

    def _atom(self) -> int:
        token = self._take()
        if token == "-":
            return -self._atom()
        if token == "+":
            return self._atom()
        if token == "(":
            inside = self.value()
            self._take()
            return inside
        return int(token) if token.isdigit() else 0

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next()
        self._at += 1
        return token
