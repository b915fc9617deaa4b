"""An application's folder: how its images behave, its manifests, and the programs that its module `app` declares."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from simcluster.engine import Shared
from simcluster.engine.discovery import Plugin, PluginError
from simcluster.models.apps.behaviour import Application, read_application
from simcluster.models.apps.server import ServerProgram


@dataclass(frozen=True)
class AppFolder(Shared):
    """One folder with a `behaviour.yaml`.

    Attributes:
        path: the folder.
        programs: `PROGRAMS` of its module `app`: what images do besides serving, by the `logic` of a behaviour.
        operators: `OPERATORS` of that module: controllers by the `operator` of a behaviour.
    """

    path: Path
    programs: Mapping[str, type[ServerProgram]] = field(default_factory=dict)
    operators: Mapping[str, type[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, package: ModuleType) -> AppFolder:
        """The folder of a package. Raises PluginError."""
        path = Path(next(iter(getattr(package, "__path__", ())), ""))
        if not (path / "behaviour.yaml").is_file():
            raise PluginError(f"{package.__name__} is no application: it has no behaviour.yaml")
        name = f"{package.__name__}.app"
        if importlib.util.find_spec(name) is None:
            return cls(path)
        module = Plugin(path.name, name, str(path)).load()
        programs, operators = getattr(module, "PROGRAMS", {}), getattr(module, "OPERATORS", {})
        for logic, kind in programs.items():
            if not (isinstance(kind, type) and issubclass(kind, ServerProgram)):
                raise PluginError(f"{name}: the program {logic!r} is no subclass of ServerProgram")
        return cls(path, dict(programs), dict(operators))

    @property
    def behaviour(self) -> Application:
        """Its behaviour file. Raises ContentError."""
        return load_behaviour(self.path / "behaviour.yaml")

    def text(self, file: str) -> str:
        """`manifests.yaml`, which an application that can be deployed has, or `prerequisites.yaml`; else empty."""
        path = self.path / file
        return path.read_text() if path.is_file() else ""


@cache
def load_behaviour(path: Path) -> Application:
    """A behaviour file; immutable, so read once per process.

    Raises:
        ContentError: it is wrong.
    """
    return read_application(path)
