"""Imports run one way. The table here and the one in docs/ARCHITECTURE.md are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.architecture.importing import imported_modules

ROOT = Path(__file__).resolve().parents[2]
ROOMS_AT_THE_TOP = ("models", "faults", "noise", "agents", "eval", "tasks")

#: Room -> what it may import besides itself. A name with a dot allows that module only.
TABLE: dict[str, tuple[str, ...]] = {
    "engine": (),
    "telemetry": ("engine",),
    "api": ("engine", "telemetry"),
    "models": ("engine", "telemetry"),
    "control": ("engine", "telemetry", "api", "models"),
    "surface": ("engine", "api", "telemetry", "models.userland"),
    "apps": ("engine", "telemetry", "api", "models", "control"),
    "faults": ("engine", "api", "models", "control", "apps"),
    "noise": ("engine", "api", "models", "control", "apps"),
    "world": ("engine", "api", "telemetry", "models", "control", "apps", "surface"),
    "session": ("engine", "api", "surface", "world"),
    "tasks": ("engine", "api", "models", "apps", "faults", "noise", "world", "session"),
    "agents": ("engine", "surface.protocols"),
    "calibration": (*("engine", "api", "telemetry", "models", "control", "apps", "faults", "world", "session"),),
    "eval": (
        "engine",
        "api",
        "telemetry",
        "models",
        "control",
        "apps",
        "surface",
        "faults",
        "noise",
        "world",
        "session",
        "tasks",
        "agents",
    ),
}
#: These may import everything, and nothing of the rooms above may import them.
OPEN = ("cli", "testing")


def folder_of(room: str) -> Path:
    return ROOT / room if room in ROOMS_AT_THE_TOP else ROOT / "simcluster" / room


def python_files(room: str) -> list[Path]:
    return sorted(folder_of(room).rglob("*.py"))


def is_allowed(room: str, module: str) -> bool:
    inside = module.removeprefix("simcluster.")
    if inside.partition(".")[0] == room:
        return True
    return any(inside == name or inside.startswith(name + ".") for name in TABLE[room])


def test_every_room_imports_only_what_the_table_allows() -> None:
    wrong = []
    for room in TABLE:
        for path in python_files(room):
            for line, module in imported_modules(path):
                if module == "simcluster" or (module.startswith("simcluster.") and not is_allowed(room, module)):
                    wrong.append(f"{path.relative_to(ROOT)}:{line}: {room} must not import {module}")
    assert not wrong, "\n".join(wrong)


def test_what_an_operator_goes_through_loads_nothing_that_grades() -> None:
    code = "import sys, simcluster.session; print([m for m in sys.modules if m.startswith('simcluster.')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert "simcluster.session.inbox" in loaded
    for room in ("faults", "tasks", "eval", "noise", "agents"):
        assert f"'simcluster.{room}" not in loaded, room


def test_every_room_is_in_the_table() -> None:
    rooms = [path.name for path in (ROOT / "simcluster").iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert sorted(rooms) == sorted({*TABLE, *OPEN} - {name for name in TABLE if not folder_of(name).exists()})


def test_bare_names_of_rooms_are_not_imported() -> None:
    wrong = []
    for room in (*TABLE, *OPEN):
        for path in python_files(room):
            for line, module in imported_modules(path):
                if module.partition(".")[0] in ROOMS_AT_THE_TOP:
                    wrong.append(f"{path.relative_to(ROOT)}:{line}: write simcluster.{module}")
    assert not wrong, "\n".join(wrong)


def test_the_documented_table_is_this_one() -> None:
    documented: dict[str, tuple[str, ...]] = {}
    for line in (ROOT / "docs" / "ARCHITECTURE.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 3:
            names = [name.strip().strip("`") for name in cells[2].split(",")]
            documented[cells[0].strip("`")] = tuple(name for name in names if name and name != "nothing")
    assert documented == TABLE
