"""Integer arithmetic of the shell: `$((...))` and `expr`.

Left out: assignment, increment and the comma operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*)|(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>()!~&|^?:]))")
#: Binary operators from the weakest to the strongest, as in C.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)

Lookup = Callable[[str], str | None]


def evaluate(text: str, variable: Lookup) -> int:
    """Value of an arithmetic expression; unset variables count 0.

    Raises:
        ValueError: a syntax error or a division by zero, worded as busybox does.

    >>> evaluate("2 + 3 * (n - 1)", {"n": "5"}.get)
    14
    """
    expression = _Expression(text, variable)
    value = expression.ternary()
    if expression.token is not None:
        raise ValueError("arithmetic syntax error")
    return value


def divide(left: int, right: int) -> tuple[int, int]:
    """Quotient towards zero and remainder, as in C.

    >>> divide(-7, 2)
    (-3, -1)
    """
    if right == 0:
        raise ValueError("divide by zero")
    quotient = abs(left) // abs(right)
    quotient = -quotient if (left < 0) != (right < 0) else quotient
    return quotient, left - quotient * right


def apply(operator: str, left: int, right: int) -> int:
    """The value of `left operator right`."""
    if operator in ("/", "%"):
        return divide(left, right)[operator == "%"]
    return {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "<": int(left < right),
        "<=": int(left <= right),
        ">": int(left > right),
        ">=": int(left >= right),
        "==": int(left == right),
        "!=": int(left != right),
        "&&": int(left != 0 and right != 0),
        "||": int(left != 0 or right != 0),
        "&": left & right,
        "|": left | right,
        "^": left ^ right,
        "<<": left << (right & 63),
        ">>": left >> (right & 63),
    }[operator]


class _Expression:
    def __init__(self, text: str, variable: Lookup) -> None:
        self._text = text
        self._at = 0
        self._variable = variable
        self.token: str | None = None
        self._advance()

    def _advance(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            if self._text[self._at :].strip():
                raise ValueError("arithmetic syntax error")
            self.token = None
            return
        self._at = match.end()
        self.token = match[0].strip()

    def ternary(self) -> int:
        condition = self._binary(0)
        if self.token != "?":
            return condition
        self._advance()
        yes = self.ternary()
        if self.token != ":":
            raise ValueError("arithmetic syntax error")
        self._advance()
        no = self.ternary()
        return yes if condition else no

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        value = self._binary(level + 1)
        while self.token is not None and self.token in _LEVELS[level]:
            operator = self.token
            self._advance()
            value = apply(operator, value, self._binary(level + 1))
        return value

    def _unary(self) -> int:
        token = self.token
        if token is None:
            raise ValueError("arithmetic syntax error")
        self._advance()
        if token in ("-", "+", "!", "~"):
            value = self._unary()
            return {"-": -value, "+": value, "!": int(value == 0), "~": ~value}[token]
        if token == "(":
            value = self.ternary()
            if self.token != ")":
                raise ValueError("arithmetic syntax error")
            self._advance()
            return value
        if token[0].isdigit():
            return int(token, 16) if token[:2] in ("0x", "0X") else int(token, 8 if token[0] == "0" else 10)
        if token[0].isalpha() or token[0] == "_":
            value_text = (self._variable(token) or "0").strip()
            try:
                return int(value_text)
            except ValueError:
                raise ValueError("arithmetic syntax error") from None
        raise ValueError("arithmetic syntax error")
