"""Nothing in the simulation reads a clock, draws from a shared generator or computes with unportable functions."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.importing import nodes_of

ROOT = Path(__file__).resolve().parents[2]
#: Folders whose code runs inside an episode.
SIMULATION = (
    "simcluster/engine",
    "simcluster/api",
    "simcluster/telemetry",
    "simcluster/control",
    "simcluster/apps",
    "simcluster/surface",
    "simcluster/world",
    "models",
    "faults",
    "noise",
    "tasks",
    "agents",
    "eval/episode",
    "eval/judge",
    "eval/oracles",
    "eval/proof",
    "eval/trajectory",
)
BANNED_MODULES = {
    "time": "simulated time is `sim.now`",
    "datetime": "use simcluster.engine.clock",
    "calendar": "use simcluster.engine.clock",
    "random": "use sim.stream(identity)",
    "secrets": "use sim.stream(identity)",
    "uuid": "use sim.stream(identity)",
    "threading": "one world, one thread",
    "asyncio": "one world, one thread",
    "multiprocessing": "only the runner starts processes",
    "concurrent": "only the runner starts processes",
    "subprocess": "the simulation starts nothing",
    "socket": "the simulation reaches nothing",
    "tempfile": "the simulation writes no files",
    "numpy.random": "use sim.stream(identity)",
}
#: math functions that are correctly rounded or exact; all others differ between platforms.
EXACT_MATH = {
    "ceil", "copysign", "fabs", "factorial", "floor", "fmod", "frexp", "fsum", "gcd", "inf", "isclose", "isfinite",
    "isinf", "isnan", "isqrt", "lcm", "ldexp", "modf", "nan", "prod", "remainder", "sqrt", "trunc", "comb", "perm",
}  # fmt: skip
BANNED_NUMPY = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "float_power", "sin", "cos", "tan", "tanh",
    "sinh", "cosh", "arctan", "arctan2", "hypot", "mean", "average", "std", "var", "dot", "matmul", "einsum",
    "random", "cbrt", "logaddexp",
}  # fmt: skip
#: Where floats are added up, so that a bare `sum` has to say that it adds integers.
FLOATING = ("simcluster/engine", "models", "simcluster/apps")
#: What listens on sockets: outside of the world, which it enters through a session.
OUTSIDE = ("simcluster/surface/http", "simcluster/surface/mcp")
#: All else of a source is passed over.
LOOKED_AT = (ast.Import, ast.ImportFrom, ast.Attribute, ast.BinOp, ast.Call, ast.For, ast.comprehension)
_STORING_CALLS = {"after", "at", "every", "watch", "append", "setdefault"}


def simulation_files() -> list[Path]:
    found = (path for folder in SIMULATION for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if not any(path.is_relative_to(ROOT / each) for each in OUTSIDE))


def problems_of(path: Path) -> list[str]:
    text = path.read_text()
    lines = text.splitlines()
    floating = any(path.is_relative_to(ROOT / folder) for folder in FLOATING)
    found: list[tuple[int, str]] = []
    tree = ast.parse(text)
    for node in nodes_of(tree):
        if not isinstance(node, LOOKED_AT):
            continue
        found += _imports(node)
        if path.name != "arithmetic.py":
            found += _arithmetic(node)
        found += _order(node)
        if floating and _is_call(node, "sum") and not _adds_integers(node, lines[node.lineno - 1]):
            found.append((node.lineno, "math.fsum for floats, or `sum(...)  # integers`"))
    for node in nodes_of(tree) if "lambda" in text else ():
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Lambda) and not _consumed_at_once(node):
                found.append((child.lineno, "a lambda that is kept cannot be pickled"))
    return [f"{path.relative_to(ROOT)}:{line}: {what}" for line, what in sorted(found)]


def _imports(node: ast.AST) -> list[tuple[int, str]]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    found = []
    for name in names:
        reason = BANNED_MODULES.get(name) or BANNED_MODULES.get(name.partition(".")[0])
        if reason:
            found.append((getattr(node, "lineno", 0), f"import of {name}: {reason}"))
    return found


def _arithmetic(node: ast.AST) -> list[tuple[int, str]]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.value.id == "math" and node.attr not in EXACT_MATH:
            return [(node.lineno, f"math.{node.attr}: use simcluster.engine.arithmetic")]
        if node.value.id in ("np", "numpy") and node.attr in BANNED_NUMPY:
            return [(node.lineno, f"{node.value.id}.{node.attr}: use simcluster.engine.arithmetic")]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        both_constant = isinstance(node.left, ast.Constant) and _is_constant(node.right)
        integer_base = isinstance(node.left, ast.Constant) and isinstance(node.left.value, int)
        if not (both_constant or integer_base):
            return [(node.lineno, "** of floats: use simcluster.engine.arithmetic.power or multiply")]
    if isinstance(node, ast.ImportFrom) and node.module == "math":
        return [
            (node.lineno, f"math.{alias.name}: use simcluster.engine.arithmetic")
            for alias in node.names
            if alias.name not in EXACT_MATH
        ]
    return []


def _order(node: ast.AST) -> list[tuple[int, str]]:
    if _is_call(node, "hash") or _is_call(node, "id"):
        return [(getattr(node, "lineno", 0), "hash() and id() differ between processes")]
    if isinstance(node, ast.Attribute) and node.attr == "urandom":
        return [(node.lineno, "os.urandom: use sim.stream(identity)")]
    if isinstance(node, (ast.For, ast.comprehension)):
        over = node.iter
        if isinstance(over, (ast.Set, ast.SetComp)) or _is_call(over, "set") or _is_call(over, "frozenset"):
            return [(over.lineno, "the order of a set differs between processes: sorted(...) or a dict")]
    return []


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def _adds_integers(node: ast.AST, line: str) -> bool:
    assert isinstance(node, ast.Call)
    if "# integers" in line:
        return True
    argument = node.args[0]
    if not isinstance(argument, ast.GeneratorExp):
        return False
    value = argument.elt
    return (
        (isinstance(value, ast.Constant) and isinstance(value.value, int))
        or isinstance(value, ast.Compare)
        or _is_call(value, "len")
        or _is_call(value, "int")
    )


def _consumed_at_once(parent: ast.AST) -> bool:
    if isinstance(parent, ast.keyword):
        return parent.arg in ("key", "default", "default_factory")
    if not isinstance(parent, ast.Call):
        return False
    name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
    return name not in _STORING_CALLS


def test_simulation_code_is_a_function_of_its_seed() -> None:
    wrong = [problem for path in simulation_files() for problem in problems_of(path)]
    wrong = [problem for problem in wrong if not _known(problem)]
    assert not wrong, "\n".join(wrong)


def _known(problem: str) -> bool:
    """The pickler has to tell objects apart while it runs; nothing of it is kept."""
    return problem.startswith("simcluster/engine/fork.py") and "id()" in problem


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("import time", "simulated time"),
        ("from random import choice", "sim.stream"),
        ("import numpy.random", "sim.stream"),
        ("import math\nx = math.exp(1.0)", "arithmetic"),
        ("from math import log", "arithmetic"),
        ("import numpy as np\nx = np.log(y)", "arithmetic"),
        ("x = y**0.5", "power"),
        ("x = sum(f.share for f in rows)", "fsum"),
        ("for name in set(names): pass", "order of a set"),
        ("x = [n for n in {1, 2}]", "order of a set"),
        ("key = hash(name)", "between processes"),
        ("sim.after(3, lambda: None)", "pickled"),
        ("self.rule = lambda: 3", "pickled"),
    ],
)
def test_the_checks_bite(code: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "models" / "sample.py"
    path.parent.mkdir()
    path.write_text(code + "\n")
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert re.search(hint, "\n".join(problems_of(path)))


@pytest.mark.parametrize(
    "code",
    [
        "x = 10**9 + 2.0**-53",
        "x = sorted(rows, key=lambda row: row.name)",
        "n = sum(1 for row in rows)",
        "n = sum(row.count for row in rows)  # integers",
        "import math\nx = math.fsum(shares) + math.sqrt(2.0)",
        "for name in sorted(set(names)): pass",
    ],
)
def test_the_checks_let_pass_what_is_right(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "models" / "sample.py"
    path.parent.mkdir()
    path.write_text(code + "\n")
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert problems_of(path) == []
