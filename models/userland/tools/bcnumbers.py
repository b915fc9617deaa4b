"""Numbers of bc: whole numbers with so many digits after the point. Source: bc 1.07.1, `number.c`."""

from __future__ import annotations

from decimal import Decimal, localcontext

from simcluster.models.userland.outcome import Exhausted

Number = tuple[int, int]
#: Digits that a number may have, and characters of a line that is printed.
_MOST_DIGITS, _LINE = 20_000, 69


def read(text: str, base: int) -> Number:
    """A number as it is written in a base; a digit that the base has not counts as its greatest.

    >>> read("1.5", 10), read("FF", 16), read("A", 10)
    ((15, 1), (255, 0), (10, 0))
    """
    whole, _, fraction = text.partition(".")
    if len(text) > _MOST_DIGITS:
        raise Exhausted
    if base == 10 and text.replace(".", "").isdigit():
        return int((whole + fraction) or "0"), len(fraction)
    if len(text) == 1 and text != ".":
        return int(text, 16), 0
    value = 0
    for digit in whole + fraction:
        value = value * base + min(int(digit, 16), base - 1)
    if not fraction:
        return value, 0
    return value * 10 ** len(fraction) // pow(base, len(fraction)), len(fraction)


def shown(value: Number) -> str:
    """In decimal, as bc writes it: nothing before the point if there is nothing.

    >>> shown((15, 1)), shown((-5, 1)), shown((0, 3)), shown((100, 0))
    ('1.5', '-.5', '0', '100')
    """
    number, places = value
    if not number:
        return "0"
    digits = str(abs(number)).rjust(places + 1, "0")
    text = digits if not places else f"{digits[:-places].lstrip('0')}.{digits[-places:]}"
    return f"-{text}" if number < 0 else text


def in_base(value: Number, base: int) -> str:
    """In a base; digits above 16 are written in decimal, a blank before each. Long lines go on after a backslash."""
    if base == 10:
        return _folded(shown(value))
    number, places = value
    whole, rest = divmod(abs(number), 10**places)
    width, out = len(str(base - 1)), list[str]()
    while whole or not (out or rest):
        whole, digit = divmod(whole, base)
        out.append(_digit(digit, base, width))
    text = "".join(reversed(out))
    if places and rest:
        text += "."
        spent = 1
        while spent < 10**places:  # as many digits as say as much
            rest *= base
            digit, rest = divmod(rest, 10**places)
            text += _digit(digit, base, width)
            spent *= base
    return _folded(("-" if number < 0 else "") + text)


def _digit(digit: int, base: int, width: int) -> str:
    return "0123456789ABCDEF"[digit] if base <= 16 else f" {digit:0{width}d}"


def _folded(text: str) -> str:
    if len(text) <= _LINE:
        return text
    parts = [text[at : at + _LINE - 1] for at in range(0, len(text), _LINE - 1)]
    return "\\\n".join(parts)


def multiplied(left: Number, right: Number, scale: int) -> Number:
    """A product with as many digits as the longer factor has, or `scale`."""
    places = left[1] + right[1]
    if len(str(left[0])) + len(str(right[0])) > _MOST_DIGITS:
        raise Exhausted
    return _cut(left[0] * right[0], places, min(places, max(scale, left[1], right[1])))


def divided(left: Number, right: Number, scale: int) -> Number:
    """A quotient with `scale` digits. Raises ZeroDivisionError."""
    if not right[0]:
        raise ZeroDivisionError
    over = abs(left[0]) * 10 ** (scale + right[1])
    value = over // (abs(right[0]) * 10 ** left[1])
    return value if (left[0] < 0) == (right[0] < 0) else -value, scale


def rest_of(left: Number, right: Number, scale: int) -> Number:
    """What division with `scale` digits leaves. Raises ZeroDivisionError."""
    quotient = divided(left, right, scale)
    wide = max(scale + right[1], left[1])
    taken = quotient[0] * right[0] * 10 ** (wide - scale - right[1])
    return left[0] * 10 ** (wide - left[1]) - taken, wide


def raised(left: Number, right: Number, scale: int) -> Number:
    """A power with a whole exponent. Raises ZeroDivisionError."""
    exponent = abs(right[0]) // 10 ** right[1]
    if exponent * max(1, len(str(abs(left[0])))) > 100_000:
        raise Exhausted
    value, places = pow(left[0], exponent), left[1] * exponent
    if right[0] < 0:
        if not value:
            raise ZeroDivisionError
        return divided((1, 0), (value, places), scale)
    return _cut(value, places, min(places, max(scale, left[1])))


def root(value: Number, scale: int) -> Number:
    """A square root. Raises ValueError: of a number below zero."""
    if value[0] < 0:
        raise ValueError
    wide = max(scale, value[1])
    with localcontext() as context:
        context.prec = len(str(value[0])) + 2 * wide + 10
        found = Decimal(value[0] * 10 ** (2 * wide - value[1])).sqrt()
    return int(found), wide


def _cut(value: int, places: int, kept: int) -> Number:
    return (abs(value) // 10 ** (places - kept)) * (1 if value >= 0 else -1), kept
