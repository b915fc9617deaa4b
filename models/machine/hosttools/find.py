"""`find`: files of the node by name, kind and age. Left out: expressions with -o, actions but -print, -delete.

Format: findutils 4.9 (Ubuntu 24.04).
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from simcluster.engine import MINUTE
from simcluster.engine.clock import DAY
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import Entry, NodeTree
from simcluster.models.machine.process import ExecResult

_VALUED = ("-name", "-iname", "-path", "-type", "-maxdepth", "-mindepth", "-mmin", "-mtime", "-size")


def find(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """find [PATH...] [TESTS] [-print|-delete]."""
    words = list(args)
    starts: list[str] = []
    while words and not words[0].startswith("-"):
        starts.append(words.pop(0))
    tests: list[tuple[str, str]] = []
    delete = False
    while words:
        word = words.pop(0)
        if word in _VALUED:
            if not words:
                return ExecResult("", f"find: missing argument to `{word}'\n", 1)
            tests.append((word, words.pop(0)))
        elif word == "-delete":
            delete = True
        elif word not in ("-print", "-xdev", "-follow", "-a"):
            what = "unknown predicate" if word.startswith("-") else "paths must precede expression:"
            return ExecResult("", f"find: {what} `{word}'\n", 1)
    out, errors, tree = [], [], NodeTree(machine)
    for start in starts or ["."]:
        if not tree.exists(start):
            errors.append(f"find: ‘{start}’: No such file or directory\n")
            continue
        for path, depth in _walk(tree, start, 0):
            if all(_holds(tree, path, depth, test) for test in tests):
                out.append(path + "\n")
                if delete and tree.is_file(path):
                    tree.remove(path)
    return ExecResult("" if delete else "".join(out), "".join(errors), 1 if errors else 0)


def _walk(tree: NodeTree, path: str, depth: int) -> list[tuple[str, int]]:
    found = [(path, depth)]
    for name in tree.entries(path) if tree.is_folder(path) else ():
        found += _walk(tree, f"{path.rstrip('/')}/{name}", depth + 1)
    return found


def _holds(tree: NodeTree, path: str, depth: int, test: tuple[str, str]) -> bool:
    kind, value = test
    name = path.rstrip("/").rpartition("/")[2]
    if kind in ("-name", "-iname"):
        return fnmatchcase(name.lower(), value.lower()) if kind == "-iname" else fnmatchcase(name, value)
    if kind == "-path":
        return fnmatchcase(path, value)
    if kind in ("-maxdepth", "-mindepth"):
        return depth <= int(value) if kind == "-maxdepth" else depth >= int(value)
    entry = tree.look(path) or Entry(True)
    if kind == "-type":
        return value == ("d" if entry.is_folder else "f")
    if kind == "-size":
        scale = {"c": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(value[-1:], 512)
        limit, found = int("".join(c for c in value if c.isdigit()) or 0) * scale, entry.size
    else:
        unit = MINUTE if kind == "-mmin" else DAY
        limit, found = int(value.lstrip("+-") or 0), (tree.machine.sim.now - entry.changed_ns) // unit
    return found > limit if value.startswith("+") else found < limit if value.startswith("-") else found == limit


TOOLS = {"find": find}
