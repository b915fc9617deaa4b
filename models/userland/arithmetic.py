"""Integer arithmetic of the shell: `$((...))`, `((...))`, `let` and subscripts; 64 bits, as in C."""

from __future__ import annotations

import operator as ops
import re
from typing import Protocol

_TOKEN = re.compile(
    r"\s*(?:(\d+#[0-9A-Za-z@_]+|0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*)"
    r"|(<<=|>>=|\*\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%<>()!~&|^?:=,\[\]]))",
    re.ASCII,
)
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
_ASSIGN = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
#: How deep an expression may lie in another, values of variables that are expressions included.
DEPTH_MAX = 60


class Variables(Protocol):
    """The variables that an expression names."""

    def number_text(self, name: str, subscript: str | None) -> str:
        """Text of a variable or of an element; empty if it is unset."""

    def set_number(self, name: str, subscript: str | None, value: int) -> None:
        """Assign."""


class ArithmeticProblem(Exception):
    """The expression is wrong.

    Attributes:
        kind: `syntax`, `operand`, `division` or `depth`.
        text: the whole expression; token: from where on it is wrong.
    """

    def __init__(self, kind: str, text: str, token: str) -> None:
        super().__init__(f"{text}: {kind}")
        self.kind, self.text, self.token = kind, text, token

    def said(self, shell: str) -> str:
        """How a shell words it."""
        if shell == "bash":
            what = {
                "division": "division by 0",
                "operand": "syntax error: operand expected",
                "depth": "expression recursion level exceeded",
            }.get(self.kind, "syntax error in expression")
            return f'{self.text.strip() or self.text}: {what} (error token is "{self.token}")'
        if shell == "dash":
            what = {"division": "division by zero", "operand": "expecting primary"}.get(self.kind, "expecting EOF")
            return f'arithmetic expression: {what}: "{self.text}"'
        return "divide by zero" if self.kind == "division" else "arithmetic syntax error"


def evaluate(text: str, variables: Variables, depth: int = 0) -> int:
    """Value of an arithmetic expression; unset variables count 0.

    Raises:
        ArithmeticProblem: a syntax error or a division by zero.
    """
    if not text.strip():
        return 0
    expression = _Expression(text, variables, depth)
    try:
        value = expression.comma()
    except RecursionError:
        raise ArithmeticProblem("depth", text, text[:20]) from None
    if expression.token is not None:
        raise ArithmeticProblem("syntax", text, expression.rest())
    return value


def wrapped(value: int) -> int:
    """As a signed number of 64 bits.

    >>> wrapped(2**63)
    -9223372036854775808
    """
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def divide(left: int, right: int) -> tuple[int, int]:
    """Quotient towards zero and remainder, as in C.

    >>> divide(-7, 2)
    (-3, -1)
    """
    if right == 0:
        raise ZeroDivisionError
    quotient = abs(left) // abs(right)
    quotient = -quotient if (left < 0) != (right < 0) else quotient
    return quotient, left - quotient * right


def apply(operator: str, left: int, right: int) -> int:
    """The value of `left operator right`. Raises ZeroDivisionError."""
    if operator in ("/", "%"):
        return wrapped(divide(left, right)[operator == "%"])
    if operator in _COMPARED:
        return int(_COMPARED[operator](left, right))
    if operator in ("&&", "||"):
        return int(bool(left and right) if operator == "&&" else bool(left or right))
    if operator in ("<<", ">>"):
        return wrapped(left << (right & 63) if operator == "<<" else left >> (right & 63))
    return wrapped(_COMPUTED[operator](left, right))


_COMPARED = {"<": ops.lt, "<=": ops.le, ">": ops.gt, ">=": ops.ge, "==": ops.eq, "!=": ops.ne}
_COMPUTED = {"+": ops.add, "-": ops.sub, "*": ops.mul, "&": ops.and_, "|": ops.or_, "^": ops.xor}


class _Expression:
    def __init__(self, text: str, variables: Variables, depth: int) -> None:
        self._text = text
        self._at = 0
        self._start = 0
        self._variables = variables
        self._depth = depth
        self._skips = 0  # how many parts around are not evaluated (the other side of && or ?:)
        self.token: str | None = None
        self._advance()

    def rest(self) -> str:
        """The text from the present token on."""
        return self._text[self._start :].strip()

    def _fail(self, kind: str = "syntax") -> ArithmeticProblem:
        return ArithmeticProblem(kind, self._text, self.rest() or self._text.strip()[-1:])

    def _advance(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        self._start = self._at
        if match is None:
            self.token = None
            if self._text[self._at :].strip():
                raise self._fail()
            return
        self._at = match.end()
        self.token = match[0].strip()

    def comma(self) -> int:
        """An expression with its commas."""
        value = self._assignment()
        while self.token == ",":
            self._advance()
            value = self._assignment()
        return value

    def _assignment(self) -> int:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._fail("depth")
        value = self._ternary()
        self._depth -= 1
        return value

    def _ternary(self) -> int:
        condition = self._binary(0)
        if self.token != "?":
            return condition
        self._advance()
        self._skips += not condition
        yes = self._assignment()
        self._skips -= not condition
        if self.token != ":":
            raise self._fail()
        self._advance()
        self._skips += bool(condition)
        no = self._assignment()
        self._skips -= bool(condition)
        return yes if condition else no

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._power()
        value = self._binary(level + 1)
        while self.token is not None and self.token in _LEVELS[level]:
            operator = self.token
            self._advance()
            decided = (operator == "&&" and not value) or (operator == "||" and bool(value))
            self._skips += decided
            before = self.rest()
            right = self._binary(level + 1)
            self._skips -= decided
            if operator in ("/", "%") and right == 0:
                if not self._skips:
                    raise ArithmeticProblem("division", self._text, before)
                right = 1
            value = apply(operator, value, right)
        return value

    def _power(self) -> int:
        value = self._unary()
        if self.token != "**":
            return value
        self._advance()
        exponent = self._power()
        if exponent < 0:
            raise self._fail()
        return wrapped(pow(value, exponent, 1 << 64))

    def _unary(self) -> int:
        token = self.token
        if token is None:
            raise ArithmeticProblem("operand", self._text, self._text.strip()[-1:])
        if token in ("-", "+", "!", "~"):
            self._advance()
            self._depth += 1
            if self._depth > DEPTH_MAX:
                raise self._fail("depth")
            value = self._unary()
            self._depth -= 1
            return wrapped({"-": -value, "+": value, "!": int(value == 0), "~": ~value}[token])
        if token in ("++", "--"):
            self._advance()
            name, subscript = self._name()
            value = wrapped(self._value(name, subscript) + (1 if token == "++" else -1))
            self._set(name, subscript, value)
            return value
        if token == "(":
            self._advance()
            value = self.comma()
            if self.token != ")":
                raise self._fail()
            self._advance()
            return value
        if token[0].isdigit():
            self._advance()
            return self._number(token)
        return self._variable()

    def _variable(self) -> int:
        name, subscript = self._name()
        token = self.token
        if token in ("++", "--"):
            self._advance()
            value = self._value(name, subscript)
            self._set(name, subscript, wrapped(value + (1 if token == "++" else -1)))
            return value
        if token in _ASSIGN and token is not None:
            self._advance()
            value = self._assignment()
            if token != "=":
                before = self._value(name, subscript)
                if token in ("/=", "%=") and value == 0 and not self._skips:
                    raise self._fail("division")
                value = apply(token[:-1], before, value or int(token in ("/=", "%=")))
            self._set(name, subscript, value)
            return value
        return self._value(name, subscript)

    def _name(self) -> tuple[str, str | None]:
        name = self.token
        if name is None or not (name[0].isalpha() or name[0] == "_"):
            raise self._fail("operand")
        self._advance()
        if self.token != "[":
            return name, None
        depth, stop = 1, self._at
        while stop < len(self._text) and depth:
            depth += {"[": 1, "]": -1}.get(self._text[stop], 0)
            stop += 1
        subscript = self._text[self._at : stop - 1]
        self._at = stop
        self._advance()
        return name, subscript

    def _value(self, name: str, subscript: str | None) -> int:
        text = self._variables.number_text(name, subscript).strip()
        if re.fullmatch(r"-?[1-9]\d{0,17}|0", text):
            return int(text)
        if self._skips:
            return 0
        if self._depth + 1 > DEPTH_MAX:
            raise self._fail("depth")
        return evaluate(text, self._variables, self._depth + 1)

    def _set(self, name: str, subscript: str | None, value: int) -> None:
        if not self._skips:
            self._variables.set_number(name, subscript, value)

    def _number(self, token: str) -> int:
        try:
            if "#" in token:
                base, _, digits = token.partition("#")
                return self._digits(int(base), digits)
            if token[:2] in ("0x", "0X"):
                return wrapped(int(token, 16))
            if len(token) > 1 and token[0] == "0":
                return wrapped(int(token, 8))
            return wrapped(int(token[:4000]))
        except ValueError:
            raise ArithmeticProblem("syntax", self._text, token) from None

    @staticmethod
    def _digits(base: int, digits: str) -> int:
        order = "0123456789abcdefghijklmnopqrstuvwxyz" + ("ABCDEFGHIJKLMNOPQRSTUVWXYZ@_" if base > 36 else "")
        value = 0
        for digit in digits if base > 36 else digits.lower():
            at = order.find(digit)
            if not 2 <= base <= 64 or not 0 <= at < base:
                raise ValueError(digit)
            value = wrapped(value * base + at)
        return value
