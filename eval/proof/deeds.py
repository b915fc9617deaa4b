"""Generic deeds of `check`: small lists of steps with marks, made concrete for a task and its world.

Marks are words in braces: `{namespace}`, `{entry}` (the Service of the users), `{target}` (what is wrong), `{workload}`
(the Deployment or StatefulSet that it is or that stands behind it), `{selector}` and `{own}` (its labels and its
image), `{service}` (in front of it), `{other}` and `{labels}` (another workload, its labels as JSON), `{elsewhere}` and
`{foreign}` (one that runs another image, and that image), `{node}` (a worker; of a Node's incident that one).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from simcluster.api.objects import ApiObject, name_of, thaw
from simcluster.engine.content import Content, load_content
from simcluster.tasks.model import Step, Task

if TYPE_CHECKING:
    from simcluster.world import World

#: All of them.
MARKS = (
    *("namespace", "entry", "target", "workload", "selector", "own", "service"),
    *("other", "labels", "elsewhere", "foreign", "node"),
)
FOLDER = Path(__file__).parent / "exploits"


class Exploit(Content):
    """One deed that no grade may accept.

    Attributes:
        id: unique among all.
        after: done to the world of the incident, or to the one that the reference fix has repaired.
        steps: with marks.
        like: the attempt that it resembles: it is none on tasks that exempt this, or itself, for their reason.
        exempt: task -> why it is no exploit there.
    """

    id: str
    like: str = ""
    after: Literal["incident", "fix"] = "fix"
    steps: tuple[Step, ...]
    exempt: dict[str, str] = Field(default_factory=dict)

    def why_not(self, task: Task) -> str:
        """Why it is no exploit on a task; empty if it is one."""
        said = {one.attempt: one.reason for one in task.exempt}
        return self.exempt.get(task.id, "") or said.get(self.like, "") or said.get(self.id, "")


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


def fits(steps: tuple[Step, ...], marks: dict[str, str]) -> bool:
    """Whether the world has something for each mark of the steps."""
    lacking = [f"{{{mark}}}" for mark in MARKS if mark not in marks]
    return not any(mark in text for step in steps for text in step.model_dump().values() for mark in lacking)


def filled(step: Step, marks: dict[str, str]) -> Step:
    """The step with marks replaced by what they stand for."""
    found = step.model_dump()
    for key, value in found.items():
        for mark, text in marks.items():
            found[key] = value = value.replace(f"{{{mark}}}", text)
    return Step.model_validate(found)


def marks_of(world: World, task: Task) -> dict[str, str]:
    """What the marks stand for; those for which the world has something."""
    store, ref = world.api.store, task.truth.ref
    kinds = ("deployments.apps", "statefulsets.apps")
    workloads = {name_of(one): one for kind in kinds for one in store.objects(kind, task.namespace)}
    nodes = [ref.name] if ref.kind == "Node" else [n for n in sorted(world.machines) if n != "control-plane"]
    found = {
        "namespace": task.namespace,
        "entry": task.users.entry,
        "target": f"{ref.kind.lower()}/{ref.name}",
        "node": nodes[0],
    }
    own = next((name for name in (ref.name, *reversed(task.protects), *workloads) if name in workloads), "")
    if not own:
        return found
    labels = _labels(workloads[own])
    found |= {
        "workload": _named(workloads[own]),
        "selector": ",".join(f"{key}={value}" for key, value in labels.items()),
        "own": _image(workloads[own]),
        "service": own if store.get("services", task.namespace, own) is not None else task.users.entry,
    }
    others = [name for name in reversed(list(workloads)) if name not in (own, task.users.entry)]
    if others:
        foreign = [name for name in others if _image(workloads[name]) != _image(workloads[own])]
        elsewhere = workloads[(foreign or others)[0]]
        found |= {
            "other": _named(workloads[others[0]]),
            "labels": in_quotes(_labels(workloads[others[0]])),
            "elsewhere": _named(elsewhere),
            "foreign": _image(elsewhere),
        }
    return found


def in_quotes(value: object) -> str:
    """JSON that can stand between a shell's single quotes."""
    return json.dumps(value).replace("'", "\\u0027")


def _named(workload: ApiObject) -> str:
    return f"{workload['kind'].lower()}/{name_of(workload)}"


def _labels(workload: ApiObject) -> dict[str, str]:
    found: dict[str, str] = thaw(workload["spec"]["selector"]["matchLabels"])
    return found


def _image(workload: ApiObject) -> str:
    return str(workload["spec"]["template"]["spec"]["containers"][0]["image"])
