"""The agents there are: the reference agents, and those of installed packages.

A package adds agents under the entry-point group `simcluster.agents`: name = module:Class,
a class that is called without arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from simcluster.agents.expert import Expert, ReferenceStep
from simcluster.agents.protocol import Agent
from simcluster.engine.content import UnknownName
from simcluster.engine.discovery import Plugin, PluginError, installed, modules_of, packages_in

ENTRY_POINT_GROUP = "simcluster.agents"


@cache
def _reference() -> dict[str, type[Agent]]:
    """The agents of this folder, by name: classes with a `name` and a `run`. Raises PluginError."""
    folder = import_module("simcluster.agents")
    found: dict[str, type[Agent]] = {}
    for module in (*modules_of(folder), *packages_in(folder.__name__)):
        for kind in vars(module).values():
            name = getattr(kind, "name", None)
            if isinstance(kind, type) and isinstance(name, str) and hasattr(kind, "run"):
                found[name] = kind
    return found


def _installed() -> dict[str, Plugin]:
    """Those of other packages. Raises PluginError: one has the name of another."""
    found = {plugin.name: plugin for plugin in installed(ENTRY_POINT_GROUP)}
    clash = [name for name in found if name in _reference()]
    for name in clash:
        raise PluginError(f"{name} ({found[name].value}) of {found[name].source}: there is such an agent")
    return found


def names() -> list[str]:
    """Names of all agents, sorted."""
    return sorted({*_reference(), *_installed()})


def describe(name: str) -> str:
    """One line about an agent."""
    if name in _reference():
        return (_reference()[name].__doc__ or "").partition("\n")[0]
    return f"from {_installed()[name].source}" if name in _installed() else ""


def check(name: str) -> None:
    """Raises UnknownName, with the nearest names, if there is no such agent."""
    if name not in names() and not _is_path(name):
        raise UnknownName("agent", name, names())


def create(name: str, steps: Sequence[ReferenceStep] = ()) -> Agent:
    """A fresh agent.

    Args:
        name: a registered name, or `module:Class` of something importable.
        steps: the task's reference fix; only the expert is given it. What the cause is, nobody is told.

    Raises:
        UnknownName: there is no such agent; the nearest are listed.
        PluginError: it cannot be imported.
    """
    check(name)
    if name == "expert":
        return Expert(steps)
    if name in _reference():
        return _reference()[name]()
    plugin = Plugin(name, name, "the command line") if _is_path(name) else _installed()[name]
    made: Agent = plugin.load()()
    return made


def location(name: str) -> str:
    """`module:Class` of an agent that is not one of ours; empty for those."""
    if _is_path(name):
        return name
    return _installed()[name].value if name in _installed() else ""


def _is_path(name: str) -> bool:
    module, colon, attribute = name.partition(":")
    return bool(colon and module and attribute.isidentifier())
