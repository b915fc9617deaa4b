"""factor, numfmt and strings."""

from __future__ import annotations

import re
from decimal import ROUND_UP, Decimal

from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call, Tool


def factor(call: Call) -> Outcome:
    """Prime factors."""
    out = []
    for word in call.args or call.stdin().split():
        if not word.isdigit() or len(word) > 14:
            call.complain(
                f"‘{word}’ is not a valid positive integer" if not word.isdigit() else f"‘{word}’ is too large"
            )
            continue
        rest, found, by = int(word), [], 2
        while by * by <= rest and by < 2_000_000:
            while rest % by == 0:
                found.append(by)
                rest //= by
            by += 1 if by == 2 else 2
        found += [rest] if rest > 1 else []
        out.append(f"{word}: {' '.join(map(str, found))}".rstrip() + "\n")
    return call.done("".join(out))


def numfmt(call: Call) -> Outcome:
    """Sizes to numbers and back."""
    given = parse(
        call.args,
        "",
        "d from to suffix padding field format header",
        {name: name for name in ("from", "to", "suffix", "padding", "field")},
    )
    if given.problem:
        return call.wrong(given.problem)
    out, wanted = [], given.values.get("field", "1")
    lines = given.words or [line for line in call.stdin().split("\n") if line]
    header = int(given.values.get("header", "0")[:4] or 1) if given.has("header") else 0
    sign = given.values.get("d")
    for number, line in enumerate(lines):
        if number < header:
            out.append(line)
            continue
        words = line.split(sign) if sign else re.findall(r"\s*\S+", line)
        for at, word in enumerate(words):
            if wanted in (str(at + 1), "-") or (wanted == "1" and at == 0):
                blank = word[: len(word) - len(word.lstrip())]
                shown = _converted(call, word.strip(), given.values)
                words[at] = word if shown is None else shown.rjust(len(word)) if at else blank + shown
        if not call.said:
            out.append((sign or "").join(words))
    return call.done("".join(line + "\n" for line in out), failed=2)


def _converted(call: Call, word: str, asked: dict[str, str]) -> str | None:
    """One number in the other form; None (and a complaint) if it is none."""
    units = "KMGTPE"
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?)([KMGTPEk]?)(i?)B?", word)
    if match is None:
        call.complain(f"invalid number: ‘{word}’")
        return None
    base = 1000 if asked.get("from") == "si" else 1024
    value = Decimal(match[1]) * (pow(base, units.index(match[2].upper()) + 1) if match[2] else 1)
    suffix, to = asked.get("suffix", ""), asked.get("to")
    if to is None:
        return _padded(f"{value.normalize():f}{suffix}", asked)
    base, rank = (1000 if to == "si" else 1024), -1
    while abs(value) >= base and rank < 5:
        value, rank = value / base, rank + 1
    tenths = (value * 10).to_integral_value(ROUND_UP)  # away from zero
    shown = f"{tenths / 10:.1f}" if rank >= 0 and abs(value) < 10 else str(value.to_integral_value(ROUND_UP))
    unit = (units[rank] if rank >= 0 else "") + ("i" if to == "iec-i" and rank >= 0 else "")
    return _padded(shown + unit + suffix, asked)


def _padded(text: str, asked: dict[str, str]) -> str:
    width = asked.get("padding", "0")
    size = int(width.lstrip("-")[:4]) if width.lstrip("-").isdigit() else 0
    return text.ljust(size) if width.startswith("-") else text.rjust(size)


def strings(call: Call) -> Outcome:
    """Printable texts of four characters and more."""
    given = parse(call.args, "a", "n", {"bytes": "n"})
    size = int(given.values.get("n", "4")[:4] or 4)
    found = [m for _, text in call.inputs(given.words) for m in re.findall(rf"[\t -~]{{{size},}}", text)]
    return call.done("".join(line + "\n" for line in found))


TOOLS: dict[str, Tool] = {"factor": factor, "numfmt": numfmt, "strings": strings}
