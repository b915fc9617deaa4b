"""Every example in a docstring is run, and every name of the documentation exists."""

from __future__ import annotations

import doctest
import os
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS_AT_THE_TOP = ("models", "faults", "noise", "agents", "eval", "tasks")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: What paths in documents are relative to.
BASES = (ROOT, ROOT / "simcluster", ROOT / "models" / "traffic", ROOT / "models" / "machine")
#: Where packages announce what they bring without there being a package of that name.
ENTRY_POINT_GROUPS = {"simcluster.checks", "simcluster.noises", "simcluster.content"}

PATH = re.compile(r"(?:[a-z][\w-]*/)+[\w.-]*|[a-z]\w*\.(?:py|yaml)")
ROOMS = ("engine", "api", "control", "surface", *ROOMS_AT_THE_TOP)
DOTTED = re.compile(rf"(?:simcluster|{'|'.join(ROOMS)})(?:\.[A-Za-z_]\w*)+")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def modules_with_examples() -> list[str]:
    found = []
    for folder in (ROOT / "simcluster", *(ROOT / room for room in ROOMS_AT_THE_TOP)):
        for parent, _, files in os.walk(folder):
            for path in (Path(parent) / name for name in files if name.endswith(".py")):
                if ">>> " in path.read_text():
                    dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                    found.append(dotted if dotted.startswith("simcluster") else f"simcluster.{dotted}")
    return sorted(found)


@pytest.mark.parametrize("module", modules_with_examples())
def test_the_examples_of_a_module_are_right(module: str) -> None:
    result = doctest.testmod(import_module(module), verbose=False)
    assert result.attempted, "its examples are in no docstring"
    assert not result.failed


def quoted(document: Path) -> list[str]:
    """The words between backquotes, outside blocks."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [word.rstrip(",;:") for span in re.findall(r"`([^`]+)`", text) for word in span.split()]


def is_there(path: str) -> bool:
    """Whether a file, folder or module is where a document says; what begins with no folder of ours is another's."""
    if "/" not in path:
        return any(next(base.rglob(path), None) for base in BASES)
    known = any((base / path.partition("/")[0]).is_dir() for base in BASES)
    if not known and not path.endswith(".py"):
        return True
    return any((base / f"{path}{suffix}").exists() for base in BASES for suffix in ("", ".py"))


def resolves(name: str) -> bool:
    """Whether a dotted name is a module of ours, or something in one."""
    if name in ENTRY_POINT_GROUPS:
        return True
    parts = name.removeprefix("simcluster.").split(".") if name != "simcluster" else []
    found: Any = import_module("simcluster")
    for part in parts:
        inner = f"{found.__name__}.{part}" if isinstance(found, ModuleType) else ""
        if inner and hasattr(found, "__path__") and find_spec(inner) is not None:
            found = import_module(inner)
        elif hasattr(found, part):
            found = getattr(found, part)
        else:
            return False
    return True


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_and_name_of_a_document_exists(document: Path) -> None:
    words = quoted(document)
    wrong = [word for word in words if PATH.fullmatch(word) and not is_there(word)]
    wrong += [word for word in words if DOTTED.fullmatch(word) and not resolves(word)]
    wrong += [link for link in LINK.findall(document.read_text()) if not (document.parent / link).exists()]
    assert not wrong


def test_a_stale_name_is_found() -> None:
    assert not is_there("api/nowhere.py")
    assert not is_there("nowhere/nothing.py")
    assert not is_there("control/nothing")
    assert not is_there("nothing_like_it.py")
    assert is_there("deploy/frontend")
    assert not resolves("simcluster.control.nothing")
    assert not resolves("engine.Nothing")
    assert resolves("engine.Simulation")
