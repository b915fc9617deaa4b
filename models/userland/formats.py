"""C's conversions (`%-5s`, `%08.3f`, `%x`), as printf(1), awk and seq use them."""

from __future__ import annotations

import re
from decimal import Decimal

from simcluster.models.userland.outcome import ROOM, Exhausted

SPEC = re.compile(r"%([-+ 0#']*)(\*|\d*)(?:\.(\*|\d*))?(?:hh|h|ll|l|L|q|j|z|t)?([A-Za-z%])")


def padded(text: str, flags: str, width: int, *, zero: bool = False) -> str:
    """The text in a field of a width.

    Raises:
        Exhausted: nobody has memory for it.
    """
    if width > ROOM:
        raise Exhausted
    if len(text) >= width:
        return text
    if "-" in flags:
        return text.ljust(width)
    if zero:
        sign = text[:1] if text[:1] in "+- " else ""
        sign += text[len(sign) : len(sign) + 2] if text[len(sign) : len(sign) + 2] in ("0x", "0X") else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)


def integer(value: int, flags: str, width: int, precision: int | None, letter: str) -> str:
    """`%d`, `%i`, `%u`, `%o`, `%x`, `%X`.

    >>> integer(255, "#", 8, None, "x"), integer(-5, "0", 4, None, "d"), integer(7, "", 0, 3, "d")
    ('    0xff', '-005', '007')
    """
    if letter in "di":
        digits, sign = str(abs(value)), "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    else:
        value %= 1 << 64
        digits, sign = {"u": str(value), "o": f"{value:o}", "x": f"{value:x}", "X": f"{value:X}"}[letter], ""
        if "#" in flags and value:
            sign = {"o": "0", "x": "0x", "X": "0X"}.get(letter, "")
    if "'" in flags and letter in "diu":
        digits = f"{int(digits):,}" if False else digits
    if precision is not None:
        if precision > ROOM:
            raise Exhausted
        digits = digits.rjust(precision, "0")
    return padded(sign + digits, flags, width, zero="0" in flags and precision is None)


def floating(value: float | Decimal, flags: str, width: int, precision: int | None, letter: str) -> str:
    """`%f`, `%e`, `%g` and their capitals.

    >>> floating(3.14159, "", 8, 2, "f"), floating(1e10, "", 0, None, "g")
    ('    3.14', '1e+10')
    """
    if precision is not None and precision > ROOM:
        raise Exhausted
    number = value
    if number != number or number in (float("inf"), float("-inf")):
        text = "nan" if number != number else "inf" if number > 0 else "-inf"
        return padded(text.upper() if letter.isupper() else text, flags, width)
    digits = 6 if precision is None else min(precision, 1100)
    extra = 0 if precision is None else precision - digits
    sign = "+" if "+" in flags else " " if " " in flags else ""
    text = format(
        float(number) if letter not in "fF" else number, f"{sign}{'#' if '#' in flags else ''}.{digits}{letter}"
    )
    if letter in "eEgG" and "e" in text.lower():
        mantissa, mark, exponent = text.partition("e" if letter.islower() else "E")
        exponent = exponent[0] + exponent[1:].lstrip("0").rjust(2, "0")
        text = mantissa + mark + exponent
    return padded(text + "0" * extra, flags, width, zero="0" in flags)


def width_of(text: str) -> int:
    """A width or precision; what is too long for a number counts as more than there is."""
    return int(text) if text and len(text) < 12 else 0 if not text else ROOM + 1


def timing(took_ns: int, form: str) -> str:
    """What `time` prints; the processor's share of a command is too small for its digits."""
    seconds, thousandths = divmod(took_ns // 1_000_000, 1000)
    if form == "posix":
        return f"real {seconds}.{thousandths // 10:02d}\nuser 0.00\nsys 0.00\n"
    minutes, rest = divmod(seconds, 60)
    zero = "0m0.000s"
    if form == "busybox":
        return f"real\t{minutes}m {rest}.{thousandths // 10:02d}s\nuser\t0m 0.00s\nsys\t0m 0.00s\n"
    return f"\nreal\t{minutes}m{rest}.{thousandths:03d}s\nuser\t{zero}\nsys\t{zero}\n"
