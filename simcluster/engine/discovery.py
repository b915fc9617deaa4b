"""Plug-ins: what stands in folders of this package, of installed ones, and of folders given on the command line.

A kind of content is a folder of Python packages, one for each piece; other distributions announce theirs by an
entry-point group, whose value names a package, a module or an object of one. Classes are known by their names in
snake case. Everything comes in the order of its name; what is broken is refused with its name.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

#: Packages of folders that are no distribution are imported inside this one.
_GIVEN = "simcluster_content"


class PluginError(Exception):
    """A plug-in cannot be used; the message names it and says why."""

    exit_code = 2  # of the command line: what is installed or was asked for is wrong


class Plugin(NamedTuple):
    """One announced piece.

    Attributes:
        name: under which it is known.
        value: `package.module` or `package.module:Object`.
        source: who announces it, for messages.
    """

    name: str
    value: str
    source: str

    def load(self) -> Any:
        """The module or object. Raises PluginError."""
        module, _, attribute = self.value.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in filter(None, attribute.split(".")):
                found = getattr(found, part)
        except Exception as error:  # whatever the code of others does when it is imported
            raise PluginError(f"{self.name} ({self.value}) of {self.source}: {_said(error)}") from error
        return found


@cache
def installed(group: str) -> tuple[Plugin, ...]:
    """What distributions announce under an entry-point group, by name.

    Raises:
        PluginError: two announce one name.
    """
    found: dict[str, Plugin] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        source = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an installed package"
        one = Plugin(point.name, point.value, f"{source}, entry point {group}")
        if found.setdefault(one.name, one).value != one.value:
            raise PluginError(f"{one.name}: both {found[one.name].value} and {one.value} announce it in {group}")
    return tuple(found.values())


def packages_in(package: str) -> list[ModuleType]:
    """The packages that stand in the folder of a package. Raises PluginError."""
    folder = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.iter_modules(folder.__path__) if info.ispkg)
    return [Plugin(name, f"{package}.{name}", package).load() for name in names]


def modules_of(root: ModuleType) -> list[ModuleType]:
    """A package and the modules directly in it; a module alone is itself. Raises PluginError."""
    names = sorted(info.name for info in pkgutil.iter_modules(getattr(root, "__path__", ())) if not info.ispkg)
    return [root, *(Plugin(name, f"{root.__name__}.{name}", root.__name__).load() for name in names)]


def package_at(folder: Path) -> ModuleType:
    """A folder given on the command line as a package; it needs no `__init__.py`. Raises PluginError."""
    name = f"{_GIVEN}.{folder.resolve().as_posix().replace('.', '_').strip('/').replace('/', '.')}"
    if name in sys.modules:
        return sys.modules[name]
    for depth in range(1, name.count(".") + 1):
        above = ".".join(name.split(".")[:depth])
        sys.modules.setdefault(above, ModuleType(above))
    start = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(name, start, submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if start.is_file():
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # whatever the code of others does when it is imported
            del sys.modules[name]
            raise PluginError(f"{folder}: {_said(error)}") from error
    return module


def registered(package: str, group: str, base: type[T]) -> dict[str, type[T]]:
    """The classes of a package's modules by their own names, and announced ones by those of their entry points.

    Raises:
        PluginError: one cannot be imported, is no such class, or has the name of another.
    """
    found = named_classes(modules_of(importlib.import_module(package)), base)
    for plugin in installed(group):
        kind = plugin.load()
        if not (isinstance(kind, type) and issubclass(kind, base)):
            raise PluginError(f"{plugin.name} ({plugin.value}) of {plugin.source} is no subclass of {base.__name__}")
        if found.setdefault(plugin.name, kind) is not kind:
            raise PluginError(f"{plugin.name} ({plugin.value}) of {plugin.source}: {found[plugin.name]} has the name")
    return dict(sorted(found.items()))


def named_classes(modules: Iterable[ModuleType], base: type[T]) -> dict[str, type[T]]:
    """The concrete subclasses that modules define, by their names in snake case, sorted.

    Raises:
        PluginError: two have one name.
    """
    found: dict[str, type[T]] = {}
    for module in modules:
        for kind in vars(module).values():
            if not (isinstance(kind, type) and issubclass(kind, base) and kind.__module__ == module.__name__):
                continue
            name = snake_case(kind.__name__)
            if inspect.isabstract(kind) or kind.__name__.startswith("_"):
                continue
            if found.setdefault(name, kind) is not kind:
                raise PluginError(f"{name}: both {found[name].__module__} and {module.__name__} define it")
    return dict(sorted(found.items()))


def snake_case(name: str) -> str:
    """The name of a class in the words of content files.

    >>> snake_case("CpuLimitAtLeast")
    'cpu_limit_at_least'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
