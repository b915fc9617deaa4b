"""Short scripts of Python: what they print, wait for, ask over HTTP and serve, as a script of the shell.

Understood are `print`, `time.sleep`, `sys.exit`, `raise`, `os.environ`, `open(...).read()`, `urllib.request.urlopen`,
assignments, f-strings, integers, `if`, `while`, `for ... in range`, `try`. Everything else is told, and nothing of the
script runs then. Left out: that the interpreter keeps what it prints until 8 KiB are full.
"""

from __future__ import annotations

import ast
import shlex
import warnings
from collections.abc import Mapping

#: What can be imported in the official images without `pip install`.
MODULES = (
    *("os", "sys", "time", "json", "random", "datetime", "socket", "http", "urllib", "logging", "re", "math", "string"),
    *("threading", "subprocess", "signal", "itertools", "functools", "collections", "socketserver", "pathlib", "uuid"),
)
#: Longest script, in bytes and in depth.
BYTES_MAX, DEPTH_MAX = 20_000, 30


class NotUnderstood(Exception):
    """A part of the script that is not run: what it is, and its line."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


def to_shell(text: str, name: str) -> str:
    """A script of the shell that does what a script of Python does, or says why it cannot be run and fails.

    Args:
        name: of the file, for messages: `<string>` of `-c`.

    >>> to_shell("import time\\nprint('up')\\ntime.sleep(2)", "<string>").splitlines()
    ["printf '%s\\\\n' up", 'sleep 2']
    """
    try:
        if len(text) > BYTES_MAX:
            raise NotUnderstood("so long a script", 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        return _Writer(name).block(tree.body, 0)
    except SyntaxError as error:
        where = f'  File "{name}", line {error.lineno}\n    {(error.text or "").strip()}\nSyntaxError: {error.msg}'
        return _fail(where, 1)
    except (NotUnderstood, RecursionError, ValueError, MemoryError) as error:
        line = error.line if isinstance(error, NotUnderstood) else 1
        what = str(error) if isinstance(error, NotUnderstood) else "so deep a script"
        return _fail(f'  File "{name}", line {line}\nNotImplementedError: {what} cannot be run here', 1)


def served(text: str, variables: Mapping[str, str] | None = None) -> tuple[int, int, str] | None:
    """Port, status and text of a script that serves with `http.server`; None if it does not.

    Args:
        variables: of its environment, which may say any of them.

    Raises:
        KeyError: a variable without which it cannot begin is not set.

    >>> served("s = HTTPServer(('', 8080), H)\\ns.serve_forever()")
    (8080, 200, '')
    >>> served("HTTPServer(('', int(os.environ['PORT'])), H).serve_forever()", {"PORT": "81"})
    (81, 200, '')
    """
    if len(text) > BYTES_MAX or "serve_forever" not in text:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    known, env = dict[str, object](), variables or {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            value = _computed(node.value, known, env)
            known.update({target.id: value for target in node.targets if isinstance(target, ast.Name)})
    port, status, body = 0, 200, ""
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("HTTPServer", "TCPServer", "ThreadingHTTPServer") and node.args:
            pair = node.args[0]
            value = _computed(pair.elts[-1] if isinstance(pair, ast.Tuple) and pair.elts else pair, known, env)
            port = value if isinstance(value, int) and 0 < value < 65536 else port
        elif called == "send_response" and node.args:
            value = _computed(node.args[0], known, env)
            status = value if isinstance(value, int) else status
        elif called == "write" and node.args:
            value = _computed(node.args[0], known, env)
            if value is None:  # something is said around what is not understood
                value = next((each.value for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)), None)
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value  # type: ignore[assignment]
            body = text if isinstance(text, str) else body
    return (port, status, body) if port else None


def variable_of(node: ast.expr) -> tuple[str, ast.expr | None, bool] | None:
    """What an expression reads of the environment: name, default, and whether it fails without; None: nothing."""
    match node:
        case ast.Subscript(value=where, slice=ast.Constant(value=str() as name)) if _is_environ(where):
            return name, None, True
        case ast.Call(func=ast.Attribute(value=where, attr="get"), args=[ast.Constant(value=str() as name), *rest]):
            return (name, rest[0] if rest else None, False) if _is_environ(where) else None
        case ast.Call(func=ast.Attribute(attr="getenv") | ast.Name(id="getenv"),
                      args=[ast.Constant(value=str() as name), *rest]):  # fmt: skip
            return name, rest[0] if rest else None, False
    return None


def _is_environ(node: ast.expr) -> bool:
    return ast.unparse(node) in ("os.environ", "environ")


def _computed(node: ast.expr, known: Mapping[str, object], variables: Mapping[str, str]) -> object:
    """A value that is known before the script runs; None if it is not, is longer than a script, or lies too deep.

    Raises:
        KeyError: a variable is not set.
    """
    try:
        value = _value(node, known, variables)
    except RecursionError:
        return None
    return None if isinstance(value, str | bytes) and len(value) > BYTES_MAX else value


def _value(node: ast.expr, known: Mapping[str, object], variables: Mapping[str, str]) -> object:
    read = variable_of(node)
    if read is not None:
        name, default, needed = read
        if name in variables:
            return variables[name]
        if needed:
            raise KeyError(name)
        return None if default is None else _computed(default, known, variables)
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.Call(func=ast.Name(id="int"), args=[value]):
            text = str(_computed(value, known, variables)).strip()
            return int(text) if text.isdecimal() and len(text) < 20 else None
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return str(_computed(value, known, variables))
        case ast.Call(func=ast.Attribute(value=value, attr="encode")):
            return _computed(value, known, variables)
        case ast.JoinedStr(values=values):
            parts = [_computed(each, known, variables) for each in values]
            return None if None in parts else "".join(map(str, parts))
        case ast.FormattedValue(value=value, format_spec=None):
            return _computed(value, known, variables)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            pair = _computed(left, known, variables), _computed(right, known, variables)
            return pair[0] + pair[1] if isinstance(pair[0], str) and isinstance(pair[1], str) else None
        case ast.BoolOp(op=ast.Or(), values=values):
            return next((each for each in (_computed(one, known, variables) for one in values) if each), None)
    return None


def lacks(text: str, name: str, variable: str) -> str:
    """A script of the shell that fails as a script of Python does which wants a variable that is not set."""
    line = next((number for number, one in enumerate(text.splitlines(), 1) if variable in one), 1)
    return _traceback(name, line, shlex.quote(f"KeyError: '{variable}'"))


def _fail(text: str, code: int) -> str:
    return f"printf '%s\\n' {shlex.quote(text)} >&2\nexit {code}"


def _traceback(name: str, line: int, error: str) -> str:
    where = f'Traceback (most recent call last):\n  File "{name}", line {line}, in <module>'
    return f"printf '%s\\n' {shlex.quote(where)} {error} >&2\nexit 1"


class _Writer:
    """Writes statements as lines of the shell; values are words of it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._needed: dict[str, int] = {}  # variables of the environment without which a statement fails, and its line

    def block(self, body: list[ast.stmt], depth: int) -> str:
        if depth > DEPTH_MAX:
            raise NotUnderstood("so deep a script", 1)
        lines: list[str] = []
        for each in body:
            written = self._statement(each, depth)
            for variable, line in self._needed.items():
                error = shlex.quote(f"KeyError: '{variable}'")
                lines += [f'if [ -z "${{{variable}+set}}" ]; then', _traceback(self._name, line, error), "fi"]
            self._needed = {}
            lines += written
        return "\n".join(lines) or ":"

    def _statement(self, node: ast.stmt, depth: int) -> list[str]:
        match node:
            case ast.Import() | ast.ImportFrom():
                return self._import(node)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return []
            case ast.Expr(value=ast.Call() as call):
                return self._call(call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return [f"{name}={self._word(value)}"]
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                return [f"{name}=$(( {name} {self._operator(op, node)} {self._number(value)} ))"]
            case ast.While(test=test, body=body, orelse=[]):
                return [f"while {self._test(test)}; do", self.block(body, depth + 1), "done"]
            case ast.For(target=ast.Name(id=name), iter=over, body=body, orelse=[]):
                return [f"for {name} in {self._items(over)}; do", self.block(body, depth + 1), "done"]
            case ast.If(test=test, body=body, orelse=orelse):
                other = ["else", self.block(orelse, depth + 1)] if orelse else []
                return [f"if {self._test(test)}; then", self.block(body, depth + 1), *other, "fi"]
            case ast.Break():
                return ["break"]
            case ast.Continue():
                return ["continue"]
            case ast.Raise(exc=raised):
                return [self._raised(raised, node.lineno)]
            case ast.Assert(test=test):
                return [f"if ! {self._test(test)}; then", _traceback(self._name, node.lineno, "AssertionError"), "fi"]
        raise NotUnderstood(f"'{type(node).__name__.lower()}'", node.lineno)

    def _import(self, node: ast.Import | ast.ImportFrom) -> list[str]:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for name in names:
            if name.partition(".")[0] not in MODULES:
                error = shlex.quote(f"ModuleNotFoundError: No module named '{name}'")
                return [_traceback(self._name, node.lineno, error)]
        return []

    def _raised(self, raised: ast.expr | None, line: int) -> str:
        kind = raised.func if isinstance(raised, ast.Call) else raised
        name = kind.id if isinstance(kind, ast.Name) else "RuntimeError"
        if name == "SystemExit":
            code = self._word(raised.args[0]) if isinstance(raised, ast.Call) and raised.args else "0"
            return f"exit {code}"
        said = raised.args[0] if isinstance(raised, ast.Call) and raised.args else None
        error = f"{name}: " if said is not None else name
        return _traceback(self._name, line, shlex.quote(error) + (self._word(said) if said is not None else ""))

    def _call(self, call: ast.Call) -> list[str]:
        name = ast.unparse(call.func)
        args = call.args
        match name:
            case "print":
                where = next((ast.unparse(k.value) for k in call.keywords if k.arg == "file"), "")
                end = next((k.value for k in call.keywords if k.arg == "end"), None)
                words = " ".join(self._word(each) for each in args)
                form = '"$*"' if len(args) > 1 else words or "''"
                line = f"printf '%s{'' if end is not None else chr(92) + 'n'}' "
                before = f"set -- {words}\n" if len(args) > 1 else ""
                after = f"\nprintf '%s' {self._word(end)}" if end is not None else ""
                return [f"{before}{line}{form}{' >&2' if 'stderr' in where else ''}{after}"]
            case "time.sleep" | "sleep":
                return [f"sleep {self._word(args[0])}" if args else "sleep 0"]
            case "sys.exit" | "exit" | "quit" | "os._exit":
                if args and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str):
                    return [_fail(args[0].value, 1)]
                return [f"exit {self._word(args[0]) if args else 0}"]
            case "sys.stdout.flush" | "sys.stderr.flush" | "logging.basicConfig" | "random.seed":
                return []
            case "sys.stdout.write" | "sys.stderr.write" if args:
                return [f"printf '%s' {self._word(args[0])}" + (" >&2" if "stderr" in name else "")]
        if name.split(".")[-1] in ("urlopen", "get") and "url" in name and args:
            return [self._request(call, "> /dev/null")]
        raise NotUnderstood(f"'{name[:40]}()'", call.lineno)

    def _request(self, call: ast.Call, sink: str) -> str:
        error = shlex.quote("urllib.error.URLError: <urlopen error [Errno 111] Connection refused>")
        failed = _traceback(self._name, call.lineno, error)
        return f"if ! wget -q -O - {self._word(call.args[0])} {sink}; then\n{failed}\nfi"

    def _word(self, node: ast.expr) -> str:
        """A value as one word of the shell."""
        read = variable_of(node)
        if read is not None:
            return self._variable(*read, node)
        match node:
            case ast.Constant(value=bool() | None as value):
                return str(value)
            case ast.Constant(value=str() | int() | float() as value):
                return shlex.quote(str(value))
            case ast.Name(id=name):
                return f'"${{{name}}}"'
            case ast.JoinedStr(values=values):
                return "".join(self._word(each) for each in values) or "''"
            case ast.FormattedValue(value=value, format_spec=None):
                return self._word(value)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if self._is_text(left) or self._is_text(right):
                return self._word(left) + self._word(right)
            case ast.BinOp():
                return f'"$(( {self._number(node)} ))"'
            case ast.Call(func=ast.Name(id="str" | "int"), args=[value]):
                return self._word(value)
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="open"), args=[path, *_]), attr="read")):
                return f'"$(cat {self._word(path)})"'
            case ast.Call(func=ast.Attribute(attr="gethostname")):
                return '"$(hostname)"'
            case ast.Call(func=ast.Attribute(attr="time" | "now" | "utcnow" | "ctime")):
                return '"$(date)"'
        raise NotUnderstood(f"'{ast.unparse(node)[:40]}'", node.lineno)

    def _variable(self, name: str, default: ast.expr | None, needed: bool, node: ast.expr) -> str:
        if needed:
            self._needed[_checked(name, node)] = node.lineno
            return f'"${{{name}}}"'
        given = "None" if default is None else ast.unparse(default).strip("'\"")
        return f'"${{{_checked(name, node)}-{_plain(given, node)}}}"'

    def _is_text(self, node: ast.expr) -> bool:
        if variable_of(node) is not None:
            return True
        match node:
            case ast.Constant(value=str()) | ast.JoinedStr():
                return True
            case ast.BinOp(left=left, right=right):
                return self._is_text(left) or self._is_text(right)
            case ast.Call(func=func):
                return ast.unparse(func) == "str"
        return False

    def _operator(self, op: ast.operator, node: ast.AST) -> str:
        known = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%"}
        if type(op) not in known:
            raise NotUnderstood(f"the operator {type(op).__name__}", getattr(node, "lineno", 1))
        return known[type(op)]

    def _number(self, node: ast.expr) -> str:
        """A value inside of shell arithmetic."""
        match node:
            case ast.Constant(value=int() as value):
                return str(int(value))
            case ast.Name(id=name):
                return name
            case ast.BinOp(left=left, op=op, right=right):
                return f"( {self._number(left)} {self._operator(op, node)} {self._number(right)} )"
        raise NotUnderstood(f"'{ast.unparse(node)[:40]}' as a number", node.lineno)

    def _items(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[end]):
                return f"$(seq 0 $(( {self._number(end)} - 1 )))"
            case ast.Call(func=ast.Name(id="range"), args=[first, end]):
                return f"$(seq {self._number(first)} $(( {self._number(end)} - 1 )))"
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return " ".join(self._word(each) for each in items)
        raise NotUnderstood(f"a loop over '{ast.unparse(node)[:40]}'", node.lineno)

    def _test(self, node: ast.expr) -> str:
        compared = {ast.Eq: "-eq", ast.NotEq: "-ne", ast.Lt: "-lt", ast.LtE: "-le", ast.Gt: "-gt", ast.GtE: "-ge"}
        match node:
            case ast.Constant(value=value):
                return "true" if value else "false"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"! {self._test(operand)}"
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]) if self._is_text(
                left
            ) or self._is_text(right):
                return f"[ {self._word(left)} {'=' if isinstance(op, ast.Eq) else '!='} {self._word(right)} ]"
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in compared:
                return f'[ "$(( {self._number(left)} ))" {compared[type(op)]} "$(( {self._number(right)} ))" ]'
            case ast.Compare(left=ast.Constant(value=str() as name), ops=[ast.In() | ast.NotIn() as op],
                             comparators=[where]) if _is_environ(where):  # fmt: skip
                return f'[ -{"n" if isinstance(op, ast.In) else "z"} "${{{_checked(name, node)}+set}}" ]'
            case ast.Call(func=ast.Attribute(attr="exists"), args=[path]):
                return f"[ -e {self._word(path)} ]"
            case ast.BoolOp(op=op, values=values):
                return (" && " if isinstance(op, ast.And) else " || ").join(self._test(each) for each in values)
            case ast.Name() | ast.Call():
                return f"[ -n {self._word(node)} ]"
        raise NotUnderstood(f"'{ast.unparse(node)[:40]}' as a condition", node.lineno)


def _checked(name: str, node: ast.AST) -> str:
    if not name.isidentifier():
        raise NotUnderstood(f"a variable named {name!r}", getattr(node, "lineno", 1))
    return name


def _plain(text: str, node: ast.AST) -> str:
    if any(mark in text for mark in '$`"\\}'):
        raise NotUnderstood("such a default", getattr(node, "lineno", 1))
    return text
