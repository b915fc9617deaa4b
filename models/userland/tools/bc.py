"""bc: arithmetic of any length."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from simcluster.models.userland.outcome import Exhausted, Outcome
from simcluster.models.userland.place import Call


def bc(call: Call) -> Outcome:
    """Arithmetic of any length, a line each: + - * / % ^ ( ), `scale`, comparisons."""
    out: list[str] = []
    scale, bases = (20 if "-l" in call.args else 0), {"ibase": 10, "obase": 10}
    for statement in re.split(r"[\n;]", call.stdin()):
        text = statement.strip()
        assigned = re.fullmatch(r"scale\s*=\s*(\d{1,3})", text)
        if assigned is not None:
            scale = int(assigned[1])
        elif (assigned := re.fullmatch(r"([io]base)\s*=\s*([0-9A-F]{1,3})", text)) is not None:
            value = int(_decimal(assigned[2], bases["ibase"]) or 0)
            bases[assigned[1]] = min(max(value, 2), 16 if assigned[1] == "ibase" else 999)
        elif text and text != "quit":
            try:
                if bases["ibase"] != 10:
                    text = re.sub(r"[0-9A-F]+", lambda each: _decimal(each[0], bases["ibase"]), text)
                found = _Calculator(text, scale).result()
                out.append(found if bases["obase"] == 10 else _in_base(found, bases["obase"]))
            except (ValueError, InvalidOperation, RecursionError):
                call.said.append("(standard_in) 1: syntax error\n")
            except ZeroDivisionError:
                call.said.append("Runtime error (func=(main), adr=3): Divide by zero\n")
    return Outcome("".join(line + "\n" for line in out), "".join(call.said))


def _decimal(digits: str, base: int) -> str:
    """A whole number of a base, in decimal; a digit that the base has not counts as its greatest."""
    if len(digits) == 1:
        return str(int(digits, 16))
    value = 0
    for digit in digits[:4000]:
        value = value * base + min(int(digit, 16), base - 1)
    return str(value)


def _in_base(text: str, base: int) -> str:
    """The whole part of a number in another base; digits above 16 are written in decimal, a blank before each."""
    out: list[str] = []
    value = int(text.lstrip("-").partition(".")[0] or 0)
    while value or not out:
        value, digit = divmod(value, base)
        out.append("0123456789ABCDEF"[digit] if base <= 16 else f" {digit:0{len(str(base - 1))}d}")
    return ("-" if text.startswith("-") else "") + "".join(reversed(out))


class _Calculator:
    def __init__(self, text: str, scale: int) -> None:
        self.tokens: list[str] = re.findall(r"\d+\.?\d*|\.\d+|sqrt|[-+*/%^()]|<=|>=|==|!=|<|>|\S", text)
        self.scale = scale
        self.at = 0

    def result(self) -> str:
        value, places = self._compare()
        if self.at < len(self.tokens):
            raise ValueError
        digits: str = str(abs(value)).rjust(places + 1, "0")
        text = digits if not places else f"{digits[:-places].lstrip('0')}.{digits[-places:]}"
        return f"-{text}" if value < 0 else f"{text}"

    def _take(self, *signs: str) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at] in signs:
            self.at += 1
            return self.tokens[self.at - 1]
        return ""

    def _compare(self) -> tuple[int, int]:
        left = self._sum()
        sign = self._take("<", ">", "<=", ">=", "==", "!=")
        if not sign:
            return left
        right = self._sum()
        places = max(left[1], right[1])
        a, b = (each[0] * 10 ** (places - each[1]) for each in (left, right))
        return int({"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b, "==": a == b, "!=": a != b}[sign]), 0

    def _sum(self) -> tuple[int, int]:
        value, places = self._product()
        while sign := self._take("+", "-"):
            other, more = self._product()
            wide = max(places, more)
            a, b = value * 10 ** (wide - places), other * 10 ** (wide - more)
            value, places = (a + b if sign == "+" else a - b), wide
        return value, places

    def _product(self) -> tuple[int, int]:
        value, places = self._power()
        while sign := self._take("*", "/", "%"):
            other, more = self._power()
            if sign == "*":
                kept = min(places + more, max(self.scale, places, more))
                value, places = _cut(value * other, places + more, kept)
            else:
                if other == 0:
                    raise ZeroDivisionError
                shifted = value * 10 ** (self.scale + more)
                quotient = abs(shifted) // (abs(other) * 10**places) * (1 if (shifted < 0) == (other < 0) else -1)
                if sign == "/":
                    value, places = quotient, self.scale
                else:
                    wide = max(self.scale + more, places)
                    value = value * 10 ** (wide - places) - quotient * other * 10 ** (wide - self.scale - more)
                    places = wide
        return value, places

    def _power(self) -> tuple[int, int]:
        value, places = self._atom()
        if self._take("^"):
            exponent, more = self._power()
            exponent //= 10**more
            if abs(exponent) * max(1, len(str(value))) > 100_000:
                raise Exhausted
            if exponent < 0:
                if value == 0:
                    raise ZeroDivisionError
                return 10 ** (self.scale + places * -exponent) // _raised(value, -exponent), self.scale
            return _cut(_raised(value, exponent), places * exponent, min(places * exponent, max(self.scale, places)))
        return value, places

    def _atom(self) -> tuple[int, int]:
        if self._take("-"):
            value, places = self._atom()
            return -value, places
        if self._take("("):
            found = self._compare()
            if not self._take(")"):
                raise ValueError
            return found
        if self._take("sqrt"):
            value, places = self._atom()
            wide = max(self.scale, places)
            root = Decimal(value * 10 ** (2 * wide - places)).sqrt() if value >= 0 else Decimal("NaN")
            return int(root), wide
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        if not token[:1].isdigit() and token[:1] != ".":
            raise ValueError
        self.at += 1
        whole, _, fraction = token.partition(".")
        return int((whole + fraction)[:4000] or 0), len(fraction)


def _raised(value: int, exponent: int) -> int:
    made = 1
    for _ in range(exponent):
        made *= value
    return made


def _cut(value: int, places: int, kept: int) -> tuple[int, int]:
    return (abs(value) // 10 ** (places - kept)) * (1 if value >= 0 else -1), kept
