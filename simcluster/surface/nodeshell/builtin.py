"""What the shell does itself: tests (`[ ... ]`), `printf`, and how `xargs` and `find` take their words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_NUMBERS = {"-eq": "==", "-ne": "!=", "-gt": ">", "-ge": ">=", "-lt": "<", "-le": "<="}
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", '"': '"'}


class WrongTest(Exception):
    """The expression is none; the text is bash's."""


def holds(words: Sequence[str], exists: Callable[[str, str], bool]) -> bool:
    """The truth of `test WORDS`.

    Args:
        exists: whether there is such a path: (letter of the test, path).

    Raises:
        WrongTest: an operand or an operator that there is not.
    """
    parts = list(words)
    for operator, every in (("-o", False), ("-a", True)):
        if operator in parts[1:-1]:
            at = parts.index(operator, 1)
            left, right = holds(parts[:at], exists), holds(parts[at + 1 :], exists)
            return left and right if every else left or right
    if parts[:1] == ["!"]:
        return not holds(parts[1:], exists)
    if len(parts) <= 1:
        return bool(parts and parts[0])
    if len(parts) == 2:
        if parts[0] in ("-z", "-n"):
            return (parts[1] == "") == (parts[0] == "-z")
        if parts[0] in ("-e", "-f", "-d", "-r", "-w", "-x", "-s"):
            return exists(parts[0][1], parts[1])
        raise WrongTest(f"{parts[0]}: unary operator expected")
    if len(parts) > 3:
        raise WrongTest("too many arguments")
    return _binary(*parts)


def _binary(left: str, operator: str, right: str) -> bool:
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    if operator == "=~":
        return re.search(right, left) is not None
    if operator not in _NUMBERS:
        raise WrongTest(f"{operator}: binary operator expected")
    for text in (left, right):
        if not re.fullmatch(r"\s*[-+]?\d+\s*", text):
            raise WrongTest(f"{text}: integer expression expected")
    a, b = int(left), int(right)
    return {"-eq": a == b, "-ne": a != b, "-gt": a > b, "-ge": a >= b, "-lt": a < b, "-le": a <= b}[operator]


def printf(words: Sequence[str]) -> str:
    """What `printf FORMAT ARGUMENTS` prints; the format repeats over its arguments."""
    form = re.sub(r'\\([nt\\r"])', lambda match: _ESCAPES[match[1]], words[0])
    values, out = list(words[1:]), ""
    while True:
        took = len(values)
        out += re.sub(r"%%|%[-0-9.]*[sdifx]", lambda match: _formatted(match[0], values), form)
        if not values or len(values) == took:
            return out


def _formatted(spec: str, values: list[str]) -> str:
    if spec == "%%":
        return "%"
    value = values.pop(0) if values else ""
    if spec[-1] == "s":
        return spec % value
    number = re.match(r"\s*[-+]?\d+(\.\d+)?", value)
    if spec[-1] == "f":
        return spec % float(number[0] if number else 0)
    return spec.replace("i", "d") % int(float(number[0]) if number else 0)


class Batches(NamedTuple):
    """What `xargs` starts: argument vectors, or why it does not."""

    commands: list[list[str]]
    problem: str = ""


def batches(argv: Sequence[str], stdin: str) -> Batches:
    """The programs that `xargs ARGS` starts for what is on its standard input."""
    rest, most, place, by_line, skip_empty, null = list(argv[1:]), 0, "", False, False, False
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        word = rest.pop(0)
        letter, value = word[1], word[2:]
        if letter in "nILPdE" and not value:
            if not rest:
                return Batches([], f"xargs: option requires an argument -- '{letter}'\n")
            value = rest.pop(0)
        if letter == "n" and value.isdigit() and int(value):
            most = int(value)
        elif letter == "L" and value.isdigit():
            by_line = True
        elif letter in ("I", "i"):
            place, by_line = value or "{}", True
        elif word in ("-r", "--no-run-if-empty"):
            skip_empty = True
        elif word == "-0":
            null = True
        elif word not in ("-t",) and letter not in "PdE":
            return Batches([], f"xargs: invalid option -- '{letter}'\nTry 'xargs --help' for more information.\n")
    command = rest or ["echo"]
    items = [item for item in (stdin.split("\0") if null else stdin.split("\n") if by_line else _items(stdin)) if item]
    if place:
        return Batches([[word.replace(place, item.strip()) for word in command] for item in items])
    if by_line:
        return Batches([[*command, *item.split()] for item in items])
    if not items:
        return Batches([] if skip_empty else [command])
    size = most or len(items)
    return Batches([[*command, *items[at : at + size]] for at in range(0, len(items), size)])


def _items(text: str) -> list[str]:
    """Words with their quotes removed."""
    found = re.findall(r"\"([^\"]*)\"|'([^']*)'|(\S+)", text)
    return [a or b or c for a, b, c in found]
