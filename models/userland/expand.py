"""Expansion of shell words: braces, tildes, variables, substitutions, arithmetic, fields, patterns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from simcluster.models.userland import patterns
from simcluster.models.userland.arithmetic import ArithmeticProblem, evaluate
from simcluster.models.userland.braces import braced
from simcluster.models.userland.face import Face
from simcluster.models.userland.lexer import Code, Part, Word, keyed
from simcluster.models.userland.outcome import Exhausted, fitting

#: Characters of the elements that a builtin declares at once, at most.
_MOST_ELEMENTS = 500_000
_QUOTED, _LITERAL, _EXPANDED, _BREAK = "quoted", "literal", "expanded", "break"
Piece = tuple[str, str]  # mode and text
_BLANKS = " \t\n"
_EACH = ("@", "*")


class ExpansionError(Exception):
    """The expansion failed (`${X:?}`, division by zero): the shell reports it and gives up.

    Attributes:
        deadly: whether bash, too, ends the script.
    """

    def __init__(self, text: str, *, deadly: bool = True) -> None:
        super().__init__(text)
        self.deadly = deadly


class Expander(ABC):
    """What expansion needs of the shell that expands."""

    parameters: list[str]
    options: dict[str, bool]
    face: Face

    @abstractmethod
    def variable(self, name: str) -> str | None:
        """Value of a variable or special parameter; None if it is unset."""

    @abstractmethod
    def assign(self, name: str, value: str) -> None:
        """Set a variable (`${X:=word}`)."""

    @abstractmethod
    def elements(self, name: str) -> dict[Any, str] | None:
        """The elements of an array by index; None if the variable is no array."""

    @abstractmethod
    def key(self, name: str, subscript: str) -> Any:
        """The index that a subscript means."""

    @abstractmethod
    def names_with(self, prefix: str) -> list[str]:
        """Names of variables that begin so, sorted."""

    @abstractmethod
    def capture(self, code: Code) -> str:
        """Run a command substitution; its output without trailing newlines."""

    @abstractmethod
    def channel(self, code: Code, direction: str) -> str:
        """Run a process substitution; the path at which its output is read."""

    @abstractmethod
    def paths(self, pattern: str) -> list[str]:
        """Existing paths that match a pattern, sorted."""

    @abstractmethod
    def number_text(self, name: str, subscript: str | None) -> str:
        """Text of a variable for arithmetic."""

    @abstractmethod
    def set_number(self, name: str, subscript: str | None, value: int) -> None:
        """Assign in arithmetic."""

    def text(self, word: Word) -> str:
        """The word as one string: no splitting, no globbing (assignments, here-documents)."""
        return fitting("".join(" " if mode == _BREAK else text for mode, text in self._pieces(word)))

    def fields(self, words: Sequence[Word]) -> list[str]:
        """Words as the arguments of a command."""
        found: list[str] = []
        for word in words:
            for each in braced(word) if self.face.bash else (word,):
                found += self._split(self._pieces(each))
        return found

    def pattern(self, word: Word) -> str:
        """The word as a pattern; quoted characters match themselves."""
        return "".join(patterns.quoted(text) if mode == _QUOTED else text for mode, text in self._pieces(word))

    def number(self, text: str) -> int:
        """Value of an arithmetic expression. Raises ExpansionError."""
        try:
            return evaluate(text, self)
        except ArithmeticProblem as problem:
            raise ExpansionError(problem.said(self.face.shell), deadly=False) from None

    def _pieces(self, word: Word) -> list[Piece]:
        pieces: list[Piece] = []
        for part in word:
            kind = part[0]
            if kind == "lit":
                text = part[1]
                if not pieces and not part[2] and text.startswith("~"):
                    text = self._tilde(text)
                pieces.append((_QUOTED if part[2] else _LITERAL, text))
            elif kind == "sub":
                pieces.append((_QUOTED if part[2] else _EXPANDED, self.capture(part[1])))
            elif kind == "math":
                pieces.append((_QUOTED, str(self.number(self.text(part[1])))))
            elif kind == "proc":
                pieces.append((_QUOTED, self.channel(part[1], part[2])))
            elif kind == "array":
                text = " ".join(self._element(each) for each in part[1])
                if len(text) > _MOST_ELEMENTS:
                    raise Exhausted
                pieces.append((_QUOTED, f"({text})"))
            else:
                pieces.extend(self._variable(part))
        return pieces

    def _element(self, word: Word) -> str:
        """A word of an array that a builtin declares, quoted so that it is read once more as it is."""
        pair = keyed(word)
        if pair is not None:
            return f"[{shell_quoted(self.text(pair[0]))}]={shell_quoted(self.text(pair[1]))}"
        return " ".join(map(shell_quoted, self.fields((word,))))

    def _tilde(self, text: str) -> str:
        head, slash, rest = text.partition("/")
        homes = {"~": self.variable("HOME") or "/root", "~root": "/root", "~+": self.variable("PWD") or "/"}
        return homes[head] + slash + rest if head in homes else text

    def _values(self, name: str, subscript: Word | None) -> list[str] | None:
        """All values of `$@`, `$*`, `${a[@]}`; None if the parameter is a single one."""
        if name in _EACH and subscript is None:
            return self.parameters
        if subscript is None or self.text(subscript) not in _EACH:
            return None
        elements = self.elements(name)
        if elements is None:
            value = self.variable(name)
            return [] if value is None else [value]
        return list(elements.values())

    def _value(self, name: str, subscript: Word | None) -> str | None:
        if subscript is None:
            return self.variable(name)
        elements = self.elements(name)
        at = self.key(name, self.text(subscript))
        if elements is None:
            return self.variable(name) if at == 0 else None
        if isinstance(at, int) and at < 0 and elements:
            at += max(elements) + 1
        return elements.get(at)

    def _variable(self, part: Part) -> list[Piece]:
        _, name, subscript, operator, words, quoted = part
        if operator == "bad":
            raise ExpansionError(f"{name}: bad substitution" if self.face.bash else "bad substitution")
        mode = _QUOTED if quoted else _EXPANDED
        if operator == "prefix":
            return self._many(self.names_with(name), "@", mode)
        if operator == "keys":
            return self._many([str(at) for at in self.elements(name) or {}], self.text(subscript), mode)
        if operator[:1] == "!":
            target = self._value(name, subscript) or ""
            name, subscript, operator = target.rstrip("]").partition("[")[0], None, operator[1:]
            if "[" in target:
                subscript = (("lit", target.partition("[")[2][:-1], True),)
        values = self._values(name, subscript)
        if values is not None:
            return self._of_many(values, (name if subscript is None else self.text(subscript)), operator, words, mode)
        value = self._value(name, subscript)
        if value is None and self.options.get("u") and operator in ("", "length", "#", "##", "%", "%%"):
            shown = f"${name}" if name.isdigit() and self.face.bash else name
            raise ExpansionError(f"{shown}: " + ("unbound variable" if self.face.bash else "parameter not set"))
        if operator == "":
            return [(mode, value or "")]
        if operator == "length":
            return [(mode, str(len(value or "")))]
        if operator[-1] in "-=+?" and operator.strip(":") in tuple("-=+?"):
            return self._default(name, subscript, operator, words, value, quoted)
        return [(mode, self._changed(value, operator, words, name))]

    def _default(
        self, name: str, subscript: Word | None, operator: str, words: tuple[Word, ...], value: str | None, quoted: bool
    ) -> list[Piece]:
        mode = _QUOTED if quoted else _EXPANDED
        missing = value is None or (operator.startswith(":") and value == "")
        action = operator[-1]
        if missing == (action == "+"):
            return [] if missing and not quoted else [(mode, "" if missing else value or "")]
        if action == "?":
            empty = "parameter null or not set" if operator[0] == ":" or self.face.bash else "parameter not set"
            empty = "parameter not set" if operator == "?" else empty
            raise ExpansionError(f"{name}: {self.text(words[0]) or empty}")
        if action == "=":
            text = self.text(words[0])
            self.assign(name, text)
            return [(mode, text)]
        # Quotes in the word protect; what is not quoted is split like any expansion.
        pieces = self._pieces(words[0])
        return [(_QUOTED if quoted else _EXPANDED if each == _LITERAL else each, text) for each, text in pieces]

    def _changed(self, value: str | None, operator: str, words: tuple[Word, ...], name: str) -> str:
        """One value, changed as an operator says."""
        text = value or ""
        if operator in ("#", "##", "%", "%%"):
            return patterns.trimmed(text, self.pattern(words[0]), operator)
        if operator in ("/", "//", "/#", "/%"):
            replacement = self.text(words[1]) if len(words) > 1 else ""
            return fitting(patterns.replaced(text, self.pattern(words[0]), replacement, operator))
        if operator == ":":
            start = self.number(self.text(words[0]))
            return _slice(text, start, self.number(self.text(words[1])) if len(words) > 1 else None, self)
        if operator in ("^", "^^", ",", ",,", "~", "~~"):
            wanted = self.pattern(words[0]) or "?"
            change = {"^": str.upper, ",": str.lower, "~": str.swapcase}[operator[0]]
            fits = [patterns.matches(wanted, char) for char in (text if len(operator) == 2 else text[:1])]
            changed = "".join(change(char) if fit else char for char, fit in zip(text, fits, strict=False))
            return changed + text[len(fits) :]
        if operator == "@":
            return _transformed(text, self.text(words[0]), name, self)
        raise ExpansionError(f"${{{name}{operator}}}: bad substitution")

    def _of_many(self, values: list[str], sign: str, operator: str, words: tuple[Word, ...], mode: str) -> list[Piece]:
        if operator == "length":
            return [(mode, str(len(values)))]
        if operator == ":":
            start = self.number(self.text(words[0]))
            count = self.number(self.text(words[1])) if len(words) > 1 else None
            whole = [self.variable("0") or "", *values] if values is self.parameters else values
            start = start if values is self.parameters or start >= 0 else len(whole) + start
            if values is self.parameters and start == 0 and count is not None:
                return self._many(whole[:count], sign, mode)
            return self._many(whole[start:] if count is None else whole[start : start + max(0, count)], sign, mode)
        if operator and operator.strip(":") in tuple("-=+?"):
            text = " ".join(values)
            missing = not values or (operator.startswith(":") and not text)
            if missing != (operator[-1] == "+"):
                return [(mode if each == _LITERAL else each, said) for each, said in self._pieces(words[0])]
            return self._many([] if operator[-1] == "+" else values, sign, mode)
        if operator:
            values = [self._changed(value, operator, words, sign) for value in values]
        return self._many(values, sign, mode)

    def _many(self, values: list[str], sign: str, mode: str) -> list[Piece]:
        if mode == _QUOTED and sign == "*":
            separators = self.variable("IFS")
            return [(mode, (" " if separators is None else separators[:1]).join(values))]
        if not values:
            return [(_BREAK, "none")]
        pieces: list[Piece] = []
        for value in values:
            pieces += [(_BREAK, ""), (mode, value)]
        return pieces[1:]

    def _split(self, pieces: list[Piece]) -> list[str]:
        """Fields of an expanded word: split where it came from an expansion, then globbed."""
        if (_BREAK, "none") in pieces and not any(text for mode, text in pieces if mode != _BREAK):
            return []
        fields: list[list[Piece]] = [[]]
        separators = self.variable("IFS") if any(mode == _EXPANDED for mode, _ in pieces) else None
        for mode, text in pieces:
            if mode == _BREAK:
                fields.append([])
            elif mode != _EXPANDED:
                fields[-1].append((mode, text))
            else:
                _split_into(fields, fitting(text), _BLANKS if separators is None else separators)
        found: list[str] = []
        for field in fields:
            if field:
                found += self._globbed(field)
        return found

    def _globbed(self, field: list[Piece]) -> list[str]:
        text = "".join(piece[1] for piece in field)
        if not self.options.get("f") and any(mode != _QUOTED and _has_glob(piece) for mode, piece in field):
            pattern = "".join(patterns.quoted(piece) if mode == _QUOTED else piece for mode, piece in field)
            found = self.paths(pattern)
            if not found and self.options.get("failglob"):
                raise ExpansionError(f"no match: {text}", deadly=False)
            return found or ([] if self.options.get("nullglob") else [text])
        return [text]


def _slice(text: str, start: int, length: int | None, expander: Expander) -> str:
    """`${X:start:length}`, with negative ones counted from the end."""
    start = start + len(text) if start < 0 else start
    if start < 0 or start > len(text):
        return ""
    if length is None:
        return text[start:]
    stop = len(text) + length if length < 0 else start + length
    if stop < start:
        raise ExpansionError(f"{length}: substring expression < 0", deadly=False)
    return text[start:stop]


def _transformed(text: str, letter: str, name: str, expander: Expander) -> str:
    if letter == "Q":
        return shell_quoted(text)
    if letter in ("U", "u", "L"):
        return {"U": text.upper(), "u": text[:1].upper() + text[1:], "L": text.lower()}[letter]
    if letter == "A":
        return f"{name}={shell_quoted(text)}"
    if letter in ("a", "E", "P"):
        return "" if letter == "a" else text
    raise ExpansionError(f"${{{name}@{letter}}}: bad substitution")


def shell_quoted(text: str) -> str:
    """A text in single quotes, as bash's `@Q` and `set -x` write it.

    >>> shell_quoted("it's")
    "'it'\\\\''s'"
    """
    return "'" + text.replace("'", "'\\''") + "'"


def _split_into(fields: list[list[Piece]], text: str, separators: str) -> None:
    """Append the text to the last field, opening a new one at every separator (blanks together count as one)."""
    blank = [char for char in separators if char in _BLANKS]
    at, size = 0, len(text)
    while at < size:
        start = at
        while at < size and text[at] not in separators:
            at += 1
        if at > start:
            fields[-1].append((_EXPANDED, text[start:at]))
        if at == size:
            return
        # A run of blanks, with at most one other separator in it.
        seen = ""
        while at < size and text[at] in separators and (text[at] in blank or not seen):
            seen += text[at] if text[at] not in blank else ""
            at += 1
        if seen and not fields[-1]:
            fields[-1].append((_QUOTED, ""))
        if fields[-1]:
            fields.append([])


def _has_glob(text: str) -> bool:
    return any(char in text for char in "*?[")
