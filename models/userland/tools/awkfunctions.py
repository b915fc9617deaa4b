"""Functions that awk brings along."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simcluster.engine.arithmetic import exp, log
from simcluster.engine.clock import unix_seconds
from simcluster.models.userland import trigonometry
from simcluster.models.userland.datetimes import formatted
from simcluster.models.userland.escapes import raw
from simcluster.models.userland.outcome import fitting
from simcluster.models.userland.regex import Match, Pattern
from simcluster.models.userland.tools.awkparser import AwkError, Node
from simcluster.models.userland.tools.awkvalues import Field, number

if TYPE_CHECKING:
    from simcluster.models.userland.tools.awkmachine import Machine


def called(machine: Machine, name: str, args: list[Node]) -> Any:
    """Value of a function's call. Raises AwkError."""
    if name in ("sub", "gsub", "gensub", "split", "match", "length", "close", "asort"):
        return _with_nodes(machine, name, args)
    values = [machine.value(node) for node in args]
    texts = [machine.text(value) for value in values]
    found = _of_values(machine, name, values, texts)
    if isinstance(found, str):
        machine.pay(len(found) // 200)
    return found


def _of_values(machine: Machine, name: str, values: list[Any], texts: list[str]) -> Any:
    if name in ("tolower", "toupper"):
        return texts[0].lower() if name == "tolower" else texts[0].upper()
    if name == "substr":
        return _substr(machine, texts, values)
    if name == "index":
        return float(texts[0].find(texts[1]) + 1)
    if name == "sprintf":
        return machine.format(values)
    if name == "system":
        machine.commands.append((machine.size, texts[0], ""))
        return 0.0
    if name == "fflush":
        return 0.0
    return _number(machine, name, values, texts)


def _number(machine: Machine, name: str, values: list[Any], texts: list[str]) -> Any:
    numbers = [number(value) for value in values]
    first = numbers[0] if numbers else 0.0
    if name == "int":
        return float(int(first)) if math.isfinite(first) else first
    if name == "rand":
        return machine.draw()
    if name == "srand":
        before, machine.seed = machine.seed, int(first) if values else unix_seconds(machine.call.now_ns)
        return float(before)
    if name == "systime":
        return float(unix_seconds(machine.call.now_ns + machine.call.place.offset_ns()))
    if name == "strftime":
        at_ns = machine.call.now_ns
        if len(values) > 1:
            at_ns += (int(numbers[1]) - unix_seconds(at_ns)) * 1_000_000_000
        return formatted(texts[0] if texts else "%a %b %e %H:%M:%S %Z %Y", at_ns)
    if name in ("and", "or", "xor", "lshift", "rshift"):
        a, b = int(first), int(numbers[1])
        return float(
            {"and": a & b, "or": a | b, "xor": a ^ b, "lshift": a << min(b, 63), "rshift": a >> min(b, 63)}[name]
        )
    try:
        if name == "atan2":
            return trigonometry.atan2(first, numbers[1])
        return _FUNCTIONS[name](first)
    except ValueError:
        return math.nan if first < 0 else -math.inf
    except OverflowError:
        return math.inf
    except KeyError:
        raise AwkError(f"function {name} not defined") from None


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": trigonometry.sine,
    "cos": trigonometry.cosine,
    "exp": exp,
    "log": log,
    "sqrt": math.sqrt,
}


def _substr(machine: Machine, texts: list[str], values: list[Any]) -> str:
    start = round(number(values[1]))
    stop = start + round(min(number(values[2]), 1e9)) if len(values) > 2 else len(texts[0]) + 1
    return texts[0][max(start, 1) - 1 : max(stop - 1, 0)]


def _with_nodes(machine: Machine, name: str, args: list[Node]) -> Any:
    if name == "length":
        if args and args[0][0] == "var":
            local = machine.locals and isinstance(machine.locals[-1].get(args[0][1]), dict)
            if local or (args[0][1] in machine.arrays and args[0][1] not in machine.variables):
                return float(len(machine.array(args[0][1])))
        text = machine.text(machine.value(args[0])) if args else machine.record
        return float(len(raw(text)) if machine.call.gnu else len(text))
    if name == "split":
        return _split(machine, args)
    if name == "match":
        return _match(machine, args)
    if name == "close":
        closed = machine.text(machine.value(args[0]))
        machine.readers.pop(closed, None)
        path = next((each for each in machine.files if each[1:] == closed), "")
        if path:
            machine.save(path, "".join(machine.files.pop(path)))
        return 0.0
    if name == "asort":
        raise AwkError("function asort never defined")
    if len(args) < 2:
        raise AwkError(f"not enough args in {name}()")
    pattern, replacement = machine.pattern(args[0]), machine.text(machine.value(args[1]))
    if name == "gensub":
        how = machine.text(machine.value(args[2])) if len(args) > 2 else "g"
        text = machine.text(machine.value(args[3])) if len(args) > 3 else machine.record
        machine.pay(len(text))
        which = 0 if how[:1] in "gG" else int(how) if how.isdigit() else 1
        return _replaced(pattern, replacement, text, which, groups=True)[0]
    target: Node = args[2] if len(args) > 2 else ("field", ("num", 0.0))
    text = machine.text(machine.value(target))
    machine.pay(len(text))
    changed, count = _replaced(pattern, replacement, text, 0 if name == "gsub" else 1, groups=False)
    if count and target[0] in ("var", "item", "field"):
        machine.assign(target, changed)
    return float(count)


def _split(machine: Machine, args: list[Node]) -> float:
    text = machine.text(machine.value(args[0]))
    separator = machine.text(machine.variables["FS"])
    if len(args) > 2:
        separator = args[2][1] if args[2][0] == "regex" else machine.text(machine.value(args[2]))
        if args[2][0] == "regex" and len(separator) == 1 and separator != " ":
            separator = f"[{separator}]" if separator not in "^\\" else separator
    machine.pay(len(text))
    parts = machine.split(text, separator)
    array = machine.array(args[1][1])
    array.clear()
    array.update({str(at): Field(part) for at, part in enumerate(parts, 1)})
    return float(len(parts))


def _match(machine: Machine, args: list[Node]) -> float:
    found = machine.pattern(args[1]).search(machine.text(machine.value(args[0])))
    machine.variables["RSTART"] = float(found.start + 1 if found else 0)
    machine.variables["RLENGTH"] = float(found.end - found.start if found else -1)
    if len(args) > 2:
        array = machine.array(args[2][1])
        array.clear()
        array.update({str(at): Field(part or "") for at, part in enumerate(found.groups if found else ())})
    return float(machine.variables["RSTART"])


def _replaced(pattern: Pattern, replacement: str, text: str, which: int, *, groups: bool) -> tuple[str, int]:
    """The text with matches replaced (`which`: only that one; 0: all), and how many were."""
    out: list[str] = []
    start, count = 0, 0
    for seen, match in enumerate(pattern.iterate(text), 1):
        if not which or seen == which:
            out += [text[start : match.start], _filled(replacement, match, groups)]
            start, count = match.end, count + 1
            if count % 4096 == 0:
                fitting("".join(out))
        if which and seen >= which:
            break
    return fitting("".join(out) + text[start:]), count


def _filled(replacement: str, match: Match, groups: bool) -> str:
    if "&" not in replacement and "\\" not in replacement:
        return replacement
    out, at = "", 0
    while at < len(replacement):
        char = replacement[at]
        if char == "\\" and at + 1 < len(replacement):
            at += 1
            char = replacement[at]
            if groups and char.isdigit():
                out += (match.groups[int(char)] or "") if int(char) < len(match.groups) else ""
            else:
                out += char if char in "&\\" else "\\" + char
        elif char == "&":
            out += match.groups[0] or ""
        else:
            out += char
        at += 1
    return out
