"""Tokens of the shell language: words with their quoting, operators, here-documents.

A word is kept unexpanded, as a tuple of parts, so that a compiled script is plain data: `("lit", text, quoted)`,
`("var", name, subscript, operator, words, quoted)`, `("sub", code, quoted)`, `("math", word, quoted)`,
`("proc", code, direction)`, `("array", words)`. Left out: extended globs, `coproc`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from simcluster.models.userland.escapes import ansi

Part = tuple[Any, ...]
Word = tuple[Part, ...]
Code = tuple[tuple[Any, ...], ...]

_OPERATORS = (";;&", "&&", "||", ";;", ";&", "|&", ";", "&", "|", "(", ")")
_REDIRECTIONS = ("<<<", "<<-", "<<", "&>>", ">>", ">&", "<&", "&>", "<>", ">|", ">", "<")
_NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _NAME_START | frozenset("0123456789")
_SPECIAL = frozenset("?$!#@*-0123456789")
#: `[A KEY]=` in an array, with blanks in the key.
_BLANK_KEY = re.compile(r"""[ \t\n]*\[([^][\n$`"'\\]*[ \t][^][\n$`"'\\]*)\]=""")
_ENDS = frozenset(" \t\n;&|<>()")
_OPERATIONS = (
    ":-",
    ":=",
    ":+",
    ":?",
    "##",
    "%%",
    "//",
    "/#",
    "/%",
    "^^",
    ",,",
    "~~",
    "-",
    "=",
    "+",
    "?",
    "#",
    "%",
    "/",
    "^",
    ",",
    "~",
    ":",
    "@",
)
#: How deep words, substitutions and compound commands may lie in each other: bash's parser has no more stack, either.
DEPTH_MAX = 60


class ShellSyntaxError(Exception):
    """The script is no shell program.

    Attributes:
        token: what was not expected (empty: the end of the text); wanted: what was.
        line: the line of the script.
        matching: the quote or bracket that is never closed, if that is the mistake.
    """

    def __init__(self, token: str, line: int, wanted: str = "", matching: str = "") -> None:
        super().__init__(token or "unexpected end of file")
        self.token, self.line, self.wanted, self.matching = token, line, wanted, matching


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: `word`, `op`, `io`, `newline` or `eof`.
        text: the operator, or a word's raw text.
        word: the parts of a word.
        fd: descriptor of a redirection, -1 where the operator's default holds.
        start: where in the text it begins.
    """

    kind: str
    text: str = ""
    word: Word = ()
    fd: int = -1
    start: int = 0


class Lexer:
    """Cuts a script into tokens.

    Args:
        compile_inner: compiles the text of a `$(...)` from a position: (text, position, depth) -> code and its end;
            with a position below zero, a whole text.
        shell: whose language it is: `bash`, `ash` or `dash`.
    """

    def __init__(
        self, text: str, compile_inner: Callable[[str, int, int], tuple[Code, int]], shell: str, depth: int = 0
    ) -> None:
        self.text = text
        self.position = 0
        self.shell = shell
        self.bash = shell == "bash"
        self.channels = shell != "dash"  # process substitution and `&>`, which BusyBox' shell has, too
        self.depth = depth
        self.open_here = False  # a here-document has no end
        self.pattern = False  # the next word is a regular expression of [[ =~ ]]
        self._compile = compile_inner
        self._here: list[tuple[list[Word], str, bool, bool]] = []

    @property
    def line(self) -> int:
        """The number of the present line."""
        return self.text.count("\n", 0, self.position) + 1

    def next(self) -> Token:
        """The next token."""
        self._skip_blanks()
        text, at = self.text, self.position
        if at >= len(text):
            self._read_here_documents()
            return Token("eof", start=at)
        if text[at] == "\n":
            self.position += 1
            self._read_here_documents()
            return Token("newline", "newline", start=at)
        if self.pattern:
            self.pattern = False
            return Token("word", "", tuple(self._parts(" \t\n", False, nested=True)), start=at)
        digits = at
        while digits < len(text) and text[digits].isdigit():
            digits += 1
        if digits < len(text) and text[digits] in "<>":
            if not (self.channels and digits == at and text.startswith(("<(", ">("), at)):
                self.position = digits
                return self._redirection(int(text[at:digits][:6]) if digits > at else -1, at)
        elif text.startswith("&>", at) and self.channels:
            return self._redirection(-1, at)
        else:
            for operator in _OPERATORS:
                if text.startswith(operator, at) and self._has(operator):
                    self.position += len(operator)
                    return Token("op", operator, start=at)
        word = self._word()
        return Token("word", text[at : self.position], word, start=at)

    def here_document(self, delimiter: Token, strip_tabs: bool) -> list[Word]:
        """Register a here-document; its word is appended once the line has ended."""
        quoted = any(part[0] == "lit" and part[2] for part in delimiter.word)
        end = "".join(part[1] for part in delimiter.word if part[0] == "lit")
        cell: list[Word] = []
        self._here.append((cell, end, quoted, strip_tabs))
        return cell

    def arithmetic(self) -> Word | None:
        """The text of `(( ... ))` whose first parenthesis was just taken; None if it is two subshells."""
        stop = self._closing_pair(self.position)
        if stop < 0:
            return None
        body = self.text[self.position + 1 : stop]
        self.position = stop + 2
        return self.quoted_text(body)

    def quoted_text(self, body: str) -> Word:
        """The parts of a text that is expanded as if between double quotes."""
        inner = Lexer(body, self._compile, self.shell, self.depth + 1)
        return tuple(inner._parts("", True))

    def fail(self, matching: str) -> ShellSyntaxError:
        """What to raise where a quote or bracket is never closed."""
        return ShellSyntaxError("", self.line, matching=matching)

    def _has(self, operator: str) -> bool:
        """Whether the language has an operator."""
        if operator in (";;&", ";&", "|&", "<<<", "&>>"):
            return self.bash
        return self.channels or operator != "&>"

    def _closing_pair(self, at: int) -> int:
        """Where the `))` stands that closes a `((` whose second parenthesis is at `at`; -1 if there is none."""
        depth, text = 0, self.text
        while at < len(text):
            char = text[at]
            if char == "\\":
                at += 1
            elif char in "'\"":
                at = text.find(char, at + 1)
                if at < 0:
                    return -1
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    return at if text[at + 1 : at + 2] == ")" else -1
            at += 1
        return -1

    def _redirection(self, fd: int, start: int) -> Token:
        for operator in _REDIRECTIONS:
            if self.text.startswith(operator, self.position) and self._has(operator):
                self.position += len(operator)
                return Token("io", operator, fd=fd, start=start)
        raise AssertionError(self.text[self.position :])

    def _skip_blanks(self) -> None:
        text = self.text
        while self.position < len(text):
            char = text[self.position]
            if char in " \t\r":
                self.position += 1
            elif text.startswith("\\\n", self.position):
                self.position += 2
            elif char == "#" and not self.pattern:
                stop = text.find("\n", self.position)
                self.position = len(text) if stop < 0 else stop
            else:
                return

    def _read_here_documents(self) -> None:
        waiting, self._here = self._here, []
        for cell, end, quoted, strip_tabs in waiting:
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
            else:
                self.open_here = True
            self.position = min(self.position, len(self.text))
            body = "".join(lines)
            inner = Lexer(body, self._compile, self.shell, self.depth + 1)
            cell.append((("lit", body, True),) if quoted else tuple(inner._parts("", True, here=True)))

    def _word(self) -> Word:
        parts = self._parts("", False, ends=_ENDS)
        if self.bash and self.text.startswith("(", self.position) and _assigns(parts):
            self.position += 1
            parts.append(("array", tuple(self._elements())))
        return _join_literals(parts)

    def _elements(self) -> list[Word]:
        """Words up to the parenthesis that closes an array."""
        found: list[Word] = []
        while True:
            token = self._key() or self.next()
            if token.kind == "op" and token.text == ")":
                return found
            if token.kind == "eof":
                raise self.fail(")")
            if token.kind == "word":
                found.append(token.word)
            elif token.kind != "newline":
                raise ShellSyntaxError(token.text, self.line)

    def _key(self) -> Token | None:
        """`[A KEY]=VALUE` in an array, whose key may have blanks; None if the next word is none."""
        found = _BLANK_KEY.match(self.text, self.position)
        if found is None:
            return None
        self.position = found.end()
        parts: list[Part] = [("lit", "[", False), ("lit", found[1], True), ("lit", "]=", False)]
        return Token("word", found[0], _join_literals([*parts, *self._word()]))

    def _parts(
        self, stops: str, quoted: bool, *, ends: frozenset[str] = frozenset(), here: bool = False, nested: bool = False
    ) -> list[Part]:
        """Parts up to a character of `stops` or `ends` (not consumed), or to the end of the text.

        Args:
            here: a here-document, in which double quotes are nothing special.
            nested: parentheses are literal and blanks in them belong to the word (a pattern of `=~`).
        """
        parts: list[Part] = []
        text, deep = self.text, 0
        while self.position < len(text):
            char = text[self.position]
            if (char in stops and not deep) or (
                char in ends
                and not (self.channels and char in "<>" and text[self.position + 1 : self.position + 2] == "(")
            ):
                break
            if nested and char in "()":
                deep += 1 if char == "(" else -1
            if char == "\\":
                parts.extend(self._backslash(quoted, here))
            elif char == "'" and not quoted:
                stop = text.find("'", self.position + 1)
                if stop < 0:
                    raise self.fail("'")
                parts.append(("lit", text[self.position + 1 : stop], True))
                self.position = stop + 1
            elif char == '"' and not here:
                parts.extend(self._string())
            elif char in "$`":
                parts.extend(self._dollar(quoted))
            elif self.channels and not quoted and ends and char in "<>":
                code, self.position = self._inner(self.position + 2)
                parts.append(("proc", code, char))
            else:
                stop = self.position + 1
                while stop < len(text) and text[stop] in _NAME:
                    stop += 1
                parts.append(("lit", text[self.position : stop], quoted))
                self.position = stop
        return list(_join_literals(parts))

    def _backslash(self, quoted: bool, here: bool) -> list[Part]:
        following = self.text[self.position + 1 : self.position + 2]
        self.position += 2
        if following == "\n":
            return []
        if not quoted:
            return [("lit", following or "\\", True)]
        if following and following in ("$`\\" if here else '$`"\\'):
            return [("lit", following, True)]
        return [("lit", "\\" + following, True)]

    def _string(self) -> list[Part]:
        """A text between double quotes."""
        self.position += 1
        parts = [("lit", "", True), *self._parts('"', True)]
        if self.position >= len(self.text):
            raise self.fail('"')
        self.position += 1
        return parts

    def _inner(self, at: int) -> tuple[Code, int]:
        if self.depth > DEPTH_MAX:
            raise ShellSyntaxError("(", self.line)
        return self._compile(self.text, at, self.depth + 1)

    def _dollar(self, quoted: bool) -> list[Part]:
        text, at = self.text, self.position
        if text[at] == "`":
            return [("sub", self._backquoted(quoted), quoted)]
        if text.startswith("$((", at):
            stop = self._closing_pair(at + 2)
            if stop >= 0:
                self.position = stop + 2
                return [("math", self.quoted_text(text[at + 3 : stop]), quoted)]
        if text.startswith("$(", at):
            code, self.position = self._inner(at + 2)
            return [("sub", code, quoted)]
        if text.startswith("${", at):
            return [self._braced(quoted)]
        if text.startswith("$'", at) and not quoted:
            return [self._ansi_string(at)]
        if text.startswith('$"', at) and not quoted and self.bash:
            self.position += 1
            return self._string()
        name = text[at + 1 : at + 2]
        if name and name in _SPECIAL:
            self.position = at + 2
            return [("var", name, None, "", (), quoted)]
        stop = at + 1
        while stop < len(text) and text[stop] in (_NAME if stop > at + 1 else _NAME_START):
            stop += 1
        self.position = stop
        if stop == at + 1:
            return [("lit", "$", quoted)]
        return [("var", text[at + 1 : stop], None, "", (), quoted)]

    def _ansi_string(self, at: int) -> Part:
        stop = at + 2
        while stop < len(self.text) and self.text[stop] != "'":
            stop += 2 if self.text[stop] == "\\" else 1
        if stop >= len(self.text):
            raise self.fail("'")
        self.position = stop + 1
        return ("lit", ansi(self.text[at + 2 : stop]), True)

    def _backquoted(self, quoted: bool) -> Code:
        stop, text = self.position + 1, self.text
        while stop < len(text) and text[stop] != "`":
            stop += 2 if text[stop] == "\\" else 1
        if stop >= len(text):
            raise self.fail("`")
        body, out, at = text[self.position + 1 : stop], "", 0
        while at < len(body):
            special = body[at + 1 : at + 2] in ("$", "`", "\\", '"' if quoted else "$")
            at += body[at] == "\\" and special
            out += body[at]
            at += 1
        self.position = stop + 1
        if self.depth > DEPTH_MAX:
            raise ShellSyntaxError("`", self.line)
        return self._compile(out, -1, self.depth + 1)[0]

    def _braced(self, quoted: bool) -> Part:
        start, text = self.position, self.text
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise self.fail("}")
        self.position += 2
        length = text.startswith("#", self.position) and text[self.position + 1 : self.position + 2] not in ("}", "")
        indirect = self.bash and text.startswith("!", self.position)
        indirect = indirect and text[self.position + 1 : self.position + 2] not in ("}", "")
        self.position += length or indirect
        name = self._parameter()
        subscript: Word | None = None
        if self.bash and text.startswith("[", self.position) and name:
            self.position += 1
            subscript = tuple(self._parts("]", True))
            self.position += 1
        found = self._operation(start, quoted)
        self.depth -= 1
        operator, words = found
        if length:
            operator = "length" if not operator else "bad"
        if indirect:
            operator, words = self._indirect(operator, subscript), words
        if not name or operator == "bad":
            return ("var", text[start : self.position], None, "bad", (), quoted)
        return ("var", name, subscript, operator, words, quoted)

    @staticmethod
    def _indirect(operator: str, subscript: Word | None) -> str:
        keys = subscript is not None and len(subscript) == 1 and subscript[0][1] in ("@", "*")
        if operator in ("@", "*"):
            return "prefix"
        return "keys" if keys and not operator else "!" + operator

    def _parameter(self) -> str:
        at, text = self.position, self.text
        while self.position < len(text) and text[self.position] in _NAME:
            self.position += 1
        if self.position == at and text[at : at + 1] in _SPECIAL:
            self.position += 1
        elif text[at : at + 1].isdigit():
            self.position = at + 1
            while text[self.position : self.position + 1].isdigit():
                self.position += 1
        return text[at : self.position]

    def _operation(self, start: int, quoted: bool) -> tuple[str, tuple[Word, ...]]:
        """The operator after a parameter, and its words; the closing brace is taken."""
        text = self.text
        if text.startswith("}", self.position):
            self.position += 1
            return "", ()
        operator = next((o for o in _OPERATIONS if text.startswith(o, self.position)), "")
        if operator in ("^^", ",,", "~~", "^", ",", "~", "@") and not self.bash:
            operator = ""
        if not operator and text.startswith("*}", self.position):
            operator = "*"
        self.position += len(operator)
        words: list[Word] = [
            tuple(
                self._argument(
                    "/}" if operator[:1] == "/" else ":}" if operator == ":" else "}",
                    quoted and operator[-1:] not in ("#", "%", "/"),
                )
            )
        ]
        if operator[:1] in ("/", ":") and text[self.position : self.position + 1] in ("/", ":"):
            self.position += 1
            words.append(tuple(self._argument("}", quoted and operator[:1] != "/")))
        if self.position >= len(text):
            self.position = start
            raise self.fail("}")
        self.position += 1
        return operator or "bad", tuple(words)

    def _argument(self, stops: str, quoted: bool) -> list[Part]:
        if not quoted:
            return self._parts(stops, False)
        parts: list[Part] = []
        while True:
            parts += self._parts(stops + '"', True)
            if not self.text.startswith('"', self.position):
                return parts
            parts += self._string()


def keyed(word: Word) -> tuple[Word, Word] | None:
    """Subscript and value of `[KEY]=VALUE` in an array; None if the word is none."""
    if not word or word[0][0] != "lit" or word[0][2] or not word[0][1].startswith("["):
        return None
    inner: list[Part] = []
    for at, part in enumerate(word):
        text = part[1][1:] if at == 0 else part[1]
        if part[0] == "lit" and not part[2] and "]=" in text:
            before, _, rest = text.partition("]=")
            return (*inner, ("lit", before, True)), ((("lit", rest, False),) if rest else ()) + word[at + 1 :]
        inner.append(("lit", text, True) if part[0] == "lit" else part)
    return None


def _assigns(parts: list[Part]) -> bool:
    if len(parts) != 1 or parts[0][0] != "lit" or parts[0][2]:
        return False
    name = parts[0][1][:-1].removesuffix("+")
    return bool(parts[0][1].endswith("=")) and name.isidentifier() and name.isascii()


def _join_literals(parts: list[Part]) -> Word:
    joined: list[Part] = []
    run: list[str] = []
    for part in parts:
        if part[0] != "lit":
            joined.append(part)
        elif joined and joined[-1][0] == "lit" and joined[-1][2] == part[2]:
            run.append(part[1])
            continue
        else:
            joined.append(part)
        if run:
            at = len(joined) - 2
            joined[at] = ("lit", joined[at][1] + "".join(run), joined[at][2])
            run = []
    if run:
        joined[-1] = ("lit", joined[-1][1] + "".join(run), joined[-1][2])
    return tuple(joined)
