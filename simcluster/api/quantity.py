"""Kubernetes quantities (`250m`, `1280Mi`, `2e3`) as exact integers of 1e-9.

A quantity keeps the family of suffixes it was written with, and prints canonically in it,
as the API server returns it: `0.1` is `100m`, `1024Mi` is `1Gi`, `0.5Gi` is `512Mi`.
Amounts finer than 1e-9 are rounded up and amounts beyond 2**63 - 1 are capped, as there.
Source: k8s.io/apimachinery/pkg/api/resource (quantity.go, suffix.go, amount.go).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

NANO = 1_000_000_000
MILLION = NANO // 1000

DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"

#: Largest amount a quantity can hold, in units of 1e-9.
MAX_NANO = (2**63 - 1) * NANO

#: What the API server answers to a text that is no quantity.
FORMAT_ERROR = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_ERROR = "unable to parse quantity's suffix"

_TEXT = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_TEXT = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_TEXT = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)")


class QuantityError(ValueError):
    """The text is no quantity; the message is the API server's."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount.

    Attributes:
        nano: the amount in units of 1e-9, signed.
        format: DecimalSI, BinarySI or DecimalExponent.
    """

    nano: int
    format: str = DECIMAL_SI

    @property
    def value(self) -> int:
        """The amount in whole units (bytes, cores, pods), rounded up."""
        return -(-self.nano // NANO)

    @property
    def milli(self) -> int:
        """The amount in thousandths (millicores), rounded up."""
        return -(-self.nano // MILLION)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano

    def __str__(self) -> str:
        """The canonical text.

        >>> [str(parse(text)) for text in ("0.1", "1000m", "1024Mi", "1280Mi", "0.5Gi", "2e3", "0Mi")]
        ['100m', '1', '1Gi', '1280Mi', '512Mi', '2e3', '0']
        """
        if not self.nano:
            return "0"
        if self.format == BINARY_SI and self.nano % NANO == 0 and abs(self.nano) >= 1024 * NANO:
            return _binary_text(self.nano // NANO)
        return _decimal_text(self.nano, self.format)


def _binary_text(amount: int) -> str:
    power = 0
    while amount % 1024 == 0 and power < 6:
        amount //= 1024
        power += 1
    return f"{amount}{_BINARY_TEXT[power]}"


def _decimal_text(nano: int, form: str) -> str:
    amount, exponent = nano, -9
    while amount % 1000 == 0 and exponent < 18:
        amount //= 1000
        exponent += 3
    if form == DECIMAL_EXPONENT:
        return f"{amount}e{exponent}" if exponent else str(amount)
    return f"{amount}{_DECIMAL_TEXT[exponent]}"


def _interpret(suffix: str) -> tuple[int, int, str]:
    """Base, exponent and format of a suffix. Raises QuantityError."""
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], DECIMAL_SI
    if suffix in _BINARY:
        return 2, _BINARY[suffix], BINARY_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[1]) > 4:
        raise QuantityError(SUFFIX_ERROR)
    return 10, int(match[1]), DECIMAL_EXPONENT


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    match = _TEXT.fullmatch(text)
    if not text or match is None:
        raise QuantityError(FORMAT_ERROR)
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    base, exponent, form = _interpret(suffix)
    digits = int((whole + fraction) or "0")
    if not whole and not fraction and not suffix:
        raise QuantityError(FORMAT_ERROR)
    scale = 9 - len(fraction) + (exponent if base == 10 else 0)
    if base == 2:
        digits <<= exponent
    # Beyond these bounds the answer is the cap, or one nano, whatever the digits are.
    scale = max(-400, min(400, scale))
    nano = digits * 10**scale if scale >= 0 else -(-digits // 10**-scale)
    nano = min(nano, MAX_NANO)
    if form == BINARY_SI and 0 < nano < NANO:
        form = DECIMAL_SI
    return Quantity(-nano if sign == "-" else nano, form)


def parse(text: str | int | float) -> Quantity:
    """The quantity that a manifest's scalar stands for.

    Raises:
        QuantityError: it is none; the message is the API server's.

    >>> parse("1.5Gi").value, parse("250m").milli, parse(2).milli
    (1610612736, 250, 2000)
    """
    if isinstance(text, str):
        return _parse(text.strip())
    if type(text) not in (int, float):  # a manifest may hold anything there
        raise QuantityError(FORMAT_ERROR)
    return _parse(repr(text))


def canonical(text: str | int | float) -> str:
    """The text as the API server returns it. Raises QuantityError."""
    return str(parse(text))


def to_millicores(text: str | int | float) -> int:
    """CPU in thousandths of a core, rounded up. Raises QuantityError."""
    return parse(text).milli


def to_bytes(text: str | int | float) -> int:
    """Memory or storage in bytes (or any count), rounded up. Raises QuantityError."""
    return parse(text).value


def of_millicores(milli: int) -> Quantity:
    """The quantity of so many thousandths, decimal family."""
    return Quantity(milli * MILLION)


def of_bytes(amount: int) -> Quantity:
    """The quantity of so many bytes, binary family."""
    return Quantity(amount * NANO, BINARY_SI)
