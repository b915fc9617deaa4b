"""One line of shell: words with quotes, pipes, `;`, `&&`, `||`, redirections.

Unquoted `*` and `?` come out as the marks of `globs`. Left out: variables, substitutions, here-documents.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.surface.nodeshell.globs import MARKS, plain


class ShellSyntaxError(Exception):
    """The line cannot be parsed; the text is bash's."""


class Redirection(NamedTuple):
    """`2>/dev/null` is (2, "/dev/null"); `2>&1` is (2, "&1"); `>>f` is (1, "+f")."""

    stream: int
    target: str


class Step(NamedTuple):
    """One program of a pipeline."""

    words: tuple[str, ...]
    redirections: tuple[Redirection, ...] = ()


class Pipeline(NamedTuple):
    """Programs joined by `|`, and the operator before them: empty, `;`, `&&` or `||`."""

    operator: str
    steps: tuple[Step, ...]


_OPERATORS = ("&&", "||", ";", "|", "&", "\n")
_REDIRECTIONS = ("2>&1", "1>&2", ">&2", "&>>", "&>", "2>>", "2>", "1>>", "1>", ">>", ">", "<")


def parse(line: str) -> list[Pipeline]:
    """The pipelines of a line.

    Raises:
        ShellSyntaxError: unbalanced quotes, misplaced operators.

    >>> [p.operator for p in parse("a | b && c; d")]
    ['', '&&', ';']
    """
    pipelines: list[Pipeline] = []
    operator, steps, words = "", [], []
    redirections: list[Redirection] = []
    tokens = _tokens(line)
    position = 0
    while position < len(tokens):
        kind, text = tokens[position]
        position += 1
        if kind == "word":
            words.append(text)
        elif kind == "redirection":
            position = _redirect(text, tokens, position, redirections)
        elif text == "|":
            _need(words, text)
            steps.append(Step(tuple(words), tuple(redirections)))
            words, redirections = [], []
        else:
            if words or redirections:
                steps.append(Step(tuple(words), tuple(redirections)))
                pipelines.append(Pipeline(operator, tuple(steps)))
            elif text != "\n":
                raise ShellSyntaxError(f"syntax error near unexpected token `{text}'")
            operator, steps, words, redirections = ";" if text in ("&", "\n") else text, [], [], []
    if words or redirections:
        steps.append(Step(tuple(words), tuple(redirections)))
        pipelines.append(Pipeline(operator, tuple(steps)))
    elif steps or operator in ("&&", "||"):
        raise ShellSyntaxError("syntax error: unexpected end of file")
    return pipelines


def _need(words: list[str], operator: str) -> None:
    if not words:
        raise ShellSyntaxError(f"syntax error near unexpected token `{operator}'")


def _redirect(text: str, tokens: list[tuple[str, str]], position: int, found: list[Redirection]) -> int:
    if text in ("2>&1", "1>&2", ">&2"):
        found.append(Redirection(2, "&1") if text == "2>&1" else Redirection(1, "&2"))
        return position
    if position >= len(tokens) or tokens[position][0] != "word":
        raise ShellSyntaxError("syntax error near unexpected token `newline'")
    target = plain(tokens[position][1])
    if text.endswith(">>"):
        target = "+" + target
    if text.startswith("&>"):
        found.extend((Redirection(1, target), Redirection(2, target)))
    else:
        stream = 0 if text == "<" else 2 if text.startswith("2") else 1
        found.append(Redirection(stream, target))
    return position + 1


def _tokens(line: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(line):
        c = line[position]
        if c in " \t":
            position += 1
            continue
        if c == "#":
            end = line.find("\n", position)
            position = len(line) if end < 0 else end
            continue
        redirection = next((text for text in _REDIRECTIONS if line.startswith(text, position)), None)
        if redirection is not None:
            tokens.append(("redirection", redirection))
            position += len(redirection)
            continue
        operator = next((text for text in _OPERATORS if line.startswith(text, position)), None)
        if operator is not None:
            tokens.append(("operator", operator))
            position += len(operator)
            continue
        word, position = _word(line, position)
        tokens.append(("word", word))
    return tokens


def _word(line: str, position: int) -> tuple[str, int]:
    pieces: list[str] = []
    while position < len(line):
        c = line[position]
        if c in " \t\n;|&<>":
            break
        if c == "\\" and position + 1 < len(line):
            pieces.append(line[position + 1])
            position += 2
        elif c in "'\"":
            text, position = _quoted(line, position)
            pieces.append(text)
        else:
            pieces.append(MARKS.get(c, c))
            position += 1
    return "".join(pieces), position


def _quoted(line: str, position: int) -> tuple[str, int]:
    quote = line[position]
    position += 1
    pieces: list[str] = []
    while position < len(line):
        c = line[position]
        if c == quote:
            return "".join(pieces), position + 1
        if quote == '"' and c == "\\" and line[position + 1 : position + 2] in ('"', "\\", "$", "`"):
            pieces.append(line[position + 1])
            position += 2
        else:
            pieces.append(c)
            position += 1
    raise ShellSyntaxError(f"unexpected EOF while looking for matching `{quote}'")
