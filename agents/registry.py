"""The agents there are: the reference agents, and those of installed packages.

A package adds agents under the entry-point group `simcluster.agents`: name = module:Class,
a class that is called without arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points

from simcluster.agents.expert import Expert, ReferenceStep
from simcluster.agents.noop import Noop
from simcluster.agents.protocol import Agent
from simcluster.agents.restarter import Restarter
from simcluster.agents.runbook import Runbook
from simcluster.engine.content import UnknownName

ENTRY_POINT_GROUP = "simcluster.agents"

#: Name -> one line about it.
AGENTS = {
    "expert": "finds the cause by looking, then does the task's reference fix, through the same surface as everybody",
    "noop": "waits and does nothing: what would have happened anyway",
    "restarter": "restarts every rollout and deletes every pod, and hopes",
    "runbook": "follows written rules; knows no task",
}
_REFERENCE: dict[str, type[Agent]] = {"noop": Noop, "restarter": Restarter, "runbook": Runbook}


def names() -> list[str]:
    """Names of all agents, sorted."""
    return sorted({*AGENTS, *_installed()})


def describe(name: str) -> str:
    """One line about an agent."""
    return AGENTS.get(name) or f"from {_installed().get(name, '')}"


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
    """
    check(name)
    if name == "expert":
        return Expert(steps)
    simple: type[Agent] | None = _REFERENCE.get(name)
    if simple is not None:
        return simple()
    module, _, attribute = location(name).partition(":")
    made: Agent = getattr(import_module(module), attribute)()
    return made


def location(name: str) -> str:
    """`module:Class` of an agent that is not one of ours; empty for those."""
    return name if _is_path(name) else _installed().get(name, "")


def _is_path(name: str) -> bool:
    module, colon, attribute = name.partition(":")
    return bool(colon and module and attribute.isidentifier())


def _installed() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
