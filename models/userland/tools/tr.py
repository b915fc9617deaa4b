"""tr: characters translated, squeezed, deleted."""

from __future__ import annotations

import re

from simcluster.models.userland.escapes import byte
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call


def tr(call: Call) -> Outcome:
    """Translate, squeeze or delete characters."""
    given = parse(
        call.args, "cCdst", "", {"delete": "d", "complement": "c", "squeeze-repeats": "s", "truncate-set1": "t"}
    )
    if given.problem:
        return call.wrong(given.problem)
    words = given.words
    if not call.gnu:
        words = words[:2] if not given.has("d") or given.has("s") else words[:1]
        if len(words) == 1 and not given.has("d", "s"):
            return Outcome(call.stdin())
    if not words or (len(words) < 2 and not given.has("d", "s")):
        what = (
            "missing operand"
            if not words
            else f"missing operand after ‘{words[0]}’\nTwo strings must be given when translating."
        )
        return call.wrong(what)
    if len(words) > 2 or (len(words) == 2 and given.has("d") and not given.has("s")):
        extra = words[2] if len(words) > 2 else words[1]
        more = "\nOnly one string may be given when deleting without squeezing repeats." if len(words) == 2 else ""
        return call.wrong(f"extra operand ‘{extra}’{more}")
    try:
        first = _set(words[0])
        second = _set(words[1], len(first)) if len(words) > 1 else ""
    except ValueError as problem:
        return call.wrong(str(problem), hint=False)
    text, complement = call.stdin(), given.has("c", "C")
    inside = dict.fromkeys(first)
    if given.has("d"):
        text = "".join(char for char in text if (char in inside) == complement)
    elif second:
        first = first[: len(second)] if given.has("t") else first
        second += second[-1] * (len(first) - len(second))
        if complement:
            text = "".join(char if char in inside else second[-1] for char in text)
        else:
            table: dict[str, str | int | None] = {}
            for a, b in zip(first, second, strict=False):
                table[a] = b
            text = text.translate(str.maketrans(table)) if table else text
    if given.has("s"):
        squeezed = dict.fromkeys(second or first)
        other = complement and not second
        text = re.sub(r"(.)\1+", lambda m: m[1] if (m[1] in squeezed) != other else m[0], text, flags=re.DOTALL)
    return Outcome(text)


_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": "\t ",
    "digit": "0-9",
    "lower": "a-z",
    "punct": "!-/:-@[-`{-~",
    "space": "\t-\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
    "cntrl": "\0-\x1f\x7f",
    "print": " -~",
    "graph": "!-~",
}


def _set(text: str, size: int = 0) -> str:
    """The characters of a set. Raises ValueError."""
    out: list[str] = []
    at = 0
    items: list[tuple[str, bool]] = []  # character, and whether it was written plainly
    while at < len(text):
        named = re.match(r"\[:(\w+):\]", text[at:])
        repeat = re.match(r"\[(\\.|.)\*(\d*)\]", text[at:], re.DOTALL)
        if named is not None:
            if named[1] not in _CLASSES:
                raise ValueError(f"invalid character class ‘{named[1]}’")
            items += [(char, False) for char in _ranges([(c, True) for c in _CLASSES[named[1]]])]
            at += named.end()
        elif repeat is not None:
            count = int(repeat[2] or 0) or max(0, size - len(_ranges(items)))
            items += [(_escape(repeat[1]), False)] * min(count, 1000)
            at += repeat.end()
        elif text[at] == "\\" and at + 1 < len(text):
            match = re.match(r"\\([0-7]{1,3}|.)", text[at:], re.DOTALL)
            body = match[0] if match is not None else "\\"
            items.append((_escape(body), False))
            at += len(body)
        else:
            items.append((text[at], True))
            at += 1
    out = _ranges(items)
    return "".join(out)


def _escape(body: str) -> str:
    if body[0] != "\\":
        return body
    if body[1:].isdigit():
        return byte(int(body[1:], 8) & 255)
    return {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}.get(body[1:], body[1:])


def _ranges(items: list[tuple[str, bool]]) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(items):
        if at + 2 < len(items) and items[at + 1] == ("-", True):
            first, last = items[at][0], items[at + 2][0]
            if last < first:
                raise ValueError(f"range-endpoints of ‘{first}-{last}’ are in reverse collating sequence order")
            out += [chr(code) for code in range(ord(first), min(ord(last), ord(first) + 70_000) + 1)]
            at += 3
        else:
            out.append(items[at][0])
            at += 1
    return out
