"""Sizes, docstrings, links, leftovers: what keeps the house habitable."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.importing import nodes_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS_AT_THE_TOP = ("models", "faults", "noise", "agents", "eval", "tasks")
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 8
#: A compiled loop gets plain arrays and numbers, each as a parameter: numba compiles no objects of ours.
KERNELS = ROOT / "models" / "traffic" / "aggregate" / "fast"
#: Where a node of a source has a name.
NAMED: dict[type[ast.AST], str] = {
    ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.keyword: "arg",
    **dict.fromkeys(
        (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias, ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
        "name",
    ),
}  # fmt: skip
#: Words that are no terms of the field, in no name.
NO_TERMS = {"stir", "heed", "lent", "told", "whoever"}
#: Written in parts, so that this file does not find itself.
LEFTOVERS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplemented" + "Error")) + r")\b")


def python_files() -> list[Path]:
    folders = [ROOT / "simcluster", *(ROOT / room for room in ROOMS_AT_THE_TOP), ROOT / "tests"]
    found = []
    for folder in folders:
        for parent, names, files in os.walk(folder):  # does not follow links: each file once
            names[:] = [name for name in names if name != "__pycache__"]
            found += [Path(parent) / name for name in files if name.endswith(".py")]
    return sorted(found)


def test_files_fit_on_a_desk() -> None:
    sizes = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in python_files()}
    assert not {str(path): lines for path, lines in sizes.items() if lines > FILE_LINES_MAX}


class Function(NamedTuple):
    """Where it stands, its lines, and its parameters besides `self`."""

    place: str
    lines: int
    parameters: int
    is_kernel: bool


class Source(NamedTuple):
    """What is looked for in a file."""

    path: Path
    has_docstring: bool
    functions: tuple[Function, ...]
    names: frozenset[str]


@functools.cache
def sources() -> tuple[Source, ...]:
    """Every file, read once."""
    return tuple(map(_read, python_files()))


def _read(path: Path) -> Source:
    tree = ast.parse(path.read_text())
    functions: list[Function] = []
    names: set[str] = set()
    for node in nodes_of(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            count = sum(one.arg not in ("self", "cls") for one in given)
            place = f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
            functions.append(Function(place, lines, count, path.parent == KERNELS))
        name = getattr(node, NAMED.get(type(node), ""), None)
        if name:
            names.add(name)
    return Source(path, bool(ast.get_docstring(tree)), tuple(functions), frozenset(names))


def test_functions_fit_on_a_screen() -> None:
    found = [one for source in sources() for one in source.functions if one.lines > FUNCTION_LINES_MAX]
    assert not found, "\n".join(f"{one.place} has {one.lines} lines" for one in found)


def test_functions_take_few_parameters() -> None:
    found = [one for source in sources() for one in source.functions if one.parameters > PARAMETERS_MAX]
    found = [one for one in found if not one.is_kernel]
    assert not found, "\n".join(f"{one.place} has {one.parameters} parameters" for one in found)


def test_names_are_the_fields_words() -> None:
    used = {name for source in sources() for name in source.names}
    words = {name: {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)} for name in used}
    wrong = {name for name, found in words.items() if NO_TERMS & found}
    assert not wrong, [(str(one.path.relative_to(ROOT)), sorted(wrong & one.names)) for one in sources()
                       if wrong & one.names]  # fmt: skip


def test_every_module_says_what_it_is() -> None:
    rooms = [source for source in sources() if not source.path.is_relative_to(ROOT / "tests")]
    silent = [str(source.path.relative_to(ROOT)) for source in rooms if not source.has_docstring]
    assert not silent, "\n".join(silent)


def test_nothing_is_left_unfinished() -> None:
    found = []
    for path in python_files():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if LEFTOVERS.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


def test_no_path_of_a_machine_is_in_the_code() -> None:
    pattern = re.compile(r"(?<![\w/.])/(home|Users|work)/\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in python_files()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line) and path != Path(__file__)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("room", ROOMS_AT_THE_TOP)
def test_links_are_intact(room: str) -> None:
    link = ROOT / "simcluster" / room
    assert link.is_symlink(), f"{link} is no link: check out with core.symlinks=true"
    assert os.readlink(link) == f"../{room}"
    assert (ROOT / room / "__init__.py").is_file()
    assert not (ROOT / room).is_symlink()


@pytest.mark.parametrize("room", ROOMS_AT_THE_TOP)
def test_rooms_refuse_their_bare_name(room: str) -> None:
    code = f"import {room}"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"import this package as simcluster.{room}" in result.stderr


def test_tests_mirror_without_packages() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_importing_simcluster_imports_nothing_else() -> None:
    code = "import sys, simcluster; print([m for m in sys.modules if m.startswith(('simcluster.', 'numpy', 'simpy'))])"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
