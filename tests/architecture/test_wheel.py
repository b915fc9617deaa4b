"""What is built and installed works far from the checkout, and holds only `simcluster/`."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS_AT_THE_TOP = ("models", "faults", "noise", "agents", "eval", "tasks")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    built = subprocess.run([*command, "-w", str(folder), str(ROOT)], capture_output=True, text=True, check=False)
    if "setuptools" in built.stderr and "BackendUnavailable" in built.stderr:
        pytest.skip("setuptools is not installed in this environment: no wheel can be built without the network")
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("simcluster-*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_holds_only_simcluster(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"simcluster"}
    for room in ROOMS_AT_THE_TOP:
        assert f"simcluster/{room}/__init__.py" in names
        in_checkout = {
            f"simcluster/{path.relative_to(ROOT)}"
            for path in (ROOT / room).rglob("*")
            if path.suffix in (".py", ".yaml", ".json", ".txt", ".gz") and "__pycache__" not in path.parts
        }
        assert in_checkout <= set(names)


@pytest.mark.slow
def test_the_installed_wheel_works_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    target, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    zipfile.ZipFile(wheel).extractall(target)
    code = f"import sys; sys.path.insert(0, {str(target)!r}); "
    code += (
        "import simcluster.cli, simcluster; assert simcluster.__file__.startswith(sys.path[0]), simcluster.__file__; "
    )
    code += "from simcluster.cli import main; main(['list', 'tasks', '--json'])"
    result = subprocess.run([sys.executable, "-P", "-c", code], cwd=empty, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert '"id"' in result.stdout
