"""What a source file imports, wherever the statement stands; each file is read once in a process."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path


@functools.cache
def imported_modules(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and full name of everything that a file imports: see `asked_for`."""
    return tuple(asked_for(path.read_text(), path))


def asked_for(source: str, path: Path = Path()) -> Iterator[tuple[int, str]]:
    """`package.name` for each name of a `from` import; modules that are asked for by name of `import_module` too."""
    tree = ast.parse(source)
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: import absolutely, from simcluster.…"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
    if "import_module" in source:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called(node.func) == "import_module":
                yield from ((node.lineno, str(each.value)) for each in node.args if isinstance(each, ast.Constant))


def nodes_of(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes, as `ast.walk` in some other order and half the time."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for value in vars(node).values():
            if type(value) is list:
                waiting += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append(value)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements, those inside of others too."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, field, ())


def _called(function: ast.expr) -> str:
    """The last word of what is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
