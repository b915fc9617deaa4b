"""What is built and installed works far from the checkout, and holds only `simcluster/`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS_AT_THE_TOP = ("models", "faults", "noise", "agents", "eval", "tasks")


#: Not part of the project: copying them would cost more than building.
NOT_COPIED = (
    ".git",
    ".venv*",
    ".*_cache",
    ".hypothesis",
    "build",
    "dist",
    "runs",
    "*.egg-info",
    "__pycache__",
    "tests",
)


def build(folder: Path) -> Path:
    """The wheel of a copy of the checkout, so that building leaves nothing behind in it."""
    source = folder / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    built = subprocess.run([*command, "-w", str(folder), str(source)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("simcluster-*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_holds_only_simcluster_and_works_in_an_empty_folder(tmp_path: Path) -> None:
    wheel = build(tmp_path)
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"simcluster"}
    for room in ROOMS_AT_THE_TOP:
        in_checkout = {
            f"simcluster/{path.relative_to(ROOT)}"
            for path in (ROOT / room).rglob("*")
            if path.suffix in (".py", ".yaml", ".json", ".txt", ".gz") and "__pycache__" not in path.parts
        }
        assert f"simcluster/{room}/__init__.py" in names
        assert in_checkout <= set(names), in_checkout - set(names)
    target, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    zipfile.ZipFile(wheel).extractall(target)
    code = f"import sys; sys.path.insert(0, {str(target)!r}); import simcluster; "
    code += "assert simcluster.__file__.startswith(sys.path[0]), simcluster.__file__; "
    code += "from simcluster.cli import main; sys.exit(main(['list', 'tasks', '--json']))"
    result = subprocess.run([sys.executable, "-P", "-c", code], cwd=empty, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert '"id"' in result.stdout
