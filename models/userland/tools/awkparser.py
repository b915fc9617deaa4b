"""The grammar of awk: a program becomes a tree of plain tuples. Source: POSIX awk, mawk 1.3.4 and BusyBox 1.35."""

from __future__ import annotations

import re
from typing import Any

from simcluster.models.userland.escapes import unescaped
from simcluster.models.userland.tools.tokens import Tokens

Node = tuple[Any, ...]

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|0[xX][0-9a-fA-F]+)|(?P<name>[A-Za-z_]\w*)"
    r'|(?P<string>"(?:\\.|[^"\\])*")|(?P<newline>\n|;)'
    r"|(?P<op>\*\*=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|\^=|==|!=|<=|>=|>>|!~|\*\*|[-+*/%^!<>|?:~$=,(){}\[\]])",
    re.DOTALL | re.ASCII,
)
_KEYWORDS = frozenset(
    [
        "BEGIN",
        "END",
        "function",
        "func",
        "if",
        "else",
        "while",
        "for",
        "do",
        "break",
        "continue",
        "next",
        "nextfile",
        "exit",
        "return",
        "delete",
        "in",
        "getline",
        "print",
        "printf",
    ]
)
FUNCTIONS = frozenset(
    [
        "length",
        "substr",
        "index",
        "split",
        "sub",
        "gsub",
        "match",
        "sprintf",
        "sin",
        "cos",
        "atan2",
        "exp",
        "log",
        "sqrt",
        "int",
        "rand",
        "srand",
        "tolower",
        "toupper",
        "system",
        "close",
        "fflush",
        "gensub",
        "strftime",
        "systime",
        "mktime",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
        "compl",
        "asort",
        "asorti",
    ]
)
_DEPTH_MAX = 60


class AwkError(Exception):
    """The program cannot be parsed or run; the text comes after the program's name."""


class Parser(Tokens):
    """Reads a program."""

    fixed = ("op", "key", "newline")

    def __init__(self, text: str) -> None:
        self.line = 1
        self.functions: dict[str, tuple[list[str], Node]] = {}
        self.no_in = False
        self.no_gt = False
        super().__init__(text)

    # Tokens.

    def _advance(self, *, regex: bool = False) -> None:
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char in " \t\r":
                self.at += 1
            elif text.startswith("\\\n", self.at):
                self.at += 2
                self.line += 1
            elif char == "#":
                stop = text.find("\n", self.at)
                self.at = len(text) if stop < 0 else stop
            else:
                break
        if self.at >= len(text):
            self.kind, self.value = "eof", ""
            return
        match = _TOKEN.match(text, self.at)
        if match is None:
            raise self._fail(text[self.at])
        self.at = match.end()
        self.kind, self.value = str(match.lastgroup), match[0]
        if self.kind == "name" and self.value in _KEYWORDS:
            self.kind = "key"
        self.line += match[0].count("\n")

    def _fail(self, near: str = "") -> AwkError:
        return AwkError(f"line {self.line}: syntax error at or near {near or self.value or 'end of file'}")

    def _newlines(self) -> None:
        while self.kind == "newline":
            self._advance()

    def _blank_lines(self) -> None:
        while self.kind == "newline" and self.value == "\n":
            self._advance()

    # Program.

    def program(self) -> list[tuple[str, Any, Node | None]]:
        """Rules: (kind, pattern, action). Raises AwkError."""
        rules: list[tuple[str, Any, Node | None]] = []
        self._newlines()
        while self.kind != "eof":
            if self._take("function", "func"):
                self._function()
            elif self._is("BEGIN", "END"):
                kind = self.value
                self._advance()
                rules.append((kind, None, self._block()))
            elif self._is("{"):
                rules.append(("rule", None, self._block()))
            else:
                pattern = self._expression()
                last = None
                if self._take(","):
                    self._blank_lines()
                    last = self._expression()
                action = self._block() if self._is("{") else None
                rules.append(("range" if last else "rule", (pattern, last) if last else pattern, action))
            self._newlines()
        return rules

    def _function(self) -> None:
        name = self.value
        self._advance()
        self._expect("(")
        names: list[str] = []
        while not self._is(")"):
            names.append(self.value)
            self._advance()
            self._take(",")
            self._blank_lines()
        self._expect(")")
        self._newlines()
        self.functions[name] = (names, self._block())

    def _block(self) -> Node:
        if not self._is("{"):
            raise self._fail()
        self._advance()
        body: list[Node] = []
        self._newlines()
        while not self._is("}"):
            if self.kind == "eof":
                raise self._fail()
            body.append(self._statement())
            self._newlines()
        self._advance()
        return ("block", body)

    def _simple_or_block(self) -> Node:
        self._blank_lines()
        if self._take(";"):
            return ("block", [])
        return self._statement()

    def _statement(self) -> Node:
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise AwkError("program too deeply nested")
        node = self._one_statement()
        self.depth -= 1
        return node

    def _one_statement(self) -> Node:
        if self._is("{"):
            return self._block()
        if self._take("if"):
            self._expect("(")
            test = self._expression()
            self._expect(")")
            yes = self._simple_or_block()
            place = (self.at, self.kind, self.value, self.line)
            self._newlines()
            if self._take("else"):
                return ("if", test, yes, self._simple_or_block())
            self.at, self.kind, self.value, self.line = place
            return ("if", test, yes, None)
        if self._take("while"):
            self._expect("(")
            test = self._expression()
            self._expect(")")
            return ("while", test, ("block", []) if self._take(";") else self._simple_or_block())
        if self._take("do"):
            body = self._simple_or_block()
            self._newlines()
            self._expect("while")
            self._expect("(")
            test = self._expression()
            self._expect(")")
            return ("do", body, test)
        if self._take("for"):
            return self._for()
        node = self._simple()
        if not self._is("}") and self.kind not in ("newline", "eof"):
            raise self._fail()
        return node

    def _for(self) -> Node:
        self._expect("(")
        if self.kind == "name":
            place = (self.at, self.kind, self.value, self.line)
            name = self.value
            self._advance()
            if self._take("in") and self.kind == "name":
                array = self.value
                self._advance()
                if self._take(")"):
                    return ("forin", name, array, self._simple_or_block())
            self.at, self.kind, self.value, self.line = place
        first = None if self._is(";") else self._simple()
        self._expect(";")
        self._blank_lines()
        test = None if self._is(";") else self._expression()
        self._expect(";")
        self._blank_lines()
        step = None if self._is(")") else self._simple()
        self._expect(")")
        return ("for", first, test, step, self._simple_or_block())

    def _simple(self) -> Node:
        if self._is("print", "printf"):
            return self._print()
        for word in ("break", "continue", "next", "nextfile"):
            if self._take(word):
                return (word,)
        if self._is("exit", "return"):
            word = self.value
            self._advance()
            return (word, None if self.kind in ("newline", "eof") or self._is("}") else self._expression())
        if self._take("delete"):
            name = self.value
            self._advance()
            if self._take("["):
                keys = self._list("]")
                return ("delete", name, keys)
            return ("delete", name, None)
        return ("do_expr", self._expression())

    def _print(self) -> Node:
        word = self.value
        self._advance()
        values: list[Node] = []
        self.no_gt = True
        if not (self.kind in ("newline", "eof") or self._is("}", ">", ">>", "|")):
            if self._is("("):
                place = (self.at, self.kind, self.value, self.line)
                self._advance()
                self.no_gt = False
                values = self._list(")")
                self.no_gt = True
                if not (self.kind in ("newline", "eof") or self._is("}", ">", ">>", "|")):
                    # The parentheses were the beginning of an expression.
                    self.at, self.kind, self.value, self.line = place
                    values = [self._expression()]
                    while self._take(","):
                        self._blank_lines()
                        values.append(self._expression())
            else:
                values = [self._expression()]
                while self._take(","):
                    self._blank_lines()
                    values.append(self._expression())
        self.no_gt = False
        target = None
        if self._is(">", ">>", "|"):
            sign = self.value
            self._advance()
            self.no_gt = True
            target = (sign, self._choice(self._concatenation()))
            self.no_gt = False
        return (word, values, target)

    def _list(self, closer: str) -> list[Node]:
        values: list[Node] = []
        self._blank_lines()
        while not self._is(closer):
            values.append(self._expression())
            self._blank_lines()
            if not self._take(","):
                break
            self._blank_lines()
        self._expect(closer)
        return values

    # Expressions, by rising precedence.

    def _expression(self) -> Node:
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise AwkError("expression too deeply nested")
        node = self._ternary()
        if self._is("=", "+=", "-=", "*=", "/=", "%=", "^=", "**=") and node[0] in ("var", "field", "item"):
            operator = self.value
            self._advance()
            self._blank_lines()
            node = ("assign", operator[:-1], node, self._expression())
        self.depth -= 1
        return node

    def _ternary(self) -> Node:
        return self._choice(self._or())

    def _choice(self, test: Node) -> Node:
        """`? :` after a condition, if it follows."""
        if not self._is("?"):
            return test
        self._advance()
        self._blank_lines()
        yes = self._expression()
        self._blank_lines()
        self._expect(":")
        self._blank_lines()
        return ("cond", test, yes, self._expression())

    def _or(self) -> Node:
        node = self._and()
        while self._take("||"):
            self._blank_lines()
            node = ("or", node, self._and())
        return node

    def _and(self) -> Node:
        node = self._membership()
        while self._take("&&"):
            self._blank_lines()
            node = ("and", node, self._membership())
        return node

    def _membership(self) -> Node:
        node = self._matching()
        while self._is("in") and not self.no_in:
            self._advance()
            node = ("in", node[1] if node[0] == "grouping" else [node], self.value)
            self._advance()
        return node

    def _matching(self) -> Node:
        node = self._comparison()
        while self._is("~", "!~"):
            operator = self.value
            self._advance()
            node = ("match", operator == "!~", node, self._comparison())
        return node

    def _comparison(self) -> Node:
        node = self._concatenation()
        if self._is("<", "<=", "==", "!=", ">=") or (self._is(">") and not self.no_gt):
            operator = self.value
            self._advance()
            return ("compare", operator, node, self._concatenation())
        if self._is("|") and not self.no_gt:
            self._advance()
            if not self._take("getline"):
                raise self._fail()
            return ("getline", "|", node, self._target())
        return node

    def _concatenation(self) -> Node:
        node = self._sum()
        while self.kind in ("number", "string", "name") or self._is("$", "!", "(", "-", "+", "++", "--"):
            if self._is("in") or (self._is("-", "+")):
                break
            node = ("concat", node, self._sum())
        while self._is("|") and self.text[self.at :].lstrip().startswith("getline"):
            self._advance()
            self._advance()
            node = ("getline", "|", node, self._target())
        return node

    def _sum(self) -> Node:
        node = self._product()
        while self._is("+", "-"):
            operator = self.value
            self._advance()
            node = ("binary", operator, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._unary()
        while self._is("*", "/", "%"):
            operator = self.value
            self._advance()
            node = ("binary", operator, node, self._unary())
        return node

    def _unary(self) -> Node:
        if self._is("!", "-", "+"):
            operator = self.value
            self._advance()
            self.depth += 1
            if self.depth > _DEPTH_MAX:
                raise AwkError("expression too deeply nested")
            node = ("unary", operator, self._unary())
            self.depth -= 1
            return node
        return self._power()

    def _power(self) -> Node:
        node = self._postfix()
        if self._is("^", "**"):
            self._advance()
            return ("binary", "^", node, self._unary())
        return node

    def _postfix(self) -> Node:
        if self._is("++", "--"):
            operator = self.value
            self._advance()
            return ("step", operator, True, self._postfix())
        node = self._primary()
        if node[0] in ("var", "field", "item") and self._is("++", "--"):
            operator = self.value
            self._advance()
            return ("step", operator, False, node)
        return node

    def _target(self) -> Node | None:
        """Where `getline` puts the line."""
        if self._is("$"):
            return self._primary()
        if self.kind == "name" and self.value not in FUNCTIONS and self.value not in self.functions:
            return self._primary()
        return None

    def _primary(self) -> Node:
        kind, value = self.kind, self.value
        if kind == "number":
            self._advance()
            return ("num", float(int(value, 16)) if value[:2] in ("0x", "0X") else float(value))
        if kind == "string":
            self._advance()
            return ("str", unescaped(value[1:-1].replace("\\/", "/")))
        if self._is("/", "/="):
            return self._regex()
        if self._take("$"):
            if self._is("++", "--"):
                return ("field", self._postfix())
            return ("field", ("unary", "-", self._primary()) if self._take("-") else self._primary())
        if self._take("("):
            kept, self.no_gt, self.no_in = (self.no_gt, self.no_in), False, False
            values = self._list(")")
            self.no_gt, self.no_in = kept
            if len(values) == 1:
                return ("group", values[0])
            return ("grouping", values)
        if self._take("getline"):
            target = self._target()
            if self._take("<"):
                return ("getline", "<", self._primary(), target)
            return ("getline", "", None, target)
        if self._is("-", "+", "!"):
            return self._unary()
        if kind == "name":
            return self._named(value)
        raise self._fail()

    def _named(self, name: str) -> Node:
        tight = self.text.startswith("(", self.at)
        self._advance()
        if name in FUNCTIONS:
            if self._take("("):
                kept, self.no_gt = self.no_gt, False
                args = self._list(")")
                self.no_gt = kept
                return ("call", name, args)
            if name == "length":
                return ("call", name, [])
            raise self._fail()
        if tight:
            self._advance()
            return ("user", name, self._list(")"))
        if self._take("["):
            return ("item", name, self._list("]"))
        return ("var", name)

    def _regex(self) -> Node:
        """A pattern between slashes; the first one is taken."""
        start, bracket = self.at - (len(self.value) - 1), False
        at = start
        while at < len(self.text) and (self.text[at] != "/" or bracket):
            if self.text[at] == "\n":
                raise AwkError(f"line {self.line}: regular expression compile failed (missing operand)")
            if self.text[at] == "\\":
                at += 1
            elif self.text[at] == "[" and "]" in self.text[at + 2 :].partition("\n")[0]:
                bracket = True
            elif self.text[at] == "]":
                bracket = False
            at += 1
        if at >= len(self.text):
            raise AwkError(f"line {self.line}: runaway regular expression /{self.text[start : start + 20]} ...")
        self.at = at + 1
        self._advance()
        return ("regex", self.text[start:at].replace("\\/", "/"))
