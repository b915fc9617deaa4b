"""No knots: modules that import each other in a circle stay few, inside the rooms too.

Every import counts, wherever it stands: those for types only, those inside of functions, and modules that are
asked for by name of `import_module`.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The most files that may import each other in a circle.
CIRCLE_FILES_MAX = 6


def module_files(root: Path) -> dict[str, Path]:
    """The source files of the package by full name, rooms that are links followed."""
    found = {}
    for parent, folders, files in os.walk(root / "simcluster", followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith(".py"):
                parts = (Path(parent) / name).relative_to(root).with_suffix("").parts
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = Path(parent) / name
    return found


def asked_for(source: str) -> Iterator[str]:
    """What a file imports: `package.name` for each name of a `from` import."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node.func) == "import_module":
            yield from (each.value for each in node.args if isinstance(each, ast.Constant) and each.value)


def _called(function: ast.expr) -> str:
    """The last word of what is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def import_graph(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Module -> modules of ours that it imports: of a name in a module the module, and the packages around it."""
    graph = {}
    for module, source in sources.items():
        named = (name if name in sources else name.rpartition(".")[0] for name in asked_for(source))
        found = {each for name in named if name in sources for each in (name, *packages(name, module))}
        graph[module] = sorted(found - {module})
    return graph


def packages(name: str, module: str) -> Iterator[str]:
    """Packages that run when a module is imported, those left out that run for the importing one anyway."""
    while "." in name:
        name = name.rpartition(".")[0]
        if not f"{module}.".startswith(f"{name}."):
            yield name


def circles(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Groups of modules each of which reaches all others of its group, largest first (Tarjan, 1972)."""
    found: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    for start in graph:
        path = [] if start in number else [(start, iter(graph[start]))]
        while path:
            module, rest = path[-1]
            if module not in number:
                number[module] = lowest[module] = len(number)
                waiting.append(module)
            following = next(rest, None)
            if following is not None:
                if following not in number:
                    path.append((following, iter(graph[following])))
                elif following in waiting:
                    lowest[module] = min(lowest[module], number[following])
                continue
            path.pop()
            if path:
                lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[module])
            if lowest[module] == number[module]:
                at = waiting.index(module)
                found.append(sorted(waiting[at:]))
                del waiting[at:]
    return sorted((group for group in found if len(group) > 1), key=len, reverse=True)


def test_no_circle_of_imports_is_large() -> None:
    sources = {name: path.read_text() for name, path in module_files(ROOT).items()}
    assert len(sources) > 500
    large = [group for group in circles(import_graph(sources)) if len(group) > CIRCLE_FILES_MAX]
    assert not large, "\n".join(f"{len(group)} files import each other: {', '.join(group)}" for group in large)


def test_every_way_of_importing_counts() -> None:
    sources = {
        "simcluster.a": "if TYPE_CHECKING:\n    from simcluster.b import B\n",
        "simcluster.b": "def f():\n    from simcluster import c\n",
        "simcluster.c": "import importlib\nimportlib.import_module('simcluster.d')\n",
        "simcluster.d": "import simcluster.a\nimport simcluster.e\n",
        "simcluster.e": "import json\n",
    }
    assert circles(import_graph(sources)) == [["simcluster.a", "simcluster.b", "simcluster.c", "simcluster.d"]]


def test_circles_that_touch_are_one_and_others_are_distinguished() -> None:
    graph = {"a": ["b"], "b": ["c", "a"], "c": ["b", "d"], "d": ["e"], "e": ["d"], "f": ["a", "d"]}
    assert circles(graph) == [["a", "b", "c"], ["d", "e"]]
