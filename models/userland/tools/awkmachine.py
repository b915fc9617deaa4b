"""The state of a running awk program: variables, fields, records, output."""

from __future__ import annotations

import math
import re
from typing import Any

from simcluster.engine.streams import mix
from simcluster.models.userland.formats import floating
from simcluster.models.userland.outcome import ROOM, Exhausted, fitting
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call
from simcluster.models.userland.regex import compile_pattern
from simcluster.models.userland.tools.awkfunctions import called
from simcluster.models.userland.tools.awkparser import AwkError, Node
from simcluster.models.userland.tools.awkprinting import printed
from simcluster.models.userland.tools.awkvalues import Field, controls, indexes, looks_numeric, number, raised

#: Steps of one program, and functions that may call each other.
STEPS_MAX, CALLS_MAX = 400_000, 100
#: Files that one process may have open (RLIMIT_NOFILE, without the standard three).
_FILES_MAX = 1021


class _Leave(Exception):
    """break, continue, next, exit, return: control flow of the program."""

    def __init__(self, kind: str, value: Any = None) -> None:
        super().__init__(kind)
        self.kind, self.value = kind, value


class Machine:
    """Runs the rules of a program."""

    def __init__(self, call: Call, rules: list[tuple[str, Any, Node | None]], functions: dict[str, Any]) -> None:
        self.call = call
        self.rules = rules
        self.functions = functions
        self.variables: dict[str, Any] = {
            "FS": " ",
            "OFS": " ",
            "ORS": "\n",
            "RS": "\n",
            "NR": 0.0,
            "NF": 0.0,
            "FNR": 0.0,
            "SUBSEP": "\x1c",
            "RSTART": 0.0,
            "RLENGTH": -1.0,
            "CONVFMT": "%.6g",
            "OFMT": "%.6g",
            "FILENAME": "",
        }
        self.arrays: dict[str, dict[str, Any]] = {"ENVIRON": {name: Field(value) for name, value in call.env.items()}}
        self.locals: list[dict[str, Any]] = []
        self.record = ""
        self.fields: list[Any] | None = []
        self.out: list[str] = []
        self.errors: list[str] = []
        self.size = 0
        self.files: dict[str, list[str]] = {}
        self.commands: list[tuple[int, str, str]] = []
        self.piped: dict[str, tuple[int, list[str]]] = {}
        self.readers: dict[str, list[str]] = {}
        self.ranges: dict[int, bool] = {}
        self.steps = 0
        self.seed, self.draws = 0, 0
        self.waiting: list[str] = []  # records of the present file, last first
        self.names: list[str] = []

    # The run.

    def run(self, words: list[str]) -> int:
        """Run all rules; the exit status. Raises AwkError."""
        self.names = list(words)
        self.arrays["ARGV"] = {str(at): Field(word) for at, word in enumerate(["awk", *words])}
        self.variables["ARGC"] = float(len(words) + 1)
        self.used = not any("=" not in word for word in words)
        code = 0.0
        try:
            self._special("BEGIN")
            if any(kind != "BEGIN" for kind, _, _ in self.rules):
                while (record := self.next_record()) is not None:
                    self.set_record(record)
                    self._record()
        except _Leave as leave:
            code = number(leave.value) if leave.value is not None else 0.0
        try:
            self._special("END")
        except _Leave as leave:
            code = number(leave.value) if leave.value is not None else code
        for command, (place, texts) in self.piped.items():
            self.commands.append((place, command, "".join(texts)))
        for path, texts in self.files.items():
            self.save(path, "".join(texts))
        return int(code) & 255

    def save(self, path: str, text: str) -> None:
        """Write a file, whose name begins with a sign: `+` if the text is put after what it holds."""
        append = path[:1] == "+"
        try:
            self.call.files.write(self.call.resolved(path[1:]), text, append=append)
        except FileError as problem:
            raise AwkError(f'cannot open "{path[1:]}" for output ({problem})') from None

    def output(self) -> tuple[str, str]:
        """Standard output and standard error."""
        return "".join(self.out), "".join(self.errors)

    def _special(self, name: str) -> None:
        for kind, _, action in self.rules:
            if kind == name and action is not None:
                self.execute(action)

    def _record(self) -> None:
        try:
            for at, (kind, pattern, action) in enumerate(self.rules):
                if kind in ("BEGIN", "END"):
                    continue
                if kind == "range":
                    taken = self._in_range(at, *pattern)
                else:
                    taken = pattern is None or self.true(self.value(pattern))
                if taken:
                    if action is None:
                        self.print(self.record + self.text(self.variables["ORS"]))
                    else:
                        self.execute(action)
        except _Leave as leave:
            if leave.kind not in ("next", "nextfile"):
                raise
            if leave.kind == "nextfile":
                self.waiting = []

    def _in_range(self, at: int, first: Node, last: Node) -> bool:
        if not self.ranges.get(at):
            if not self.true(self.value(first)):
                return False
            self.ranges[at] = True
        if self.true(self.value(last)):
            self.ranges[at] = False
        return True

    def next_record(self) -> str | None:
        """The next record of the files, with NR and FNR; None at their end."""
        while not self.waiting:
            if self.names:
                name = self.names.pop(0)
                head, equals, value = name.partition("=")
                if equals and re.fullmatch(r"[A-Za-z_]\w*", head):
                    self.assign_text(head, value)
                    continue
                try:
                    text = self.call.read(name)
                except FileError as problem:
                    if str(problem) == "Is a directory" and self.call.gnu:
                        continue
                    self.call.complain(f"cannot open {name} ({problem})" if self.call.gnu else f"{name}: {problem}")
                    continue
                self.variables["FILENAME"] = name
            elif self.used:
                self.used = False
                text = self.call.stdin()
            else:
                return None
            self.variables["FNR"] = 0.0
            self.waiting = self.records(text)[::-1]
        self.variables["NR"] = number(self.variables["NR"]) + 1
        self.variables["FNR"] = number(self.variables["FNR"]) + 1
        return self.waiting.pop()

    def records(self, text: str) -> list[str]:
        """A text cut into records."""
        separator = self.text(self.variables["RS"])
        if separator == "\n" or len(separator) == 1:
            found = text.split(separator)
        elif separator == "":
            found = re.split(r"\n\n+", text.strip("\n")) if text.strip("\n") else []
            return found
        else:
            found = self._split_regex(text, separator)
        if found and not found[-1].strip("\n" if separator != "\n" else ""):
            found.pop()
        return found

    def set_record(self, record: str) -> None:
        """A new `$0`."""
        self.record = record
        self.fields = None

    def _need_fields(self) -> list[Any]:
        if self.fields is None:
            self.fields = [Field(part) for part in self.split(self.record, self.text(self.variables["FS"]))]
            self.variables["NF"] = float(len(self.fields))
        return self.fields

    def split(self, text: str, separator: str) -> list[str]:
        """A text cut at a separator, as fields are."""
        if separator == " ":
            parts = text.split() if text.isascii() else re.split(r"[ \t\n]+", text.strip(" \t\n"))
            return [part for part in parts if part] if parts == [""] else parts
        if not text:
            return []
        if self.text(self.variables["RS"]) == "" and separator != "\n":
            separator = f"({separator})|\n" if len(separator) > 1 else f"[{separator}\n]"
        if separator == "":
            return list(text)
        if len(separator) == 1 and separator not in "\\" and separator != " ":
            return text.split(separator)
        return self._split_regex(text, separator)

    @staticmethod
    def _split_regex(text: str, separator: str) -> list[str]:
        pattern, found, at, start = compile_pattern(controls(separator), "E"), [], 0, 0
        while at <= len(text):
            match = pattern.search(text, at)
            if match is None:
                break
            if match.end == match.start:
                at = match.end + 1
                continue
            found.append(text[start : match.start])
            start = at = match.end
        return [*found, text[start:]]

    # Statements.

    def pay(self, steps: int = 1) -> None:
        """Work takes its time. Raises Exhausted."""
        self.steps += steps
        if self.steps > STEPS_MAX:
            raise Exhausted

    def execute(self, node: Node) -> None:
        """Run a statement."""
        self.pay()
        kind = node[0]
        if kind == "block":
            for each in node[1]:
                self.execute(each)
        elif kind == "do_expr":
            self.value(node[1])
        elif kind in ("print", "printf"):
            self._print(node)
        elif kind == "if":
            branch = node[2] if self.true(self.value(node[1])) else node[3]
            if branch is not None:
                self.execute(branch)
        elif kind in ("while", "do", "for"):
            self._loop(node)
        elif kind == "forin":
            self._each(node)
        elif kind == "delete":
            array = self.array(node[1])
            if node[2] is None:
                array.clear()
            else:
                array.pop(self.subscript(node[2]), None)
        elif kind in ("break", "continue", "next", "nextfile"):
            raise _Leave(kind)
        else:
            raise _Leave(kind, None if node[1] is None else self.value(node[1]))

    def _loop(self, node: Node) -> None:
        kind = node[0]
        if kind == "for":
            _, first, test, step, body = node
            if first is not None:
                self.execute(first)
        else:
            test, body, step = (node[1], node[2], None) if kind == "while" else (node[2], node[1], None)
        once = kind == "do"
        while once or test is None or self.true(self.value(test)):
            once = False
            self.pay()
            try:
                self.execute(body)
            except _Leave as leave:
                if leave.kind == "break":
                    break
                if leave.kind != "continue":
                    raise
            if step is not None:
                self.execute(step)

    def _each(self, node: Node) -> None:
        _, name, array, body = node
        for key in list(self.array(array)):
            if key not in self.array(array):
                continue
            self.set_variable(name, Field(key))
            try:
                self.execute(body)
            except _Leave as leave:
                if leave.kind == "break":
                    break
                if leave.kind != "continue":
                    raise

    def _print(self, node: Node) -> None:
        kind, nodes, target = node
        values = [self.value(each) for each in nodes]
        if kind == "printf":
            if not values:
                raise AwkError("not enough args in printf()")
            text = self.format(values)
        else:
            shown = [self.shown(value) for value in values]
            text = (self.text(self.variables["OFS"]).join(shown) if nodes else self.record) + self.text(
                self.variables["ORS"]
            )
        if target is None:
            self.print(text)
            return
        sign, name = target[0], self.text(self.value(target[1]))
        if sign == "|":
            self.piped.setdefault(name, (self.size, []))[1].append(text)
        elif name == "/dev/stderr":
            self.errors.append(text)
        elif name in ("/dev/stdout", "-"):
            self.print(text)
        elif name != "/dev/null":
            key = next(
                (each + name for each in "+>" if each + name in self.files), ("+" if sign == ">>" else ">") + name
            )
            if len(self.files) >= _FILES_MAX and key not in self.files:
                raise AwkError(f'cannot open "{name}" for output (Too many open files)')
            self.size += len(text)
            if self.size > 2 * ROOM:
                raise Exhausted
            self.files.setdefault(key, []).append(text)

    def print(self, text: str) -> None:
        """Print on standard output."""
        self.size += len(text)
        if self.size > 2 * ROOM:
            raise Exhausted
        self.out.append(text)

    def shown(self, value: Any) -> str:
        """A value as `print` writes it."""
        return self.text(value, "OFMT")

    # Values.

    def true(self, value: Any) -> bool:
        """The truth of a value."""
        return number(value) != 0 if looks_numeric(value) else value != ""

    def text(self, value: Any, form: str = "CONVFMT") -> str:
        """A value as text."""
        if not isinstance(value, float):
            return str(value)
        if value == int(value) if math.isfinite(value) else False:
            return str(int(value)) if abs(value) < 2**63 else floating(value, "", 0, 6, "g")
        if not math.isfinite(value):
            return floating(value, "", 0, 6, "g")
        return self.format([self.variables[form], value])

    def format(self, values: list[Any]) -> str:
        """`sprintf`. Raises AwkError."""
        return printed(self, values)

    def array(self, name: str) -> dict[str, Any]:
        """An array, made when it is named first."""
        if self.locals and name in self.locals[-1]:
            held = self.locals[-1][name]
            if not isinstance(held, dict):
                held = self.locals[-1][name] = {}
            return held
        found = self.arrays.setdefault(name, {})
        if len(found) > 300_000:
            raise Exhausted
        return found

    def subscript(self, nodes: list[Node]) -> str:
        """The index that expressions in brackets mean."""
        return self.text(self.variables["SUBSEP"]).join(self.text(self.value(node)) for node in nodes)

    def variable(self, name: str) -> Any:
        """Value of a variable."""
        if self.locals and name in self.locals[-1]:
            return self.locals[-1][name]
        if name == "NF":
            self._need_fields()
        return self.variables.get(name, Field(""))

    def assign_text(self, name: str, value: str) -> None:
        """`-v NAME=VALUE`."""
        self.set_variable(name, Field(value))

    def set_variable(self, name: str, value: Any) -> None:
        """Assign a variable; NF changes the record."""
        if self.locals and name in self.locals[-1]:
            self.locals[-1][name] = value
            return
        if name == "NF":
            fields, count = self._need_fields(), max(0, int(number(value)))
            if count > 100_000:
                raise Exhausted
            self.fields = (fields + [Field("")] * count)[:count]
            self.variables["NF"] = float(count)
            self._rebuild()
            return
        self.variables[name] = value

    def _rebuild(self) -> None:
        self.record = self.text(self.variables["OFS"]).join(self.text(each) for each in self.fields or ())

    def field(self, at: int) -> Any:
        """`$at`."""
        if at < 0:
            raise AwkError(f"negative field index ${at}")
        if at == 0:
            return Field(self.record)
        fields = self._need_fields()
        return fields[at - 1] if at <= len(fields) else Field("")

    def assign(self, node: Node, value: Any) -> None:
        """Assign to a variable, an element or a field."""
        kind = node[0]
        if kind == "var":
            self.set_variable(node[1], value)
        elif kind == "item":
            self.array(node[1])[self.subscript(node[2])] = value
        else:
            at = int(number(self.value(node[1])))
            if at == 0:
                self.set_record(self.text(value))
                return
            if not 0 <= at < 100_000:
                raise AwkError(f"field index {at} out of range")
            fields = self._need_fields()
            if at > len(fields):
                fields += [Field("")] * (at - len(fields))
                self.variables["NF"] = float(len(fields))
            fields[at - 1] = Field(value) if isinstance(value, Field) else value
            self._rebuild()

    def value(self, node: Node) -> Any:
        """Value of an expression."""
        self.pay()
        kind = node[0]
        if kind in ("num", "str"):
            return node[1]
        if kind == "field":
            return self.field(int(number(self.value(node[1]))))
        if kind == "var":
            return self.variable(node[1])
        if kind == "item":
            array, key = self.array(node[1]), self.subscript(node[2])
            return array.setdefault(key, Field(""))
        if kind == "group":
            return self.value(node[1])
        return self._operation(node)

    def _operation(self, node: Node) -> Any:
        kind = node[0]
        if kind == "concat":
            text = fitting(self.text(self.value(node[1])) + self.text(self.value(node[2])))
            self.steps += len(text) // 200
            return text
        if kind == "binary":
            return self._arithmetic(node[1], number(self.value(node[2])), number(self.value(node[3])))
        if kind == "compare":
            return self._compare(node[1], self.value(node[2]), self.value(node[3]))
        if kind in ("and", "or"):
            left = self.true(self.value(node[1]))
            return float(left if left == (kind == "or") else self.true(self.value(node[2])))
        if kind == "regex":
            return float(self.pattern(node).matches(self.record))
        if kind == "match":
            found = self.pattern(node[3]).matches(self.text(self.value(node[2])))
            return float(found != node[1])
        if kind == "unary":
            value = self.value(node[2])
            return (
                float(not self.true(value)) if node[1] == "!" else -number(value) if node[1] == "-" else number(value)
            )
        if kind == "assign":
            return self._assignment(node)
        if kind == "step":
            before = number(self.value(node[3]))
            after = before + (1 if node[1] == "++" else -1)
            self.assign(node[3], after)
            return after if node[2] else before
        if kind == "cond":
            return self.value(node[2] if self.true(self.value(node[1])) else node[3])
        if kind == "in":
            return float(self.subscript(node[1]) in self.array(node[2]))
        if kind == "call":
            return called(self, node[1], node[2])
        if kind == "user":
            return self._user(node[1], node[2])
        if kind == "getline":
            return self._getline(node)
        return self.text(self.variables["SUBSEP"]).join(self.text(self.value(each)) for each in node[1])

    def pattern(self, node: Node) -> Any:
        """The pattern that an expression means."""
        return compile_pattern(controls(node[1] if node[0] == "regex" else self.text(self.value(node))), "E")

    def _assignment(self, node: Node) -> Any:
        _, operator, target, source = node
        value = self.value(source)
        if operator:
            value = self._arithmetic("^" if operator == "**" else operator, number(self.value(target)), number(value))
        self.assign(target, value)
        return value

    def _arithmetic(self, operator: str, a: float, b: float) -> float:
        try:
            if operator in ("/", "%") and b == 0:
                if not self.call.gnu:
                    raise AwkError("cmd. line:1: Division by zero")
                return math.nan if operator == "%" or a == 0 or a != a else math.copysign(math.inf, a)
            if operator == "^":
                return raised(a, b)
            return {"+": a + b, "-": a - b, "*": a * b, "/": a / (b or 1), "%": math.fmod(a, b or 1)}[operator]
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    def _compare(self, operator: str, left: Any, right: Any) -> float:
        if looks_numeric(left) and looks_numeric(right):
            a: Any = number(left)
            b: Any = number(right)
        else:
            a, b = self.text(left), self.text(right)
        if isinstance(left, Field) and isinstance(right, Field) and (left == "" or right == ""):
            a, b = str(left), str(right)
        elif (isinstance(left, Field) and left == "" and isinstance(right, float)) or (
            isinstance(right, Field) and right == "" and isinstance(left, float)
        ):
            a, b = number(left), number(right)
        return float({"<": a < b, "<=": a <= b, "==": a == b, "!=": a != b, ">": a > b, ">=": a >= b}[operator])

    def _user(self, name: str, args: list[Node]) -> Any:
        if name not in self.functions:
            raise AwkError(f"function {name} never defined")
        names, body = self.functions[name]
        if len(self.locals) >= CALLS_MAX:
            raise AwkError("function call nesting too deep")
        given: dict[str, Any] = {}
        for at, local in enumerate(names):
            if at >= len(args):
                given[local] = Field("")
                continue
            node = args[at]
            unknown = (
                node[0] == "var"
                and not (self.locals and node[1] in self.locals[-1])
                and (node[1] in self.arrays or node[1] not in self.variables)
            )
            if unknown and node[1] in self.arrays:
                given[local] = self.arrays[node[1]]
            elif unknown:
                given[local] = self.arrays.setdefault(node[1], {}) if indexes(body, local) else Field("")
            else:
                given[local] = self.value(node)
        self.locals.append(given)
        try:
            self.execute(body)
        except _Leave as leave:
            if leave.kind != "return":
                raise
            return Field("") if leave.value is None else leave.value
        finally:
            self.locals.pop()
        return Field("")

    def _getline(self, node: Node) -> float:
        _, kind, source, target = node
        if kind == "":
            record = self.next_record()
        else:
            name = self.text(self.value(source))
            if name not in self.readers:
                try:
                    text = self.call.read(name) if kind != "|" else self.call.aside(name) if self.call.aside else ""
                    self.readers[name] = self.records(text)[::-1]
                except FileError:
                    return -1.0
            record = self.readers[name].pop() if self.readers[name] else None
        if record is None:
            return 0.0
        if target is None:
            self.set_record(record)
        else:
            self.assign(target, Field(record))
        return 1.0

    def draw(self) -> float:
        """A number from 0 to 1."""
        self.draws += 1
        return (mix(self.seed + 1, self.draws) >> 11) / (1 << 53)
