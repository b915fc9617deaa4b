"""`printf` and `sprintf` of awk."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from simcluster.models.userland.formats import SPEC, floating, integer, padded, width_of
from simcluster.models.userland.outcome import fitting
from simcluster.models.userland.tools.awkparser import AwkError
from simcluster.models.userland.tools.awkvalues import number

if TYPE_CHECKING:
    from simcluster.models.userland.tools.awkmachine import Machine


def printed(machine: Machine, values: list[Any]) -> str:
    """`sprintf`. Raises AwkError."""
    rest = iter(values[1:])

    def one(match: re.Match[str]) -> str:
        flags, width, precision, letter = match.groups()
        if letter == "%":
            return "%"
        if width == "*":
            size = int(number(next(rest, 0.0)))
            flags, width = (flags + "-", str(-size)) if size < 0 else (flags, str(size))
        if precision == "*":
            precision = str(int(number(next(rest, 0.0))))
        value: Any = next(rest, None)
        if value is None:
            if machine.call.gnu:
                raise AwkError(f'run time error: not enough arguments passed to printf("{machine.text(values[0])}")')
            value = ""
        wide, digits = width_of(width), None if precision is None else width_of(precision)
        if letter == "c":
            shown = chr(int(value) & 0x10FFFF) if isinstance(value, float) else machine.text(value)[:1]
            return padded(shown, flags, wide)
        if letter == "s":
            return padded(machine.text(value)[:digits], flags, wide)
        if letter in "diouxX":
            whole = number(value)
            if not math.isfinite(whole):
                return padded(floating(whole, flags, 0, None, "f"), flags, wide)
            return integer(int(whole), flags, wide, digits, letter)
        if letter in "eEfFgG":
            return floating(number(value), flags, wide, digits, letter)
        return match[0]

    return fitting(SPEC.sub(one, machine.text(values[0])))
