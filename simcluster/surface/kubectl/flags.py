"""Command-line flags, declared as data and parsed as Go's pflag does, with its error texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simcluster.engine import parse_duration
from simcluster.surface.kubectl.errors import KubectlError, plain


class Flag(NamedTuple):
    """One flag.

    Attributes:
        kind: string, bool, int, duration, list (comma-separated, repeatable) or array (repeatable).
        default: the value if the flag is not given, as text.
        bare: the value of the flag given without one (`--dry-run`); empty if it needs one.
    """

    name: str
    short: str = ""
    kind: str = "string"
    default: str = ""
    bare: str = ""

    @property
    def shown(self) -> str:
        """The flag in error messages: `-l, --selector`."""
        return f"-{self.short}, --{self.name}" if self.short else f"--{self.name}"


def switch(name: str, short: str = "", default: str = "false") -> Flag:
    """A boolean flag."""
    return Flag(name, short, "bool", default, "true")


#: Flags of every command (`kubectl options`).
GLOBAL_FLAGS = (
    Flag("as"),
    Flag("as-group", kind="array"),
    Flag("as-uid"),
    Flag("cache-dir"),
    Flag("certificate-authority"),
    Flag("client-certificate"),
    Flag("client-key"),
    Flag("cluster"),
    Flag("context"),
    switch("disable-compression"),
    switch("insecure-skip-tls-verify"),
    Flag("kubeconfig"),
    Flag("log-flush-frequency", kind="duration", default="5s"),
    switch("match-server-version"),
    Flag("namespace", "n"),
    Flag("password"),
    Flag("profile", default="none"),
    Flag("profile-output", default="profile.pprof"),
    Flag("request-timeout", default="0"),
    Flag("server", "s"),
    Flag("tls-server-name"),
    Flag("token"),
    Flag("user"),
    Flag("username"),
    Flag("v", "v", "int", "0"),
    Flag("vmodule"),
    switch("warnings-as-errors"),
    switch("help", "h"),
)

_BOOLS = {"1": True, "t": True, "T": True, "true": True, "TRUE": True, "True": True}
_BOOLS |= {"0": False, "f": False, "F": False, "false": False, "FALSE": False, "False": False}


class Arguments:
    """Parsed arguments of one command.

    Attributes:
        path: the command, as in `rollout status`.
        positional: arguments that are no flags.
        own: names of the flags that are the command's own, not of every command.
        dash: how many positional arguments stood before `--`; -1 if there was none.
        order: names and values of the flags as they were given.
    """

    def __init__(self, path: str, flags: Iterable[Flag]) -> None:
        self.path = path
        self.positional: list[str] = []
        self.dash = -1
        self.own: tuple[str, ...] = ()
        self.order: list[tuple[str, str]] = []
        self._flags = {flag.name: flag for flag in flags}
        self._values: dict[str, list[str]] = {}

    def given(self, name: str) -> bool:
        """Whether the flag stood on the command line."""
        return name in self._values

    def text(self, name: str) -> str:
        """The (last) value of a flag."""
        values = self._values.get(name)
        return values[-1] if values else self._flags[name].default

    def text_or(self, name: str, default: str = "") -> str:
        """The value of a flag that the command may not have."""
        return self.text(name) if self.has(name) else default

    def on(self, name: str) -> bool:
        """The value of a boolean flag."""
        return _BOOLS[self.text(name)]

    def number(self, name: str) -> int:
        """The value of an integer flag."""
        return int(self.text(name) or "0")

    def duration_ns(self, name: str) -> int:
        """The value of a duration flag, in nanoseconds."""
        return parse_duration(self.text(name) or "0")

    def texts(self, name: str) -> list[str]:
        """All values of a list or array flag."""
        values = self._values.get(name, [])
        if self._flags[name].kind == "list":
            return [item for value in values for item in value.split(",") if item]
        return list(values)

    def has(self, name: str) -> bool:
        """Whether the command knows such a flag."""
        return name in self._flags

    def set(self, flag: Flag, value: str) -> None:
        """Take a value. Raises KubectlError if it does not fit the flag."""
        _check(flag, value, self.path)
        self._values.setdefault(flag.name, []).append(value)
        self.order.append((flag.name, value))


def _bad(path: str, text: str) -> KubectlError:
    return KubectlError(f"error: {text}\nSee 'kubectl {path} --help' for usage.")


def _check(flag: Flag, value: str, path: str) -> None:
    problem = ""
    if flag.kind == "bool" and value not in _BOOLS:
        problem = f'strconv.ParseBool: parsing "{value}": invalid syntax'
    elif flag.kind == "int":
        try:
            int(value, 0)
        except ValueError:
            problem = f'strconv.ParseInt: parsing "{value}": invalid syntax'
    elif flag.kind == "duration":
        try:
            parse_duration(value)
        except ValueError:
            problem = _duration_problem(value)
    if problem:
        raise _bad(path, f'invalid argument "{value}" for "{flag.shown}" flag: {problem}')


def _duration_problem(value: str) -> str:
    digits = value.lstrip("+-")
    unit = digits.lstrip("0123456789.")
    if digits and digits != unit:
        if not unit:
            return f'time: missing unit in duration "{value}"'
        word = unit[: next((i for i, c in enumerate(unit) if c.isdigit() or c == "."), len(unit))]
        return f'time: unknown unit "{word}" in duration "{value}"'
    return f'time: invalid duration "{value}"'


def parse(path: str, argv: Sequence[str], flags: Sequence[Flag], *, interspersed: bool = True) -> Arguments:
    """Parse what follows the command's name.

    Args:
        path: the command, for error messages.
        argv: the words.
        flags: the command's own flags; the global ones are added.
        interspersed: whether flags may follow the first positional argument.

    Raises:
        KubectlError: unknown flag, missing or malformed value.
    """
    own = [flag.name for flag in flags]
    known = (*flags, *(flag for flag in GLOBAL_FLAGS if flag.name not in own))
    arguments = Arguments(path, known)
    arguments.own = tuple(own)
    long = {flag.name: flag for flag in known}
    short = {flag.short: flag for flag in reversed(known) if flag.short}
    words = list(argv)
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word == "--":
            arguments.dash = len(arguments.positional)
            arguments.positional.extend(words[position:])
            break
        if word.startswith("--"):
            position = _long(arguments, long, words, word, position)
        elif word.startswith("-") and word != "-":
            position = _short(arguments, short, words, word, position)
        else:
            arguments.positional.append(word)
            if not interspersed:
                arguments.positional.extend(words[position:])
                break
    return arguments


def _long(arguments: Arguments, long: dict[str, Flag], words: list[str], word: str, position: int) -> int:
    name, equals, value = word[2:].partition("=")
    flag = long.get(name)
    if flag is None:
        raise _bad(arguments.path, f"unknown flag: --{name}")
    if not equals:
        if flag.bare:
            value = flag.bare
        elif position < len(words):
            value = words[position]
            position += 1
        else:
            raise _bad(arguments.path, f"flag needs an argument: --{name}")
    arguments.set(flag, value)
    return position


def _short(arguments: Arguments, short: dict[str, Flag], words: list[str], word: str, position: int) -> int:
    rest = word[1:]
    while rest:
        letter, rest = rest[0], rest[1:]
        flag = short.get(letter)
        if flag is None:
            raise _bad(arguments.path, f"unknown shorthand flag: '{letter}' in {word}")
        if rest.startswith("="):
            arguments.set(flag, rest[1:])
            break
        if flag.bare:
            arguments.set(flag, flag.bare)
            continue
        if rest:
            arguments.set(flag, rest)
            break
        if position >= len(words):
            raise _bad(arguments.path, f"flag needs an argument: '{letter}' in {word}")
        arguments.set(flag, words[position])
        position += 1
        break
    return position


#: Flags that many commands share.
OUTPUT = (
    Flag("output", "o"),
    Flag("template"),
    switch("show-managed-fields"),
    switch("allow-missing-template-keys", default="true"),
)
FILES = (Flag("filename", "f", "list"), Flag("kustomize", "k"), switch("recursive", "R"))
SELECTOR = Flag("selector", "l")
DRY_RUN = Flag("dry-run", default="none", bare="unchanged")
RECORD = switch("record")
VALIDATE = Flag("validate", default="strict", bare="strict")
ALL_NAMESPACES = switch("all-namespaces", "A")


def manager(name: str) -> Flag:
    """`--field-manager` with a command's default."""
    return Flag("field-manager", default=name)


def dry_run(arguments: Arguments) -> str:
    """`none`, `client` or `server`. Raises KubectlError."""
    value = arguments.text("dry-run")
    if value in ("none", "client", "server"):
        return value
    if value == "unchanged":  # kubectl says it is deprecated: `Change` prints that
        return "client"
    raise KubectlError(f'error: Invalid dry-run value ({value}). Must be "none", "server", or "client".')


def atoi(text: str) -> int:
    """A whole number as Go's strconv.Atoi reads it."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise plain(f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)
