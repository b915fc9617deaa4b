"""Words of a shell's line, with what quotes, variables and substitutions leave to be expanded.

Left out: arrays, `${name#pattern}` and its like but for `${name:-default}`, braces, tildes but a leading `~`.
"""

from __future__ import annotations

from typing import NamedTuple


class ShellSyntaxError(Exception):
    """The line cannot be parsed; the text is bash's."""


class Part(NamedTuple):
    """A piece of a word.

    Attributes:
        kind: `text`, `variable`, `command` (a substitution) or `number` (an arithmetic one).
        text: the text, name, command or expression; quoted: whether its result is one word whatever is in it.
        default: of `${name:-default}`.
    """

    kind: str
    text: str
    quoted: bool = False
    default: str = ""


Word = tuple[Part, ...]


class Token(NamedTuple):
    """`kind` is `word`, `operator` or `redirection`; a word's parts are in `word`, everything's text in `text`."""

    kind: str
    text: str
    word: Word = ()


_OPERATORS = ("&&", "||", ";;", ";", "|", "&", "\n", "(", ")")
_REDIRECTIONS = ("2>&1", "1>&2", ">&2", "&>>", "&>", "2>>", "2>", "1>>", "1>", ">>", ">", "<<<", "<<-", "<<", "<")
_END = " \t\n;|&<>()"
_SPECIAL = "?#$!@*"


def tokens(line: str) -> list[Token]:
    """The tokens of a script. Raises ShellSyntaxError."""
    found: list[Token] = []
    waiting: list[tuple[int, bool, str]] = []  # here-documents whose text comes after the line: token, tabs, delimiter
    position = 0
    while position < len(line):
        c = line[position]
        if c in " \t":
            position += 1
        elif line.startswith("\\\n", position):
            position += 2
        elif c == "#":
            end = line.find("\n", position)
            position = len(line) if end < 0 else end
        else:
            redirection = next((text for text in _REDIRECTIONS if line.startswith(text, position)), None)
            operator = next((text for text in _OPERATORS if line.startswith(text, position)), None)
            if redirection is not None:
                found.append(Token("redirection", redirection))
                position += len(redirection)
            elif operator is not None:
                found.append(Token("operator", operator))
                position += len(operator)
                if operator == "\n" and waiting:
                    position = _documents(line, position, found, waiting)
            else:
                word, position = _word(line, position)
                if found and found[-1].text in ("<<", "<<-") and found[-1].kind == "redirection":
                    waiting.append((len(found), found[-1].text == "<<-", "".join(part.text for part in word)))
                found.append(Token("word", "".join(part.text for part in word), word))
    if waiting:
        _documents(line, len(line), found, waiting)
    return found


def _documents(line: str, position: int, found: list[Token], waiting: list[tuple[int, bool, str]]) -> int:
    """Put the texts of here-documents in the place of their delimiters."""
    for index, tabs, delimiter in waiting:
        lines = []
        while position < len(line):
            end = line.find("\n", position)
            text = line[position:] if end < 0 else line[position:end]
            position = len(line) if end < 0 else end + 1
            text = text.lstrip("\t") if tabs else text
            if text == delimiter:
                break
            lines.append(text + "\n")
        body, quoted = "".join(lines), any(part.quoted for part in found[index].word)
        word: Word = (Part("text", body, True),) if quoted else _expandable(body)
        found[index] = Token("word", body, word)
    waiting.clear()
    return position


def _expandable(text: str) -> Word:
    """A here-document's text: variables and substitutions are expanded, quotes are not special."""
    parts: list[Part] = []
    position = 0
    while position < len(text):
        c = text[position]
        if c in "$`":
            part, position = _dollar(text, position, quoted=True)
            parts.append(part)
        else:
            parts.append(Part("text", c, True))
            position += 1
    return tuple(parts)


def _word(line: str, position: int) -> tuple[Word, int]:
    parts: list[Part] = []
    while position < len(line):
        c = line[position]
        if c in _END:
            break
        if c == "\\" and position + 1 < len(line):
            parts.append(Part("text", line[position + 1], True))
            position += 2
        elif c == "'":
            end = line.find("'", position + 1)
            if end < 0:
                raise ShellSyntaxError("unexpected EOF while looking for matching `''")
            parts.append(Part("text", line[position + 1 : end], True))
            position = end + 1
        elif c == '"':
            inner, position = _quoted(line, position + 1)
            parts += inner
        elif c in "$`":
            part, position = _dollar(line, position, quoted=False)
            parts.append(part)
        else:
            parts.append(Part("text", c))
            position += 1
    return tuple(parts), position


def _quoted(line: str, position: int) -> tuple[list[Part], int]:
    parts = [Part("text", "", True)]
    while position < len(line):
        c = line[position]
        if c == '"':
            return parts, position + 1
        if c == "\\" and line[position + 1 : position + 2] in ('"', "\\", "$", "`"):
            parts.append(Part("text", line[position + 1], True))
            position += 2
        elif c in "$`":
            part, position = _dollar(line, position, quoted=True)
            parts.append(part)
        else:
            parts.append(Part("text", c, True))
            position += 1
    raise ShellSyntaxError("unexpected EOF while looking for matching `\"'")


def _dollar(line: str, position: int, *, quoted: bool) -> tuple[Part, int]:
    if line[position] == "`":
        end = line.find("`", position + 1)
        if end < 0:
            raise ShellSyntaxError("unexpected EOF while looking for matching ``'")
        return Part("command", line[position + 1 : end], quoted), end + 1
    follows = line[position + 1 : position + 2]
    if line.startswith("$((", position):
        end = line.find("))", position)
        if end > 0:
            return Part("number", line[position + 3 : end], quoted), end + 2
    if follows == "(":
        end = _closing(line, position + 1)
        return Part("command", line[position + 2 : end], quoted), end + 1
    if follows == "{":
        end = line.find("}", position)
        if end < 0:
            raise ShellSyntaxError("unexpected EOF while looking for matching `}'")
        name, _, default = line[position + 2 : end].partition(":-")
        return Part("variable", name, quoted, default), end + 1
    end = position + 1
    while end < len(line) and (line[end].isalnum() or line[end] == "_"):
        end += 1
    if end == position + 1 and follows and follows in _SPECIAL:
        return Part("variable", follows, quoted), end + 1
    if end == position + 1:
        return Part("text", "$", quoted), end
    return Part("variable", line[position + 1 : end], quoted), end


def _closing(line: str, position: int) -> int:
    """Where the parenthesis that opens at `position` closes; quotes hide parentheses."""
    depth, quote = 0, ""
    while position < len(line):
        c = line[position]
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if not depth:
                return position
        position += 1
    raise ShellSyntaxError("unexpected EOF while looking for matching `)'")
