"""`find`: files of the node by name, kind and age. Left out: expressions with -o, actions but -print, -delete.

Format: findutils 4.9 (Ubuntu 24.04).
"""

from __future__ import annotations

from contextlib import suppress
from fnmatch import fnmatchcase

from simcluster.engine import MINUTE
from simcluster.engine.clock import DAY
from simcluster.models.machine.hosttools import storedfiles
from simcluster.models.machine.kernel import groupfiles
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.process import ExecResult
from simcluster.models.machine.shell.files import FileError, normalize

_VALUED = ("-name", "-iname", "-path", "-type", "-maxdepth", "-mindepth", "-mmin", "-mtime", "-size")
_GROUPS = "/sys/fs/cgroup"


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
    out, errors = [], []
    for start in starts or ["."]:
        place = normalize(start, "/root")
        if not _is_folder(machine, place) and not _is_file(machine, place):
            errors.append(f"find: ‘{start}’: No such file or directory\n")
            continue
        for path, depth in _walk(machine, place, 0):
            shown = start.rstrip("/") + path[len(place.rstrip("/")) :] if path != place else start
            if all(_holds(machine, path, depth, test) for test in tests):
                out.append(shown + "\n")
                if delete and _is_file(machine, path) and machine.files.find(path) is not None:
                    machine.files.remove(path)
    return ExecResult("" if delete else "".join(out), "".join(errors), 1 if errors else 0)


def _is_file(machine: Machine, path: str) -> bool:
    return machine.files.find(path) is not None or storedfiles.size_of(machine, path) is not None


def _is_folder(machine: Machine, path: str) -> bool:
    if machine.files.is_folder(path) or storedfiles.is_folder(machine, path):
        return True
    return path.startswith(_GROUPS) and groupfiles.names(machine, path[len(_GROUPS) :]) is not None


def _walk(machine: Machine, path: str, depth: int) -> list[tuple[str, int]]:
    found = [(path, depth)]
    names: list[str] = []
    if path.startswith(_GROUPS):
        names = groupfiles.names(machine, path[len(_GROUPS) :]) or []
    elif _is_folder(machine, path):
        names = list(storedfiles.names_in(machine, path))
        with suppress(FileError):  # only a program's files lie there
            names = sorted(dict.fromkeys((*names, *machine.files.entries(path))))
    for name in names:
        found += _walk(machine, f"{path.rstrip('/')}/{name}", depth + 1)
    return found


def _holds(machine: Machine, path: str, depth: int, test: tuple[str, str]) -> bool:
    kind, value = test
    name = path.rpartition("/")[2]
    if kind in ("-name", "-iname"):
        return fnmatchcase(name.lower(), value.lower()) if kind == "-iname" else fnmatchcase(name, value)
    if kind == "-path":
        return fnmatchcase(path, value)
    if kind == "-type":
        return _is_file(machine, path) or not _is_folder(machine, path) if value == "f" else (
            value == "d" and _is_folder(machine, path) and not _is_file(machine, path))  # fmt: skip
    if kind in ("-maxdepth", "-mindepth"):
        return depth <= int(value) if kind == "-maxdepth" else depth >= int(value)
    found = machine.files.find(path)
    if kind == "-size":
        size = len(found.text) + found.hollow_bytes if found is not None else storedfiles.size_of(machine, path) or 0
        scale = {"c": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(value[-1:], 512)
        amount = int("".join(c for c in value if c.isdigit()) or 0) * scale
        return size > amount if value.startswith("+") else size < amount if value.startswith("-") else size == amount
    age = (machine.sim.now - (found.changed_ns if found is not None else 0)) // (MINUTE if kind == "-mmin" else DAY)
    limit = int(value.lstrip("+-") or 0)
    return age > limit if value.startswith("+") else age < limit if value.startswith("-") else age == limit


TOOLS = {"find": find}
