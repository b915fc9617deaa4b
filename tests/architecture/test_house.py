"""Sizes, docstrings, links, leftovers: what keeps the house habitable."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS_AT_THE_TOP = ("models", "faults", "noise", "agents", "eval", "tasks")
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 8
#: A compiled loop gets plain arrays and numbers, each as a parameter: numba compiles no objects of ours.
KERNELS = ROOT / "models" / "traffic" / "aggregate" / "fast"
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


def test_functions_fit_on_a_screen() -> None:
    long = []
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {lines} lines")
    assert not long, "\n".join(long)


def test_functions_take_few_parameters() -> None:
    many = []
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and path.parent != KERNELS:
                given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                count = sum(one.arg not in ("self", "cls") for one in given)
                if count > PARAMETERS_MAX:
                    many.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {count} parameters")
    assert not many, "\n".join(many)


def test_names_are_the_fields_words() -> None:
    wrong = []
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text())):
            for name in (getattr(node, field, None) for field in ("name", "id", "attr", "arg")):
                words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name) if isinstance(name, str) else ()
                if NO_TERMS & {word.lower() for word in words}:
                    wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert not wrong, "\n".join(sorted(set(wrong)))


def test_every_module_says_what_it_is() -> None:
    rooms = [path for path in python_files() if not path.is_relative_to(ROOT / "tests")]
    silent = [str(path.relative_to(ROOT)) for path in rooms if not ast.get_docstring(ast.parse(path.read_text()))]
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
