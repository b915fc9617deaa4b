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
    units = "KMGTPE"
    out = []
    for word in given.words or [line for line in call.stdin().split("\n") if line]:
        match = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)([KMGTPEk]?)(i?)B?\s*", word)
        if match is None:
            call.complain(f"invalid number: ‘{word}’")
            continue
        base = 1000 if given.values.get("from") == "si" else 1024
        value = Decimal(match[1]) * (pow(base, units.index(match[2].upper()) + 1) if match[2] else 1)
        to = given.values.get("to")
        if to is None:
            out.append(f"{value.normalize():f}" + given.values.get("suffix", ""))
            continue
        base, rank = (1000 if to == "si" else 1024), -1
        while abs(value) >= base and rank < 5:
            value, rank = value / base, rank + 1
        tenths = (value * 10).to_integral_value(ROUND_UP)  # away from zero
        shown = f"{tenths / 10:.1f}" if rank >= 0 and abs(value) < 10 else str(value.to_integral_value(ROUND_UP))
        out.append(
            shown
            + (units[rank] if rank >= 0 else "")
            + ("i" if to == "iec-i" and rank >= 0 else "")
            + given.values.get("suffix", "")
        )
    return call.done("".join(line + "\n" for line in out), failed=2)


def strings(call: Call) -> Outcome:
    """Printable texts of four characters and more."""
    given = parse(call.args, "a", "n", {"bytes": "n"})
    size = int(given.values.get("n", "4")[:4] or 4)
    found = [m for _, text in call.inputs(given.words) for m in re.findall(rf"[\t -~]{{{size},}}", text)]
    return call.done("".join(line + "\n" for line in found))


TOOLS: dict[str, Tool] = {"factor": factor, "numfmt": numfmt, "strings": strings}
