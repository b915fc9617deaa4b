"""Expansion of shell words: variables, command substitution, arithmetic, fields, patterns.

Left out: brace expansion of bash, `$'...'`, arrays and assignment inside arithmetic.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from simcluster.models.machine.shell.arithmetic import evaluate
from simcluster.models.machine.shell.lexer import Code, Part, Word

_QUOTED, _LITERAL, _EXPANDED, _BREAK = "quoted", "literal", "expanded", "break"
Piece = tuple[str, str]  # mode and text
_BLANKS = " \t\n"


class ExpansionError(Exception):
    """The expansion failed (`${X:?}`, division by zero): the shell reports it and gives up."""


class Expander(ABC):
    """What expansion needs of the shell that expands."""

    parameters: list[str]

    @abstractmethod
    def variable(self, name: str) -> str | None:
        """Value of a variable or special parameter; None if it is unset."""

    @abstractmethod
    def assign(self, name: str, value: str) -> None:
        """Set a variable (`${X:=word}`)."""

    @abstractmethod
    def capture(self, code: Code) -> str:
        """Run a command substitution; its output without trailing newlines."""

    @abstractmethod
    def paths(self, pattern: str) -> list[str]:
        """Existing paths that match a glob pattern, sorted."""

    def text(self, word: Word) -> str:
        """The word as one string: no splitting, no globbing (assignments, here-documents)."""
        return "".join(" " if mode == _BREAK else text for mode, text in self._pieces(word))

    def fields(self, words: Sequence[Word]) -> list[str]:
        """Words as the arguments of a command."""
        return [field for word in words for field in self._split(self._pieces(word))]

    def pattern(self, word: Word) -> re.Pattern[str]:
        """The word as a shell pattern; quoted characters match themselves."""
        return re.compile("".join(_pattern_source(piece) for piece in self._pieces(word)), re.DOTALL)

    def _pieces(self, word: Word) -> list[Piece]:
        pieces: list[Piece] = []
        for part in word:
            kind = part[0]
            if kind == "lit":
                text = part[1]
                if not pieces and not part[2] and (text == "~" or text.startswith("~/")):
                    text = (self.variable("HOME") or "/root") + text[1:]
                pieces.append((_QUOTED if part[2] else _LITERAL, text))
            elif kind == "sub":
                pieces.append((_QUOTED if part[2] else _EXPANDED, self.capture(part[1])))
            elif kind == "math":
                pieces.append((_QUOTED, self._arithmetic(part[1])))
            else:
                pieces.extend(self._variable(part))
        return pieces

    def _arithmetic(self, word: Word) -> str:
        try:
            return str(evaluate(self.text(word), self.variable))
        except ValueError as problem:
            raise ExpansionError(str(problem)) from None

    def _variable(self, part: Part) -> list[Piece]:
        _, name, operator, word, quoted = part
        mode = _QUOTED if quoted else _EXPANDED
        if name == "@" and operator == "":
            return self._each_parameter(mode)
        value = self.variable(name)
        if operator == "":
            return [(mode, value or "")]
        if operator == "length":
            return [(mode, str(len(value or "")))]
        if operator in ("#", "##", "%", "%%"):
            return [(mode, _trim(value or "", self.pattern(word), operator))]
        missing = value is None or (operator.startswith(":") and value == "")
        action = operator[-1]
        if missing == (action == "+"):
            return [] if missing else [(mode, value or "")]
        if action == "?":
            raise ExpansionError(f"{name}: {self.text(word) or 'parameter not set'}")
        if action == "=":
            self.assign(name, self.text(word))
        return [(_QUOTED if quoted else piece_mode, text) for piece_mode, text in self._pieces(word)]

    def _each_parameter(self, mode: str) -> list[Piece]:
        if not self.parameters:
            return [(_BREAK, "none")]
        pieces: list[Piece] = []
        for parameter in self.parameters:
            pieces += [(_BREAK, ""), (mode, parameter)]
        return pieces[1:]

    def _split(self, pieces: list[Piece]) -> list[str]:
        """Fields of an expanded word: split where it came from an expansion, then globbed."""
        if (_BREAK, "none") in pieces and not any(text for mode, text in pieces if mode != _BREAK):
            return []
        fields: list[list[Piece]] = [[]]
        for mode, text in pieces:
            if mode == _BREAK:
                fields.append([])
            elif mode != _EXPANDED:
                fields[-1].append((mode, text))
            else:
                separators = self.variable("IFS")
                _split_into(fields, text, _BLANKS if separators is None else separators)
        found: list[str] = []
        for field in fields:
            if field:
                found += self._globbed(field)
        return found

    def _globbed(self, field: list[Piece]) -> list[str]:
        text = "".join(piece[1] for piece in field)
        if any(mode != _QUOTED and _has_glob(piece) for mode, piece in field):
            return self.paths("".join(_pattern_source(piece) for piece in field)) or [text]
        return [text]


def _split_into(fields: list[list[Piece]], text: str, separators: str) -> None:
    """Append the text to the last field, opening a new one at every run of separators."""
    start = 0
    for at, char in enumerate(text):
        if char in separators:
            if at > start:
                fields[-1].append((_EXPANDED, text[start:at]))
            if fields[-1] or char not in _BLANKS:
                fields.append([])
            start = at + 1
    if start < len(text):
        fields[-1].append((_EXPANDED, text[start:]))


def _has_glob(text: str) -> bool:
    return any(char in text for char in "*?[")


def _pattern_source(piece: Piece) -> str:
    return re.escape(piece[1]) if piece[0] == _QUOTED else glob_source(piece[1])


def glob_source(pattern: str) -> str:
    """Regular expression of a shell pattern; `*` and `?` match any character.

    >>> glob_source("a*.[ch]")
    'a.*\\\\.[ch]'
    """
    source, at = "", 0
    while at < len(pattern):
        char = pattern[at]
        close = pattern.find("]", at + 2) if char == "[" else -1
        if char == "*":
            source += ".*"
        elif char == "?":
            source += "."
        elif close > 0:
            inside = pattern[at + 1 : close].replace("\\", "\\\\")
            source += "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
            at = close
        elif char == "\\" and at + 1 < len(pattern):
            at += 1
            source += re.escape(pattern[at])
        else:
            source += re.escape(char)
        at += 1
    return source


def _trim(value: str, pattern: re.Pattern[str], operator: str) -> str:
    """`${X#p}`, `${X##p}`, `${X%p}`, `${X%%p}`."""
    lengths = range(len(value) + 1)
    if operator in ("#", "##"):
        cuts = [n for n in lengths if pattern.fullmatch(value[:n])]
        return value[(min(cuts) if operator == "#" else max(cuts)) :] if cuts else value
    cuts = [n for n in lengths if pattern.fullmatch(value[n:])]
    return value[: (max(cuts) if operator == "%" else min(cuts))] if cuts else value
