"""Options of programs as getopt reads them, and what it says of those that a program does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from simcluster.models.userland.outcome import Outcome


class Options(NamedTuple):
    """What a command line asks for.

    Attributes:
        letters: short options given, long ones by their letter (or by their name where they have none).
        values: of options that take one, by letter; words: operands.
        problem: getopt's complaint, "" if there is none.
    """

    letters: tuple[str, ...]
    values: dict[str, str]
    words: list[str]
    problem: str = ""

    def has(self, *letters: str) -> bool:
        """Whether one of them was given."""
        return any(letter in self.letters for letter in letters)

    def given(self, but: str = "") -> list[str]:
        """The options as words again, without one of them."""
        words: list[str] = []
        for letter in dict.fromkeys(self.letters):
            if letter != but:
                words += [f"-{letter}", *([self.values[letter]] if letter in self.values else [])]
        return words

    def refused(self, program: str, hint: str = "", code: int = 1) -> Outcome:
        """The answer to a command line that is wrong."""
        more = hint or f"Try '{program} --help' for more information.\n"
        return Outcome("", f"{program}: {self.problem}\n{more}", code)


def parse(args: list[str], letters: str, valued: str = "", long: Mapping[str, str] | None = None) -> Options:
    """Read a command line.

    Args:
        letters: short options without value; valued: those with one, and after a blank names of long ones with one.
        long: long options by the letter (or name) that stands for them; one whose letter is valued takes a value.
    """
    found: list[str] = []
    values: dict[str, str] = {}
    words: list[str] = []
    known, rest = dict(long or {}), list(args)
    single, *named = valued.split(" ")
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            letter = _long(name, known)
            if not letter:
                return Options((), {}, [], f"unrecognized option '{word}'")
            if letter in named or (len(letter) == 1 and letter in single):
                if not equals and not rest:
                    return Options((), {}, [], f"option '--{name}' requires an argument")
                values[letter] = value if equals else rest.pop(0)
            elif equals:
                values[letter] = value
            found.append(letter)
        elif word.startswith("-") and len(word) > 1 and not (word[1:].isdigit() and word[1] not in letters + single):
            problem = _short(word[1:], rest, letters, single, found, values)
            if problem:
                return Options((), {}, [], problem)
        else:
            words.append(word)
    return Options(tuple(found), values, words)


def _long(name: str, known: dict[str, str]) -> str:
    """The option a (possibly shortened) long name stands for."""
    if name in known:
        return known[name]
    near = [letter for option, letter in known.items() if option.startswith(name)]
    return near[0] if len(dict.fromkeys(near)) == 1 else ""


def _short(text: str, rest: list[str], letters: str, valued: str, found: list[str], values: dict[str, str]) -> str:
    while text:
        letter, text = text[0], text[1:]
        if letter in valued:
            if not text and not rest:
                return f"option requires an argument -- '{letter}'"
            values[letter] = text or rest.pop(0)
            found.append(letter)
            return ""
        if letter not in letters:
            return f"invalid option -- '{letter}'"
        found.append(letter)
    return ""
