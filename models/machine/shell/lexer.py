"""Tokens of the POSIX shell language: words with their quoting, operators, here-documents.

A word is kept unexpanded, as a tuple of parts, so that a compiled script is plain data:
`("lit", text, quoted)`, `("var", name, operator, word, quoted)`, `("sub", code, quoted)` and
`("math", word, quoted)`. Left out: process substitution, arrays, extended globs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Part = tuple[Any, ...]
Word = tuple[Part, ...]
Code = tuple[tuple[Any, ...], ...]

_OPERATORS = ("&&", "||", ";;", ";", "&", "|", "(", ")")
_REDIRECTIONS = ("<<<", "<<-", "<<", ">>", ">&", "<&", "&>", ">", "<")
_NAME_START = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_NAME = _NAME_START + "0123456789"
_SPECIAL = "?$!#@*-0123456789"
_VARIABLE_OPERATORS = (":-", ":=", ":+", ":?", "##", "%%", "-", "=", "+", "?", "#", "%")


class ShellSyntaxError(Exception):
    """The script is no shell program; the message is what `sh` says after its own name."""


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: `word`, `op`, `io`, `newline` or `eof`.
        text: the operator, or a word's raw text.
        word: the parts of a word.
        fd: descriptor of a redirection, -1 where the operator's default holds.
    """

    kind: str
    text: str = ""
    word: Word = ()
    fd: int = -1


class Lexer:
    """Cuts a script into tokens. `compile_script` compiles the text of a `$(...)`."""

    def __init__(self, text: str, compile_script: Callable[[str], Code]) -> None:
        self.text = text
        self.position = 0
        self._compile = compile_script
        self._here: list[tuple[list[Word], str, bool, bool]] = []

    def next(self) -> Token:
        """The next token."""
        self._skip_blanks()
        text, at = self.text, self.position
        if at >= len(text):
            self._read_here_documents()
            return Token("eof", "end of file")
        if text[at] == "\n":
            self.position += 1
            self._read_here_documents()
            return Token("newline", "newline")
        digits = at
        while digits < len(text) and text[digits].isdigit():
            digits += 1
        if digits < len(text) and text[digits] in "<>":
            self.position = digits
            return self._redirection(int(text[at:digits]) if digits > at else -1)
        if text.startswith("&>", at):
            return self._redirection(-1)
        for operator in _OPERATORS:
            if text.startswith(operator, at):
                self.position += len(operator)
                return Token("op", operator)
        word = self._word()
        return Token("word", text[at : self.position], word)

    def here_document(self, delimiter: Token, strip_tabs: bool) -> list[Word]:
        """Register a here-document; its word is appended once the line has ended."""
        quoted = any(part[0] == "lit" and part[2] for part in delimiter.word)
        end = "".join(part[1] for part in delimiter.word if part[0] == "lit")
        cell: list[Word] = []
        self._here.append((cell, end, quoted, strip_tabs))
        return cell

    def _redirection(self, fd: int) -> Token:
        for operator in _REDIRECTIONS:
            if self.text.startswith(operator, self.position):
                self.position += len(operator)
                return Token("io", operator, fd=fd)
        raise AssertionError(self.text[self.position :])

    def _skip_blanks(self) -> None:
        text = self.text
        while self.position < len(text):
            char = text[self.position]
            if char in " \t\r":
                self.position += 1
            elif text.startswith("\\\n", self.position):
                self.position += 2
            elif char == "#":
                while self.position < len(text) and text[self.position] != "\n":
                    self.position += 1
            else:
                return

    def _read_here_documents(self) -> None:
        for cell, end, quoted, strip_tabs in self._here:
            lines: list[str] = []
            while self.position < len(self.text):
                stop = self.text.find("\n", self.position)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.position : stop]
                self.position = stop + 1
                if strip_tabs:
                    line = line.lstrip("\t")
                if line == end:
                    break
                lines.append(line + "\n")
            body = "".join(lines)
            cell.append((("lit", body, True),) if quoted else self.quoted_text(body))
        self._here = []

    def quoted_text(self, body: str) -> Word:
        """The parts of a text that is expanded as if between double quotes."""
        inner = Lexer(body, self._compile)
        return tuple(inner._double_quoted(""))

    def _word(self) -> Word:
        parts: list[Part] = []
        text = self.text
        while self.position < len(text):
            char = text[self.position]
            if char in " \t\r\n;&|<>()":
                break
            if char == "'":
                stop = text.find("'", self.position + 1)
                if stop < 0:
                    raise ShellSyntaxError("syntax error: unterminated quoted string")
                parts.append(("lit", text[self.position + 1 : stop], True))
                self.position = stop + 1
            elif char == '"':
                self.position += 1
                parts.append(("lit", "", True))
                parts.extend(self._double_quoted('"'))
                if self.position >= len(text):
                    raise ShellSyntaxError("syntax error: unterminated quoted string")
                self.position += 1
            elif char == "\\":
                if not text.startswith("\\\n", self.position):
                    parts.append(("lit", text[self.position + 1 : self.position + 2], True))
                self.position += 2
            elif char in "$`":
                parts.append(self._dollar(quoted=False))
            else:
                parts.append(("lit", char, False))
                self.position += 1
        return _join_literals(parts)

    def _double_quoted(self, end: str) -> list[Part]:
        parts: list[Part] = []
        text = self.text
        while self.position < len(text):
            char = text[self.position]
            if end and char == end:
                break
            if char == "\\" and text[self.position + 1 : self.position + 2] in ("$", "`", '"', "\\", "\n"):
                following = text[self.position + 1]
                if following == '"' and not end:
                    parts.append(("lit", "\\", True))
                if following != "\n":
                    parts.append(("lit", following, True))
                self.position += 2
            elif char in "$`":
                parts.append(self._dollar(quoted=True))
            else:
                parts.append(("lit", char, True))
                self.position += 1
        return list(_join_literals(parts))

    def _dollar(self, quoted: bool) -> Part:
        text, at = self.text, self.position
        if text[at] == "`":
            stop = text.find("`", at + 1)
            if stop < 0:
                raise ShellSyntaxError("syntax error: EOF in backquote substitution")
            self.position = stop + 1
            return ("sub", self._compile(text[at + 1 : stop].replace("\\$", "$")), quoted)
        if text.startswith("$((", at):
            body = self._until_closed(at + 1)
            if body.endswith(")"):
                return ("math", self.quoted_text(body[1:-1]), quoted)
            return ("sub", self._compile(body), quoted)
        if text.startswith("$(", at):
            return ("sub", self._compile(self._until_closed(at + 1)), quoted)
        if text.startswith("${", at):
            return self._braced(quoted)
        name = text[at + 1 : at + 2]
        if name and name in _SPECIAL:
            self.position = at + 2
            return ("var", name, "", (), quoted)
        stop = at + 1
        while stop < len(text) and text[stop] in (_NAME if stop > at + 1 else _NAME_START):
            stop += 1
        self.position = stop
        if stop == at + 1:
            return ("lit", "$", quoted)
        return ("var", text[at + 1 : stop], "", (), quoted)

    def _until_closed(self, open_at: int) -> str:
        """Text between the parenthesis at `open_at` and the one that closes it."""
        depth, at, text = 0, open_at, self.text
        while at < len(text):
            char = text[at]
            if char == "\\":
                at += 1
            elif char in "'\"":
                at = text.find(char, at + 1)
                if at < 0:
                    break
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    self.position = at + 1
                    return text[open_at + 1 : at]
            at += 1
        raise ShellSyntaxError('syntax error: unexpected end of file (expecting ")")')

    def _braced(self, quoted: bool) -> Part:
        at = self.position + 2
        depth, stop, text = 1, at, self.text
        while stop < len(text):
            if text[stop] == "\\":
                stop += 1
            elif text[stop] == "{":
                depth += 1
            elif text[stop] == "}":
                depth -= 1
                if depth == 0:
                    break
            stop += 1
        if depth:
            raise ShellSyntaxError("syntax error: missing '}'")
        body = text[at:stop]
        self.position = stop + 1
        if body.startswith("#") and len(body) > 1:
            return ("var", body[1:], "length", (), quoted)
        end = 0
        while end < len(body) and body[end] in _NAME:
            end += 1
        if end == 0 and body[:1] in _SPECIAL:
            end = 1
        name, rest = body[:end], body[end:]
        if not rest:
            return ("var", name, "", (), quoted)
        for operator in _VARIABLE_OPERATORS:
            if name and rest.startswith(operator):
                return ("var", name, operator, self._argument(rest[len(operator) :]), quoted)
        raise ShellSyntaxError("syntax error: bad substitution")

    def _argument(self, text: str) -> Word:
        """The word after the operator in `${NAME:-word}`; blanks belong to it."""
        inner = Lexer(text, self._compile)
        parts: list[Part] = []
        while inner.position < len(text):
            if text[inner.position] in " \t\r\n;&|<>()":
                parts.append(("lit", text[inner.position], False))
                inner.position += 1
            else:
                parts.extend(inner._word())
        return _join_literals(parts)


def _join_literals(parts: list[Part]) -> Word:
    joined: list[Part] = []
    for part in parts:
        if part[0] == "lit" and joined and joined[-1][0] == "lit" and joined[-1][2] == part[2]:
            joined[-1] = ("lit", joined[-1][1] + part[1], part[2])
        else:
            joined.append(part)
    return tuple(joined)
