"""A small awk: `pattern { print expressions }`, several rules, BEGIN and END.

Patterns: `/re/`, `!/re/`, comparisons (`$3 == "x"`, `NR > 1`, `$1 ~ /re/`), joined by && and
||. Expressions: fields, NR, NF, numbers, strings, variables with `+=`, `-=`, `=`, `++`, sums.
Left out: functions, arrays, control flow, printf beyond %s and %d.
"""

from __future__ import annotations

import re
from typing import Any

from simcluster.surface.nodeshell.regex import RegexError, compile_pattern

_TOKEN = re.compile(
    r"""\s*(?:(/(?:\\.|[^/\\])*/)|("(?:\\.|[^"\\])*")|(\d+(?:\.\d+)?)|([A-Za-z_]\w*)"""
    r"""|(==|!=|<=|>=|&&|\|\||\+\+|--|\+=|-=|!~|[$(),;<>=~+*/%!-]))"""
)


class AwkError(Exception):
    """The program cannot be parsed or run."""


class _Rule:
    """A pattern and statements; no statements means `print`."""

    def __init__(self, pattern: str, action: str | None) -> None:
        self.pattern = pattern.strip()
        self.action = action


def run_awk(program: str, lines: list[str], separator: str | None) -> str:
    """What the program prints for these lines. Raises AwkError."""
    rules = _rules(program)
    machine = _Machine(separator)
    machine.special(rules, "BEGIN")
    for line in lines:
        machine.read(line)
        for rule in rules:
            if rule.pattern not in ("BEGIN", "END") and machine.matches(rule.pattern):
                machine.execute(rule.action)
    machine.special(rules, "END")
    return "".join(machine.output)


def _rules(program: str) -> list[_Rule]:
    rules: list[_Rule] = []
    rest = program.strip()
    while rest:
        brace = _outside(rest, "{")
        if brace < 0:
            rules.append(_Rule(rest, None))
            break
        end = _outside(rest, "}", brace)
        if end < 0:
            raise AwkError("syntax error at source line 1")
        rules.append(_Rule(rest[:brace], rest[brace + 1 : end]))
        rest = rest[end + 1 :].strip().lstrip(";").strip()
    return rules


def _outside(text: str, wanted: str, start: int = 0) -> int:
    """Position of a character outside of strings and patterns; -1 if there is none."""
    quote = ""
    for i in range(start, len(text)):
        c = text[i]
        if quote:
            quote = "" if c == quote and text[i - 1] != "\\" else quote
        elif c == '"' or (c == "/" and text[:i].rstrip()[-1:] in ("", "(", "~", "!", "&", "|", ";", "{", "}")):
            quote = c
        elif c == wanted:
            return i
    return -1


class _Machine:
    """Fields, variables and output."""

    def __init__(self, separator: str | None) -> None:
        self.separator = {"\\t": "\t"}.get(separator or "", separator)
        self.variables: dict[str, Any] = {"NR": 0, "NF": 0, "OFS": " ", "FS": " "}
        self.line = ""
        self.fields: list[str] = []
        self.output: list[str] = []
        self.tokens: list[str] = []

    def read(self, line: str) -> None:
        """Take the next line."""
        self.line = line
        if self.separator in (None, " "):
            self.fields = line.split()
        elif self.separator is not None and len(self.separator) > 1:
            self.fields = re.split(self.separator, line)
        else:
            self.fields = line.split(self.separator)
        self.variables["NR"] += 1
        self.variables["NF"] = len(self.fields)

    def special(self, rules: list[_Rule], name: str) -> None:
        """Run the BEGIN or END rules."""
        for rule in rules:
            if rule.pattern == name:
                self.execute(rule.action)

    def matches(self, pattern: str) -> bool:
        """Whether the present line fits a pattern."""
        if not pattern:
            return True
        self.tokens = _tokenize(pattern)
        return _truth(self._or())

    def execute(self, action: str | None) -> None:
        """Run statements."""
        if action is None:
            self.output.append(self.line + "\n")
            return
        for statement in _statements(action):
            self._statement(statement)

    def _statement(self, statement: str) -> None:
        word = re.match(r"(print|printf)\b", statement)
        if word is None:
            self.tokens = _tokenize(statement)
            self._or()
            return
        values = []
        rest = statement[word.end() :].strip()
        if rest.startswith("(") and rest.endswith(")"):
            rest = rest[1:-1]
        self.tokens = _tokenize(rest)
        while self.tokens:
            values.append(_text(self._concatenation()))
            if self.tokens and self.tokens[0] == ",":
                self.tokens.pop(0)
            elif self.tokens:
                raise AwkError("syntax error at source line 1")
        if word[1] == "printf":
            self.output.append(_printf(values))
        else:
            self.output.append((str(self.variables["OFS"]).join(values) if values else self.line) + "\n")

    # Expressions, by falling precedence.

    def _or(self) -> Any:
        value = self._and()
        while self.tokens[:1] == ["||"]:
            self.tokens.pop(0)
            other = self._and()
            value = _truth(value) or _truth(other)
        return value

    def _and(self) -> Any:
        value = self._comparison()
        while self.tokens[:1] == ["&&"]:
            self.tokens.pop(0)
            other = self._comparison()
            value = _truth(value) and _truth(other)
        return value

    def _comparison(self) -> Any:
        left = self._concatenation()
        if not self.tokens or self.tokens[0] not in ("==", "!=", "<", "<=", ">", ">=", "~", "!~"):
            return left
        operator = self.tokens.pop(0)
        if operator in ("~", "!~"):
            found = _pattern(self.tokens.pop(0)).search(_text(left)) is not None
            return found == (operator == "~")
        right = self._concatenation()
        a, b = _number(left), _number(right)
        x, y = (a, b) if a is not None and b is not None else (_text(left), _text(right))
        return _compare(operator, x, y)

    def _concatenation(self) -> Any:
        value = self._sum()
        while self.tokens and (self.tokens[0][0] in '"$(' or self.tokens[0][0].isalnum() or self.tokens[0][0] == "_"):
            value = _text(value) + _text(self._sum())
        return value

    def _sum(self) -> Any:
        value = self._product()
        while self.tokens and self.tokens[0] in ("+", "-"):
            operator = self.tokens.pop(0)
            a, b = _number(value) or 0, _number(self._product()) or 0
            value = a + b if operator == "+" else a - b
        return value

    def _product(self) -> Any:
        value = self._operand()
        while self.tokens and self.tokens[0] in ("*", "/", "%"):
            operator = self.tokens.pop(0)
            a, b = _number(value) or 0, _number(self._operand()) or 0
            if operator != "*" and b == 0:
                raise AwkError("division by zero")
            value = a * b if operator == "*" else a / b if operator == "/" else a % b
        return value

    def _operand(self) -> Any:
        if not self.tokens:
            raise AwkError("syntax error at source line 1")
        token = self.tokens.pop(0)
        if token == "(":
            value = self._or()
            if self.tokens[:1] != [")"]:
                raise AwkError("syntax error at source line 1")
            self.tokens.pop(0)
            return value
        if token == "!":
            return not _truth(self._operand())
        if token == "-":
            return -(_number(self._operand()) or 0)
        if token == "$":
            return self._field(int(_number(self._operand()) or 0))
        if token.startswith('"'):
            return token[1:-1].replace("\\t", "\t").replace("\\n", "\n").replace('\\"', '"')
        if token.startswith("/"):
            return _pattern(token).search(self.line) is not None
        if token[0].isdigit():
            return float(token) if "." in token else int(token)
        return self._variable(token)

    def _field(self, number: int) -> str:
        if number == 0:
            return self.line
        return self.fields[number - 1] if number <= len(self.fields) else ""

    def _variable(self, name: str) -> Any:
        before = self.variables.get(name, "")
        operator = self.tokens[0] if self.tokens else ""
        if operator in ("++", "--"):
            self.tokens.pop(0)
            self.variables[name] = (_number(before) or 0) + (1 if operator == "++" else -1)
            return before
        if operator in ("=", "+=", "-="):
            self.tokens.pop(0)
            value = self._or()
            if operator != "=":
                change = _number(value) or 0
                value = (_number(before) or 0) + (change if operator == "+=" else -change)
            self.variables[name] = value
            return value
        return before


def _tokenize(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise AwkError("syntax error at source line 1")
        token = next(group for group in match.groups() if group is not None)
        # A slash after an operand divides; it does not open a pattern.
        if token.startswith("/") and len(token) > 1 and tokens and (tokens[-1][-1].isalnum() or tokens[-1] == ")"):
            token = "/"
            position = match.start(1) + 1
        else:
            position = match.end()
        tokens.append(token)
    return tokens


def _statements(action: str) -> list[str]:
    found, rest = [], action.replace("\n", ";")
    while rest:
        end = _outside(rest, ";")
        found.append(rest if end < 0 else rest[:end])
        rest = "" if end < 0 else rest[end + 1 :]
    return [statement.strip() for statement in found if statement.strip()]


def _pattern(token: str) -> re.Pattern[str]:
    try:
        return compile_pattern(token[1:-1].replace("\\/", "/"), "E")
    except RegexError as error:
        raise AwkError(str(error)) from None


def _compare(operator: str, a: Any, b: Any) -> bool:
    return bool({"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator])


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    match = re.fullmatch(r"\s*([-+]?\d+(?:\.\d+)?)\s*", value)
    if match is None:
        return None if value else 0
    return float(match[1]) if "." in match[1] else int(match[1])


def _truth(value: Any) -> bool:
    return value not in ("", 0, False)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.6g}"
    return str(value)


def _printf(values: list[str]) -> str:
    if not values:
        raise AwkError("syntax error at source line 1")
    form, *rest = values
    pieces = re.split(r"(%-?\d*(?:\.\d+)?[sdfi])", form)
    for i in range(1, len(pieces), 2):
        value = rest.pop(0) if rest else ""
        spec = pieces[i][1:-1]
        if pieces[i][-1] in "di":
            value = str(int(_number(value) or 0))
        elif pieces[i][-1] == "f":
            digits = spec.partition(".")[2]
            value = f"{float(_number(value) or 0):.{digits or 6}f}"
        width = spec.partition(".")[0]
        pieces[i] = value.ljust(int(width[1:])) if width.startswith("-") else value.rjust(int(width or 0))
    return "".join(pieces)
