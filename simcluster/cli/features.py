"""What each feature needs that not every installation has."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple


class Feature(NamedTuple):
    """One feature.

    Attributes:
        extra: of the package, that brings what it needs; empty: the core does.
        modules: that have to be importable; programs: of which one has to be on the path.
        check: says what else is wrong; empty text: nothing.
    """

    name: str
    extra: str = ""
    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    check: Callable[[], str] = str


class Finding(NamedTuple):
    """Whether a feature can be used; `lacks` says what is missing and `mend` what brings it."""

    feature: str
    works: bool
    lacks: str = ""
    mend: str = ""


def _python() -> str:
    found = ".".join(map(str, sys.version_info[:2]))
    return "" if (3, 11) <= sys.version_info[:2] <= (3, 13) else f"Python {found} is not tested; 3.11 to 3.13 are"


def _links() -> str:
    room = Path(__file__).resolve().parents[1] / "eval"
    return "" if room.is_dir() else f"{room} is no folder: clone with git -c core.symlinks=true"


def _isolation() -> str:
    return "" if hasattr(os, "fork") else "agents need a process of their own, by fork: Linux or macOS"


def _command() -> str:
    return "" if shutil.which("simcluster") else "the command simcluster is not on the PATH"


#: In the order in which they are told.
FEATURES = (
    Feature("simulation", modules=("simpy", "numpy", "networkx", "pydantic", "yaml"), check=_python),
    Feature("content of a checkout", check=_links),
    Feature("command line", modules=("click", "rich", "prompt_toolkit"), check=_command),
    Feature("queries of logs and metrics", modules=("promql_parser", "re2")),
    Feature("eval, run: agents in processes of their own", check=_isolation),
    Feature("compiled traffic, several times as fast in storms", "fast", ("numba",)),
    Feature(
        "serve: the cluster over sockets", "serve", ("starlette", "uvicorn", "httptools", "wsproto", "cryptography")
    ),
    Feature("a real kubectl for what is served", programs=("kubectl",)),
    Feature("mcp", "mcp", ("mcp", "starlette", "uvicorn")),
    Feature("record, calibrate", "calibration", ("httpx", "scipy", "pyarrow")),
    Feature("environments of Gymnasium", "gym", ("gymnasium",)),
    Feature("tasks, sandbox and scores of Inspect", "inspect", ("inspect_ai",)),
    Feature("eval --backend ray", "ray", ("ray",)),
    Feature("fixtures of pytest", "dev", ("pytest",)),
)


def found(feature: Feature) -> Finding:
    """Whether a feature can be used here; modules are really imported."""
    lacks = [one for one in feature.modules if _lack(one)]
    if feature.programs and not any(map(shutil.which, feature.programs)):
        lacks += [f"the program {' or '.join(feature.programs)}"]
    wrong = feature.check()
    mend = f"pip install 'simcluster[{feature.extra}]'" if feature.extra and lacks else ""
    return Finding(feature.name, not lacks and not wrong, ", ".join([*lacks, *([wrong] if wrong else [])]), mend)


def _lack(module: str) -> bool:
    """Whether a module cannot be imported."""
    try:
        import_module(module)
    except Exception:  # a broken installation raises anything
        return True
    return False


def versions() -> dict[str, str]:
    """Of what results may depend on."""
    kept = {"python": sys.version.split()[0]}
    for name in ("simcluster", "numpy", "simpy", "numba"):
        try:
            kept[name] = version(name)
        except PackageNotFoundError:
            kept[name] = "not installed"
    return kept
