"""What a script is made of: lists of pipelines of commands, loops, conditions and groups.

Left out: `case`, functions, background jobs (`&` is a `;`), `select`, coprocesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simcluster.surface.nodeshell.words import Part, ShellSyntaxError, Token, Word, tokens


class Redirection(NamedTuple):
    """`2>/dev/null` is stream 2; `target` is a word, or `&1`, `&2` as text; `here` for the text of a here-document."""

    stream: int
    target: Word = ()
    append: bool = False
    onto: str = ""
    here: bool = False


class Step(NamedTuple):
    """One member of a pipeline.

    Attributes:
        kind: `simple`, `for`, `while`, `until`, `if` or `group`.
        words: of a simple command, or of a loop's list; name: of the loop's variable.
        bodies: scripts inside: a loop's condition and body, conditions and bodies of an `if`, and its `else`.
    """

    kind: str
    words: tuple[Word, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    name: str = ""
    bodies: tuple[tuple[Pipeline, ...], ...] = ()


class Pipeline(NamedTuple):
    """Commands joined by `|`, and the operator before them: empty, `;`, `&&` or `||`."""

    operator: str
    steps: tuple[Step, ...]
    negated: bool = False


_RESERVED = ("for", "while", "until", "if", "{", "then", "do", "done", "fi", "else", "elif", "}", "in")
_CLOSERS = ("then", "do", "done", "fi", "else", "elif", "}", ")")


def parse(text: str) -> tuple[Pipeline, ...]:
    """The pipelines of a script.

    Raises:
        ShellSyntaxError: unbalanced quotes, misplaced operators or words.

    >>> [p.operator for p in parse("a | b && c; d")]
    ['', '&&', ';']
    """
    reader = _Reader(tokens(text))
    found = reader.script(())
    if reader.position < len(reader.tokens):
        raise reader.unexpected()
    return found


class _Reader:
    """Reads tokens one after the other."""

    def __init__(self, found: Sequence[Token]) -> None:
        self.tokens = found
        self.position = 0

    def _text(self) -> str:
        """The present token, when it is an operator or an unquoted word that may be reserved."""
        if self.position >= len(self.tokens):
            return ""
        token = self.tokens[self.position]
        if token.kind == "operator":
            return token.text
        plain = token.kind == "word" and not any(part.quoted or part.kind != "text" for part in token.word)
        return token.text if plain else ""

    def unexpected(self) -> ShellSyntaxError:
        """What bash says of the present token."""
        if self.position >= len(self.tokens):
            return ShellSyntaxError("syntax error: unexpected end of file")
        text = self.tokens[self.position].text
        return ShellSyntaxError(f"syntax error near unexpected token `{'newline' if text == chr(10) else text}'")

    def script(self, closers: tuple[str, ...]) -> tuple[Pipeline, ...]:
        """Pipelines until one of these words."""
        found: list[Pipeline] = []
        operator = ""
        while True:
            while self._text() == "\n" or (self._text() in (";", "&") and found and not operator):
                operator = operator or ";"
                self.position += 1
            text = self._text()
            if self.position >= len(self.tokens) or text in closers:
                if operator in ("&&", "||"):
                    raise self.unexpected()
                return tuple(found)
            found.append(self._pipeline(operator))
            text, operator = self._text(), ""
            if text in ("&&", "||", ";", "&", "\n"):
                operator = text if text in ("&&", "||") else ";"
                self.position += 1
            elif self.position < len(self.tokens) and text not in closers:
                raise self.unexpected()

    def _pipeline(self, operator: str) -> Pipeline:
        negated = self._text() == "!"
        if negated:
            self.position += 1
        steps = [self._step()]
        while self._text() == "|":
            self.position += 1
            while self._text() == "\n":
                self.position += 1
            steps.append(self._step())
        return Pipeline(operator, tuple(steps), negated)

    def _step(self) -> Step:
        text = self._text()
        if text in _CLOSERS or self.position >= len(self.tokens):
            raise self.unexpected()
        if text == "for":
            return self._for()
        if text in ("while", "until"):
            self.position += 1
            condition = self._body("do")
            return self._ended(Step(text, bodies=(condition, self._body("done"))))
        if text == "if":
            return self._if()
        if text in ("{", "("):
            self.position += 1
            return self._ended(Step("group", bodies=(self._body("}" if text == "{" else ")"),)))
        return self._simple()

    def _body(self, closer: str) -> tuple[Pipeline, ...]:
        """A script, and the word that ends it."""
        found = self.script((closer,))
        if not found or self._text() != closer:
            raise self.unexpected()
        self.position += 1
        return found

    def _for(self) -> Step:
        self.position += 1
        if self.position >= len(self.tokens) or self.tokens[self.position].kind != "word":
            raise self.unexpected()
        name = self.tokens[self.position].text
        self.position += 1
        words: list[Word] = []
        if self._text() == "in":
            self.position += 1
            while self.position < len(self.tokens) and self.tokens[self.position].kind == "word":
                words.append(self.tokens[self.position].word)
                self.position += 1
        while self._text() in (";", "\n"):
            self.position += 1
        if self._text() != "do":
            raise self.unexpected()
        self.position += 1
        return self._ended(Step("for", tuple(words), name=name, bodies=(self._body("done"),)))

    def _if(self) -> Step:
        self.position += 1
        bodies = [self._body("then")]
        while True:
            bodies.append(self.script(("elif", "else", "fi")))
            text = self._text()
            if not bodies[-1] or not text:
                raise self.unexpected()
            self.position += 1
            if text == "fi":
                return self._ended(Step("if", bodies=tuple(bodies)))
            bodies.append(self._body("then" if text == "elif" else "fi"))
            if text == "else":
                return self._ended(Step("if", bodies=tuple(bodies)))

    def _ended(self, step: Step) -> Step:
        redirections: list[Redirection] = []
        while self.position < len(self.tokens) and self.tokens[self.position].kind == "redirection":
            self._redirection(redirections)
        return step._replace(redirections=tuple(redirections))

    def _simple(self) -> Step:
        words: list[Word] = []
        redirections: list[Redirection] = []
        while self.position < len(self.tokens) and self.tokens[self.position].kind != "operator":
            if self.tokens[self.position].kind == "redirection":
                self._redirection(redirections)
            else:
                words.append(self.tokens[self.position].word)
                self.position += 1
        if not words and not redirections:
            raise self.unexpected()
        return Step("simple", tuple(words), tuple(redirections))

    def _redirection(self, found: list[Redirection]) -> None:
        text = self.tokens[self.position].text
        self.position += 1
        if text in ("2>&1", "1>&2", ">&2"):
            found.append(Redirection(2, onto="&1") if text == "2>&1" else Redirection(1, onto="&2"))
            return
        if self.position >= len(self.tokens) or self.tokens[self.position].kind != "word":
            at = self.tokens[self.position].text if self.position < len(self.tokens) else "newline"
            raise ShellSyntaxError(f"syntax error near unexpected token `{'newline' if at == chr(10) else at}'")
        target = self.tokens[self.position].word
        self.position += 1
        append = text.endswith(">>")
        if text.startswith("<<"):
            target = (*target, Part("text", "\n", True)) if text == "<<<" else target
            found.append(Redirection(0, target, here=True))
        elif text.startswith("&>"):
            found += [Redirection(1, target, append), Redirection(2, onto="&1")]
        else:
            found.append(Redirection(0 if text == "<" else 2 if text.startswith("2") else 1, target, append))
