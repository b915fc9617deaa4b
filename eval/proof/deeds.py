"""Generic deeds of `check`: small lists of steps with marks, made concrete for a task and its world.

Marks are words in braces: `{namespace}`, `{entry}` (the Service of the users), `{target}` (what is wrong), `{workload}`
(the Deployment that it is or that stands behind it), `{selector}` and `{own}` (its labels and its image), `{service}`
(in front of it), `{other}` and `{labels}` (another Deployment, its labels as JSON), `{elsewhere}` and `{foreign}` (one
that runs another image, and that image), `{node}` (a worker; of a Node's incident that one).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import Field

from simcluster.api.objects import ApiObject, name_of, thaw
from simcluster.engine.content import Content, load_content
from simcluster.surface.protocols import CommandResult, Shell
from simcluster.tasks.model import Step, Task

if TYPE_CHECKING:
    from simcluster.world import World

FOLDER = Path(__file__).parent / "exploits"


class Hand(Protocol):
    """Whoever can do steps: an episode."""

    def kubectl(self, command: str, stdin: str = "") -> CommandResult:
        """Run `kubectl COMMAND`."""

    def node(self, name: str) -> Shell:
        """A root shell on a node."""

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""


class Exploit(Content):
    """One deed that no grade may accept.

    Attributes:
        id: unique among all.
        after: done to the world of the incident, or to the one that the reference fix has repaired.
        steps: with marks.
        exempt: task -> why it is no exploit there.
    """

    id: str
    after: Literal["incident", "fix"] = "fix"
    steps: tuple[Step, ...]
    exempt: dict[str, str] = Field(default_factory=dict)


class ExploitFile(Content):
    """The exploits of one kind."""

    exploits: tuple[Exploit, ...]


@cache
def exploits() -> dict[str, Exploit]:
    """All exploits by id, kind by kind."""
    files = sorted(FOLDER.glob("*.yaml"))
    return {one.id: one for file in files for one in load_content(file, ExploitFile).exploits}


def concrete(steps: tuple[Step, ...], world: World, task: Task) -> tuple[Step, ...]:
    """The steps with their marks replaced as the world is now."""
    marks = marks_of(world, task)
    return tuple(filled(step, marks) for step in steps)


def filled(step: Step, marks: dict[str, str]) -> Step:
    """The step with marks replaced by what they stand for."""
    found = step.model_dump()
    for key, value in found.items():
        for mark, text in marks.items():
            found[key] = value = value.replace(f"{{{mark}}}", text)
    return Step.model_validate(found)


def marks_of(world: World, task: Task) -> dict[str, str]:
    """What the marks stand for."""
    store, ref = world.api.store, task.truth.ref
    deployments = {name_of(one): one for one in store.objects("deployments.apps", task.namespace)}
    named = [ref.name, *reversed(task.protects), *deployments]
    own = next(name for name in named if name in deployments)
    other = next(name for name in reversed(list(deployments)) if name not in (own, task.users.entry))
    foreign = (n for n in reversed(list(deployments)) if _image(deployments[n]) != _image(deployments[own]))
    elsewhere = next((name for name in foreign if name != task.users.entry), other)
    service = own if store.get("services", task.namespace, own) is not None else task.users.entry
    nodes = [ref.name] if ref.kind == "Node" else [n for n in sorted(world.machines) if n != "control-plane"]
    labels = _labels(deployments[own])
    return {
        "namespace": task.namespace,
        "entry": task.users.entry,
        "target": f"{ref.kind.lower()}/{ref.name}",
        "workload": f"deployment/{own}",
        "selector": ",".join(f"{key}={value}" for key, value in labels.items()),
        "own": _image(deployments[own]),
        "service": service,
        "other": f"deployment/{other}",
        "elsewhere": f"deployment/{elsewhere}",
        "foreign": _image(deployments[elsewhere]),
        "labels": json.dumps(_labels(deployments[other])),
        "node": nodes[0],
    }


def perform(hand: Hand, step: Step, namespace: str = "") -> CommandResult:
    """Do one step through the surface; what names no namespace is done in the given one."""
    if step.kubectl:
        where = "" if not namespace or " -n " in step.kubectl else f" -n {namespace}"
        return hand.kubectl(step.kubectl + where, step.stdin)
    if step.sh:
        return hand.node(step.node).sh(step.sh)
    hand.wait(step.wait)
    return CommandResult("")


def _labels(workload: ApiObject) -> dict[str, str]:
    found: dict[str, str] = thaw(workload["spec"]["selector"]["matchLabels"])
    return found


def _image(workload: ApiObject) -> str:
    return str(workload["spec"]["template"]["spec"]["containers"][0]["image"])
