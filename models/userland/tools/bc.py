"""bc: a calculator of any precision, with variables, arrays, conditions, loops and functions. Source: bc 1.07.1.

Left out: `read`, strings in functions, `auto` arrays, Bessel functions.
"""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

from simcluster.models.userland.outcome import ROOM, Exhausted, Outcome
from simcluster.models.userland.place import Call
from simcluster.models.userland.tools.bcnumbers import divided, in_base, multiplied, raised, read, rest_of, root

#: Statements that one call may do, functions inside of each other, and digits after the point.
_MOST_STEPS, _MOST_DEPTH, _MOST_SCALE = 200_000, 60, 5000
_TOKEN = re.compile(
    r"\s*(?:\\\n)?(?:(?P<text>\"[^\"]*\")|(?P<number>\d[\dA-F]*\.?[\dA-F]*|[A-F][\dA-F]*\.?[\dA-F]*|\.[\dA-F]+)"
    r"|(?P<name>[a-z][a-z0-9_]*)|(?P<sign>\+\+|--|[-+*/%^<>=!]=|&&|\|\||[-+*/%^()\[\]{},;<>=!\n]))"
)
_SPACE = re.compile(r"[ \t]+|/\*.*?\*/|#[^\n]*|\\\n", re.DOTALL)
Number = tuple[int, int]  # digits as one whole number, and how many of them are after the point


class _Wrong(Exception):
    """It cannot be read."""


class _Left(Exception):
    """A statement that leaves others: `break`, `continue`, `return`, `quit`."""

    def __init__(self, kind: str, value: Number = (0, 0)) -> None:
        super().__init__(kind)
        self.kind, self.value = kind, value


def bc(call: Call) -> Outcome:
    """Arithmetic of any length: what standard input asks for, a statement at a time."""
    machine = _Machine(20 if "-l" in call.args or "--mathlib" in call.args else 0)
    source = "".join(text for _, text in call.inputs([word for word in call.args if word[:1] != "-"]))
    source += call.stdin()
    for unit in _units(source):
        try:
            for statement in _Parser(unit).statements(""):
                machine.execute(statement)
        except _Left as left:
            if left.kind == "quit":
                break
        except ZeroDivisionError:
            call.said.append("Runtime error (func=(main), adr=3): Divide by zero\n")
        except (_Wrong, ValueError, RecursionError):
            call.said.append("(standard_in) 1: syntax error\n")
        if machine.size > ROOM:
            raise Exhausted
    return Outcome("".join(machine.out), "".join(call.said))


def _units(source: str) -> list[list[tuple[str, str]]]:
    """Tokens of each line, or of the lines that an open brace holds together."""
    units: list[list[tuple[str, str]]] = [[]]
    at, deep = 0, 0
    while at < len(source):
        blank = _SPACE.match(source, at)
        if blank is not None:
            at = blank.end()
            continue
        found = _TOKEN.match(source, at)
        if found is None:
            units[-1].append(("wrong", source[at]))
            at += 1
            continue
        kind = str(found.lastgroup)
        token = found[kind]
        deep += (token == "{") - (token == "}")
        at = found.end()
        if token == "\n" and deep <= 0:
            units.append([])
        else:
            units[-1].append((kind, token))
    return units


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens, self.at, self.deep = tokens, 0, 0

    def _is(self, *signs: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at][1] in signs and self.tokens[self.at][0] != "text"

    def _take(self, *signs: str) -> str:
        if self._is(*signs):
            self.at += 1
            return self.tokens[self.at - 1][1]
        return ""

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            raise _Wrong

    def statements(self, closer: str) -> list[Any]:
        """Statements up to a brace, or to the end."""
        found: list[Any] = []
        while True:
            while self._take(";", "\n"):
                pass
            if self.at >= len(self.tokens):
                if closer:
                    raise _Wrong
                return found
            if closer and self._take(closer):
                return found
            found.append(self.statement())
            if not (self.at >= len(self.tokens) or self._is(";", "\n", "}") or found[-1][0] in ("block", "define")):
                raise _Wrong

    def statement(self) -> Any:
        """One statement. Raises _Wrong."""
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind == "text":
            self.at += 1
            return ("text", token[1:-1])
        if self._take("{"):
            return ("block", self.statements("}"))
        if kind == "name" and token in ("if", "while", "for", "define", "print", "return"):
            self.at += 1
            return getattr(self, f"_{token}")()
        if kind == "name" and token in ("break", "continue", "quit", "halt"):
            self.at += 1
            return ("leave", "quit" if token == "halt" else token)
        node = self.expression()
        return ("quiet" if node[0] == "set" else "show", node)

    def _body(self) -> Any:
        while self._take("\n"):
            pass
        return self.statement()

    def _if(self) -> Any:
        self._need("(")
        test = self.expression()
        self._need(")")
        yes, at = self._body(), self.at
        while self._take("\n", ";"):
            pass
        if self._take("else"):
            return ("if", test, yes, self._body())
        self.at = at
        return ("if", test, yes, None)

    def _while(self) -> Any:
        self._need("(")
        test = self.expression()
        self._need(")")
        return ("for", None, test, None, self._body())

    def _for(self) -> Any:
        self._need("(")
        parts = []
        for end in (";", ";", ")"):
            parts.append(None if self._is(end) else self.expression())
            self._need(end)
        return ("for", *parts, self._body())

    def _print(self) -> Any:
        parts: list[Any] = []
        while True:
            if self.at < len(self.tokens) and self.tokens[self.at][0] == "text":
                parts.append(("text", self.tokens[self.at][1][1:-1]))
                self.at += 1
            else:
                parts.append(("value", self.expression()))
            if not self._take(","):
                return ("print", parts)

    def _return(self) -> Any:
        empty = self.at >= len(self.tokens) or self._is(";", "\n", "}")
        return ("return", None if empty else self.expression())

    def _define(self) -> Any:
        name = self._name()
        self._need("(")
        parameters = []
        while not self._take(")"):
            parameters.append(self._name())
            self._take(",")
        while self._take("\n"):
            pass
        self._need("{")
        hidden = []
        while self._take("\n"):
            pass
        if self._take("auto"):
            hidden.append(self._name())
            while self._take(","):
                hidden.append(self._name())
        return ("define", name, parameters, hidden, self.statements("}"))

    def _name(self) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != "name":
            raise _Wrong
        self.at += 1
        return self.tokens[self.at - 1][1]

    def expression(self) -> Any:
        """`||` and below. Raises _Wrong."""
        self.deep += 1
        if self.deep > 150:
            raise _Wrong
        node = self._level(0)
        self.deep -= 1
        return node

    _LEVELS = (
        ("||",),
        ("&&",),
        ("!",),
        ("<", ">", "<=", ">=", "==", "!="),
        ("=",),
        ("+", "-"),
        ("*", "/", "%"),
        ("^",),
    )

    def _level(self, level: int) -> Any:
        if level == len(self._LEVELS):
            return self._atom()
        signs = self._LEVELS[level]
        if signs == ("!",):
            return ("not", self._level(level)) if self._take("!") else self._level(level + 1)
        if signs == ("=",):
            return self._assigned(level)
        left = self._level(level + 1)
        if signs == ("^",):
            return ("^", left, self._level(level)) if self._take("^") else left
        while sign := self._take(*signs):
            left = (sign, left, self._level(level + 1))
        return left

    def _assigned(self, level: int) -> Any:
        left = self._level(level + 1)
        if left[0] in ("var", "item") and self._is("=", "+=", "-=", "*=", "/=", "%=", "^="):
            sign = self.tokens[self.at][1]
            self.at += 1
            right = self._assigned(level)
            return ("set", left, right if sign == "=" else (sign[0], left, right))
        return left

    def _atom(self) -> Any:
        node: Any
        if sign := self._take("-", "++", "--"):
            inner = self._atom()
            if sign == "-":
                return ("-", ("number", "0"), ("^", inner, self._level(7)) if self._take("^") else inner)
            return ("step", inner, sign[0], True)
        if self._take("("):
            node = self.expression()
            self._need(")")
            return ("value", node)
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind not in ("number", "name"):
            raise _Wrong
        self.at += 1
        node = ("number", token)
        if kind == "name":
            node = ("var", token)
            if self._take("("):
                given = []
                while not self._take(")"):
                    given.append(self.expression())
                    if not self._is(")"):
                        self._need(",")
                node = ("call", token, given)
            elif self._take("["):
                node = ("item", token, self.expression())
                self._need("]")
        if sign := self._take("++", "--"):
            return ("step", node, sign[0], False)
        return node


class _Machine:
    """Variables, and what is printed."""

    def __init__(self, scale: int) -> None:
        self.variables: dict[str, Number] = {"scale": (scale, 0), "ibase": (10, 0), "obase": (10, 0), "last": (0, 0)}
        self.arrays: dict[str, dict[int, Number]] = {}
        self.functions: dict[str, Any] = {}
        self.library = scale > 0
        self.out: list[str] = []
        self.size = self.steps = self.depth = 0

    @property
    def scale(self) -> int:
        """Digits after the point."""
        return min(self.variables["scale"][0], _MOST_SCALE)

    def _say(self, text: str) -> None:
        self.out.append(text)
        self.size += len(text)
        if self.size > ROOM:
            raise Exhausted

    def _count(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise Exhausted

    def execute(self, node: Any) -> None:
        """One statement."""
        self._count()
        kind = node[0]
        if kind == "show":
            value = self.value(node[1])
            self.variables["last"] = value
            self._say(in_base(value, self.variables["obase"][0]) + "\n")
        elif kind == "quiet":
            self.value(node[1])
        elif kind == "text":
            self._say(node[1])
        elif kind == "block":
            for each in node[1]:
                self.execute(each)
        elif kind == "if":
            chosen = node[2] if self.value(node[1])[0] else node[3]
            if chosen is not None:
                self.execute(chosen)
        elif kind == "for":
            self._loop(node)
        elif kind == "print":
            for what, part in node[1]:
                plain = (
                    re.sub(r"\\([nt\\])", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), part)
                    if what == "text"
                    else ""
                )
                self._say(plain if what == "text" else in_base(self.value(part), self.variables["obase"][0]))
        elif kind == "define":
            self.functions[node[1]] = node[2:]
        elif kind == "return":
            raise _Left("return", (0, 0) if node[1] is None else self.value(node[1]))
        else:
            raise _Left(node[1])

    def _loop(self, node: Any) -> None:
        _, first, test, after, body = node
        if first is not None:
            self.value(first)
        while test is None or self.value(test)[0]:
            self._count()
            try:
                self.execute(body)
            except _Left as left:
                if left.kind == "break":
                    return
                if left.kind != "continue":
                    raise
            if after is not None:
                self.value(after)

    def value(self, node: Any) -> Number:
        """The value of an expression. Raises ZeroDivisionError."""
        self._count()
        kind = node[0]
        if kind == "number":
            return read(node[1], self.variables["ibase"][0])
        if kind in ("var", "item"):
            return self._held(node)
        if kind == "value":
            return self.value(node[1])
        if kind == "set":
            return self._set(node[1], self.value(node[2]))
        if kind == "step":
            before = self._held(node[1])
            after = self._set(node[1], _sum(before, (1 if node[2] == "+" else -1, 0)))
            return after if node[3] else before
        if kind == "not":
            return int(not self.value(node[1])[0]), 0
        if kind == "call":
            return self._called(node[1], node[2])
        left, right = self.value(node[1]), self.value(node[2])
        if kind in ("+", "-"):
            return _sum(left, right if kind == "+" else (-right[0], right[1]))
        if kind == "*":
            return multiplied(left, right, self.scale)
        if kind == "/":
            return divided(left, right, self.scale)
        if kind == "%":
            return rest_of(left, right, self.scale)
        if kind == "^":
            return raised(left, right, self.scale)
        if kind in ("&&", "||"):
            return int(bool(left[0]) and bool(right[0]) if kind == "&&" else bool(left[0]) or bool(right[0])), 0
        below = _sum(left, (-right[0], right[1]))[0]
        return int({"<": below < 0, ">": below > 0, "<=": below <= 0, ">=": below >= 0, "==": below == 0}.get(
            kind, below != 0)), 0  # fmt: skip

    def _held(self, node: Any) -> Number:
        if node[0] == "var":
            return self.variables.get(node[1], (0, 0))
        if node[0] != "item":
            raise _Wrong
        return self.arrays.get(node[1], {}).get(_whole(self.value(node[2])), (0, 0))

    def _set(self, node: Any, value: Number) -> Number:
        if node[0] == "item":
            self.arrays.setdefault(node[1], {})[_whole(self.value(node[2]))] = value
            return value
        if node[0] != "var":
            raise _Wrong
        name = node[1]
        if name in ("scale", "ibase", "obase"):
            most = {"scale": 2**31, "ibase": 16, "obase": 999}[name]
            value = (min(max(_whole(value), 0 if name == "scale" else 2), most), 0)
        self.variables[name] = value
        return value

    def _called(self, name: str, given: list[Any]) -> Number:
        values = [self.value(one) for one in given]
        if name in self.functions:
            return self._run(name, values)
        if len(values) != 1:
            raise _Wrong
        if name == "sqrt":
            return root(values[0], self.scale)
        if name == "length":
            return max(1, len(str(abs(values[0][0]))), values[0][1]), 0
        if name == "scale":
            return values[0][1], 0
        if not self.library or name not in ("l", "e", "s", "c", "a"):
            raise _Wrong
        return _library(name, values[0], self.scale)

    def _run(self, name: str, values: list[Number]) -> Number:
        parameters, hidden, body = self.functions[name]
        if len(parameters) != len(values):
            raise _Wrong
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise Exhausted
        before = {one: self.variables.get(one) for one in (*parameters, *hidden)}
        self.variables.update(zip(parameters, values, strict=True))
        self.variables.update(dict.fromkeys(hidden, (0, 0)))
        try:
            for each in body:
                self.execute(each)
        except _Left as left:
            if left.kind != "return":
                raise
            return left.value
        finally:
            self.depth -= 1
            for one, value in before.items():
                if value is None:
                    self.variables.pop(one, None)
                else:
                    self.variables[one] = value
        return 0, 0


def _sum(left: Number, right: Number) -> Number:
    wide = max(left[1], right[1])
    return left[0] * 10 ** (wide - left[1]) + right[0] * 10 ** (wide - right[1]), wide


def _whole(value: Number) -> int:
    return int(abs(value[0]) // 10 ** value[1]) * (1 if value[0] >= 0 else -1)


def _library(name: str, value: Number, scale: int) -> Number:
    """Logarithm, exponential, sine, cosine, arctangent with so many digits."""
    if scale > 200:
        raise Exhausted
    context = Context(prec=scale + 30)
    x = context.divide(Decimal(value[0]), context.power(Decimal(10), Decimal(value[1])))
    if name == "l":
        found = context.ln(x) if x > 0 else Decimal(1 - 10**scale)
    elif name == "e":
        if x > 5000:
            raise Exhausted
        found = context.exp(x)
    elif name == "a":
        found = _arctangent(x, context)
    else:
        found = _sine(x, context, cosine=name == "c")
    return int(context.scaleb(found, scale).to_integral_value(ROUND_DOWN)), scale


def _sine(x: Decimal, context: Context, *, cosine: bool) -> Decimal:
    circle = context.multiply(Decimal(8), _arctangent(Decimal(1), context))
    x = context.remainder(x, circle)
    term, at, total = (Decimal(1), 0, Decimal(1)) if cosine else (x, 1, x)
    square = context.multiply(x, x)
    while abs(term) > context.scaleb(Decimal(1), -context.prec):
        term = context.divide(context.multiply(-term, square), Decimal((at + 1) * (at + 2)))
        at += 2
        total = context.add(total, term)
    return total


def _arctangent(x: Decimal, context: Context) -> Decimal:
    """Halved until its series is short: atan x = 2 atan(x / (1 + sqrt(1 + x^2)))."""
    times = 1
    while abs(x) > Decimal("0.1"):
        x = context.divide(x, context.add(Decimal(1), context.sqrt(context.add(Decimal(1), context.multiply(x, x)))))
        times *= 2
    square, power, at, total = context.multiply(x, x), x, 1, x
    while abs(power) > context.scaleb(Decimal(1), -context.prec):
        power = context.multiply(-power, square)
        at += 2
        total = context.add(total, context.divide(power, Decimal(at)))
    return context.multiply(total, Decimal(times))
