"""No knots: modules that import each other in a circle stay few, inside the rooms too.

Every import counts, wherever it stands: those for types only, those inside of functions, and modules that are
asked for by name of `import_module`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.architecture.importing import asked_for, imported_modules

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


def import_graph(imports: Mapping[str, Iterable[tuple[int, str]]]) -> dict[str, list[str]]:
    """Module -> modules of ours that it imports: of a name in a module the module, and the packages around it."""
    graph = {}
    for module, asked in imports.items():
        named = (name if name in imports else name.rpartition(".")[0] for _, name in asked)
        found = {each for name in named if name in imports for each in (name, *packages(name, module))}
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
    imports = {name: imported_modules(path.resolve()) for name, path in module_files(ROOT).items()}
    assert len(imports) > 500
    large = [group for group in circles(import_graph(imports)) if len(group) > CIRCLE_FILES_MAX]
    assert not large, "\n".join(f"{len(group)} files import each other: {', '.join(group)}" for group in large)


def test_every_way_of_importing_counts() -> None:
    sources = {
        "simcluster.a": "if TYPE_CHECKING:\n    from simcluster.b import B\n",
        "simcluster.b": "def f():\n    from simcluster import c\n",
        "simcluster.c": "import importlib\nimportlib.import_module('simcluster.d')\n",
        "simcluster.d": "import simcluster.a\nimport simcluster.e\n",
        "simcluster.e": "import json\n",
    }
    imports = {name: [*asked_for(source)] for name, source in sources.items()}
    assert circles(import_graph(imports)) == [["simcluster.a", "simcluster.b", "simcluster.c", "simcluster.d"]]


def test_circles_that_touch_are_one_and_others_are_distinguished() -> None:
    graph = {"a": ["b"], "b": ["c", "a"], "c": ["b", "d"], "d": ["e"], "e": ["d"], "f": ["a", "d"]}
    assert circles(graph) == [["a", "b", "c"], ["d", "e"]]
