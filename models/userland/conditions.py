"""`test`, `[ ... ]` and the operators of `[[ ... ]]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simcluster.models.userland import patterns
from simcluster.models.userland.outcome import NOT_FOUND, Outcome
from simcluster.models.userland.place import Call
from simcluster.models.userland.regex import RegexError, compile_pattern

#: Options of a shell by name that have a letter.
OPTION_LETTERS = {"errexit": "e", "nounset": "u", "xtrace": "x", "noglob": "f", "allexport": "a", "noexec": "n"}
_UNARY = frozenset(f"-{letter}" for letter in "abcdefghkprstuvwxGLNOSzn")
_NUMBERS = ("-eq", "-ne", "-gt", "-ge", "-lt", "-le")
_BINARY = frozenset(("=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef", *_NUMBERS))


class WrongTest(Exception):
    """The expression is none; the text is the shell's, after its name and that of the command."""


def test(call: Call) -> Outcome:
    """`test EXPRESSION` or `[ EXPRESSION ]`."""
    words = call.args
    if call.argv[0] == "[[" and call.place.face.shell == "dash":
        return Outcome(stderr=call.place.face.said(*call.shell, "[[: not found"), code=NOT_FOUND)
    if call.argv[0] in ("[", "[["):
        closing = call.argv[0].replace("[", "]")
        if words[-1:] != [closing]:
            return _refused(call, f"missing `{closing}'" if call.place.face.bash else f"missing {closing}")
        words = words[:-1]
    try:
        return Outcome(code=int(not _Test(call, words).value()))
    except WrongTest as problem:
        return _refused(call, str(problem))


def _refused(call: Call, text: str) -> Outcome:
    face, (name, line) = call.place.face, call.shell
    if face.shell == "ash":
        return Outcome(stderr=f"{name or 'sh'}: {text}\n", code=2)
    return Outcome(stderr=face.said(name or "bash", line, text, call.argv[0]), code=2)


class _Test:
    def __init__(self, call: Call, words: Sequence[str]) -> None:
        self.call = call
        self.words = list(words)
        self.at = 0
        self.deep = 0

    def value(self) -> bool:
        words = self.words
        if len(words) <= 1:
            return bool(words and words[0])
        if len(words) == 2:
            if words[0] == "!":
                return not words[1]
            if words[0] in _UNARY:
                return unary(self.call, words[0], words[1])
            raise self._wrong("unary operator expected", words[0])
        if len(words) == 3 and words[1] in _BINARY:
            return binary(self.call, *words)
        if len(words) == 3 and words[1] not in ("-a", "-o") and words[0] not in ("!", "("):
            raise self._wrong("binary operator expected", words[1])
        found = self._either()
        if self.at < len(words):
            if self.call.place.face.bash:
                raise WrongTest("too many arguments")
            raise WrongTest(f"{words[self.at]}: unknown operand")
        return found

    def _wrong(self, text: str, word: str) -> WrongTest:
        return WrongTest(f"{word}: {text}" if self.call.place.face.bash else f"{word}: unknown operand")

    def _take(self) -> str:
        if self.at >= len(self.words):
            raise WrongTest("argument expected")
        self.at += 1
        return self.words[self.at - 1]

    def _next(self, ahead: int = 0) -> str:
        return self.words[self.at + ahead] if self.at + ahead < len(self.words) else ""

    def _either(self) -> bool:
        found = self._both()
        while self._next() == "-o":
            self.at += 1
            other = self._both()
            found = found or other
        return found

    def _both(self) -> bool:
        found = self._one()
        while self._next() == "-a":
            self.at += 1
            other = self._one()
            found = found and other
        return found

    def _one(self) -> bool:
        if self._next() == "!":
            self.at += 1
            return not self._one()
        if self._next() == "(" and self._next(1) not in _BINARY:
            self.at += 1
            self.deep += 1
            if self.deep > 100:
                raise WrongTest("too many arguments")
            found = self._either()
            if self._take() != ")":
                raise WrongTest("`)' expected")
            return found
        first = self._take()
        if self._next() in _BINARY and self.at + 1 < len(self.words):
            operator = self._take()
            return binary(self.call, first, operator, self._take())
        if first in _UNARY and self.at < len(self.words) and self._next() not in ("-a", "-o"):
            return unary(self.call, first, self._take())
        return first != ""


def unary(call: Call, operator: str, value: str) -> bool:
    """`-f PATH`, `-z TEXT` and the like."""
    if operator in ("-z", "-n"):
        return (value == "") == (operator == "-z")
    if operator == "-t":
        return False
    follow = operator not in ("-h", "-L")
    found = call.look(value, follow=follow) if value else None
    if value == "/dev/null":
        return operator in ("-e", "-a", "-c", "-r", "-w")
    if found is None:
        return False
    root = call.place.who.uid == 0
    if operator in ("-r", "-w"):
        return root or bool(found.mode & (0o444 if operator == "-r" else 0o002)) or found.owner == call.place.who.user
    if operator == "-x":
        return bool(found.mode & 0o111)
    if operator == "-s":
        return found.size > 0 or found.is_folder
    kinds = {
        "-f": "file",
        "-d": "folder",
        "-h": "link",
        "-L": "link",
        "-b": "block",
        "-c": "char",
        "-p": "pipe",
        "-S": "socket",
    }
    if operator in kinds:
        return found.kind == kinds[operator]
    if operator in ("-u", "-g", "-k"):
        return bool(found.mode & {"-u": 0o4000, "-g": 0o2000, "-k": 0o1000}[operator])
    return operator in ("-e", "-a", "-O", "-G")


def binary(call: Call, left: str, operator: str, right: str) -> bool:
    """`A = B`, `A -lt B`, `A -nt B` and the like. Raises WrongTest."""
    if operator == "=~":
        if call.argv[0] != "[[":
            raise WrongTest(f"{operator}: binary operator expected")
        return found(left, right) is not None
    if operator in ("=", "==", "!="):  # of `[[`, which is a command in ash, with a pattern
        same = patterns.matches(right, left) if call.argv[0] == "[[" else left == right
        return same == (operator != "!=")
    if operator in ("<", ">"):
        return (left < right) if operator == "<" else (left > right)
    if operator in ("-nt", "-ot", "-ef"):
        a, b = call.look(left), call.look(right)
        if operator == "-ef":
            return a is not None and call.resolved(left) == call.resolved(right)
        if not call.place.face.bash and (a is None or b is None):
            return False  # BusyBox and dash ask for both
        times = [-1 if each is None else each.changed_ns for each in (a, b)]
        return times[0] > times[1] if operator == "-nt" else times[0] < times[1]
    return compared(operator, _integer(call, left), _integer(call, right))


def compared(operator: str, a: int, b: int) -> bool:
    """Two numbers."""
    return {"-eq": a == b, "-ne": a != b, "-gt": a > b, "-ge": a >= b, "-lt": a < b, "-le": a <= b}[operator]


def _integer(call: Call, text: str) -> int:
    if re.fullmatch(r"\s*[-+]?\d{1,19}\s*", text, re.ASCII):
        return int(text)
    shell = call.place.face.shell
    if shell == "dash":
        raise WrongTest(f"Illegal number: {text}")
    raise WrongTest(f"{text}: integer expression expected" if shell == "bash" else f"{text}: bad number")


def found(text: str, pattern: str, *, ignore_case: bool = False) -> list[str] | None:
    """The match of `=~` and its groups. Raises WrongTest."""
    try:
        match = compile_pattern(pattern, "E", ignore_case=ignore_case).search(text)
    except RegexError:
        raise WrongTest(f"invalid regular expression `{pattern}'") from None
    return None if match is None else [each or "" for each in match.groups]
