"""The usual looks of an operator, and which of them tell what was changed.

Pods, Events, what the last rollout of each workload of the application changed, the youngest objects, ring buffers of
nodes, and the lines of the application's logs that speak of errors or failures. A look tells a fact if one of its lines
names the object and the value, or the place of it; of an object that was made or deleted the name is enough, of a part
of a machine the device.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from simcluster.faults.facts import ChangedFact, leaves, segments
from simcluster.faults.incident import Incident
from simcluster.surface.protocols import Outcome, Shell
from simcluster.tasks.model import Task

#: So many of the youngest objects are looked at.
YOUNGEST = 5
_OBJECTS = (
    *("deployments", "statefulsets", "daemonsets", "services", "endpointslices", "configmaps", "secrets"),
    *("serviceaccounts", "networkpolicies", "ingresses", "horizontalpodautoscalers", "poddisruptionbudgets"),
    *("persistentvolumeclaims", "resourcequotas", "limitranges", "jobs"),
)
_WORKLOADS = ("deployments", "statefulsets", "daemonsets")
_FAILURES = re.compile("error|fail", re.IGNORECASE)
#: A value of fewer characters is in any text.
_TELLING = 3


class Looked(Protocol):
    """What is needed of an episode."""

    task: Task
    incident: Incident

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        """Run `kubectl COMMAND`."""

    def node(self, name: str) -> Shell:
        """A root shell on a node."""


class Line(NamedTuple):
    """One line of a look, and what was looked at."""

    look: str
    about: str
    text: str


def revealed(episode: Looked) -> list[str]:
    """Which usual looks tell which changed fact of a cause; empty: none of them does."""
    facts, found = list(_causes(episode)), dict[str, None]()
    for line in usual_looks(episode):
        for fact in facts:
            if _tells(line, fact):
                found[f"{line.look} tells {fact.path or 'it'} of {fact.place}: {line.text.strip()[:160]}"] = None
    return list(found)


def usual_looks(episode: Looked) -> Iterator[Line]:
    """Every line of every usual look."""
    namespace = episode.task.namespace
    for look, command in (
        ("get pods -A", "get pods -A -o wide"),
        ("get events -A", "get events -A --sort-by=.lastTimestamp"),
    ):
        yield from (Line(look, "", line) for line in episode.kubectl(command).stdout.splitlines())
    for one in _youngest(episode):
        yield Line("the youngest objects", "", f"{one['kind']}/{one['metadata']['name']}")
    for kind in _WORKLOADS:
        for one in _items(episode, f"get {kind} -n {namespace}"):
            about = f"{one['kind']}/{one['metadata']['name']}"
            yield from (Line("rollout history", about, line) for line in _rolled_out(episode, about, namespace))
    for one in _items(episode, "get nodes"):
        name = one["metadata"]["name"]
        yield from (Line("dmesg", f"Node/{name}", line) for line in episode.node(name).sh("dmesg").stdout.splitlines())
    for one in _items(episode, f"get pods -n {namespace}"):
        name = one["metadata"]["name"]
        lines = episode.kubectl(f"logs {name} -n {namespace} --all-containers --tail=2000").stdout.splitlines()
        yield from (Line("logs", name, line) for line in lines if _FAILURES.search(line))


def _items(episode: Looked, command: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(episode.kubectl(f"{command} -o json").stdout or "{}").get("items") or []
    return found


def _youngest(episode: Looked) -> list[dict[str, Any]]:
    found = [one for kind in _OBJECTS for one in _items(episode, f"get {kind} -A")]
    return sorted(found, key=_created)[-YOUNGEST:]


def _created(obj: dict[str, Any]) -> str:
    return str(obj["metadata"]["creationTimestamp"])


def _rolled_out(episode: Looked, workload: str, namespace: str) -> list[str]:
    """Lines in which the templates of its last two revisions differ."""
    history = f"rollout history {workload.lower()} -n {namespace}"
    numbers = re.findall(r"^(\d+)\s", episode.kubectl(history).stdout, re.MULTILINE)
    if len(numbers) < 2:
        return []
    old, new = (
        episode.kubectl(f"{history} --revision={number}").stdout.splitlines()[1:]
        for number in sorted(numbers, key=int)[-2:]
    )
    return [line for line in (*old, *new) if (line in old) != (line in new)]


def _causes(episode: Looked) -> Iterator[ChangedFact]:
    """What the faults that are causes changed."""
    for index, step in enumerate(episode.task.incident):
        if step.fault and not step.harmless:
            yield from episode.incident.record.get(index, ())


def _tells(line: Line, fact: ChangedFact) -> bool:
    text = f"{line.about} {line.text}"
    if fact.place.part and fact.place.kind == "Node":
        device = fact.place.part.rpartition("/")[2]
        return _named(text, fact.place.name) and any(_named(line.text, word) for word in (device, fact.path) if word)
    if not _named(text, fact.place.name):
        return False
    if not fact.path:
        return not line.about
    words = [word for word in segments(fact.path) if word not in ("value", "name") and not word.isdigit()][-1:]
    for value in (fact.before, fact.after):
        words += [str(one) for _, one in leaves(value) if one is not None]
    return any(len(word) >= _TELLING and "\n" not in word and _named(line.text, word) for word in words)


def _named(text: str, word: str) -> bool:
    """Whether a word stands in a text by itself: `cart` is not in `cartservice`, nor in `redis-cart`."""
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) is not None
