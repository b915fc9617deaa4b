"""Scenes: what is done to a cluster, line by line, and everything that it answers and becomes.

A scene is a text. `kubectl ...`, `wait 10s`, `node NAME COMMAND`, `container NAMESPACE/POD COMMAND` and
`load NAMESPACE/SERVICE RATE` stand on a line each; `<<END` at the end of a line takes the lines to END as its input.
Lines that begin with `#` are remarks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from simcluster.api.store import Change
from simcluster.session import Sandbox, sandbox

_HERE = " <<END"
#: Numbers that follow from draws and commit order, not from what a scene is about.
_UNTOLD = ("managedFields", "resourceVersion", "selfLink")
_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def steps(text: str) -> Iterator[tuple[str, str]]:
    """Command and input of every line."""
    lines = iter(text.splitlines())
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        stdin = ""
        if line.endswith(_HERE):
            line = line.removesuffix(_HERE)
            for inner in lines:
                if inner == "END":
                    break
                stdin += inner + "\n"
        yield line, stdin


class Names:
    """Unique ids by the order in which they are met."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def plain(self, text: str) -> str:
        """The text with `uid-1`, `uid-2` for its ids."""
        return _UID.sub(lambda found: self._known.setdefault(found[0], f"uid-{len(self._known) + 1}"), text)


class Watcher:
    """Keeps every change of the resources that are watched, as the fields that differ."""

    def __init__(self, live: Sandbox, unwatched: Sequence[str]) -> None:
        self._sim = live.world.sim
        self._now: dict[tuple[str, str, str], dict[str, str]] = {}
        self.lines: list[str] = []
        store = live.world.api.store
        for resource in store.resources():
            if resource not in unwatched:
                for obj in store.objects(resource):
                    metadata = obj["metadata"]
                    self._now[resource, metadata.get("namespace", ""), metadata["name"]] = dict(flat(obj))
        for resource in live.world.api.resources.by_name:
            if resource not in unwatched:
                store.subscribe(resource, self)

    def notify(self, change: Change) -> None:
        """Write down what changed."""
        metadata = change.object["metadata"]
        key = (change.resource, metadata.get("namespace", ""), metadata["name"])
        before = self._now.pop(key, {})
        after = {} if change.kind == "DELETED" else dict(flat(change.object))
        if after:
            self._now[key] = after
        self.lines.append(f"{self._sim.now / 1e9:.3f} {change.kind} {' '.join(filter(None, key))}")
        if change.kind != "DELETED":
            self.lines += [f"  {path}: {value}" for path, value in after.items() if before.get(path) != value]
            self.lines += [f"  -{path}" for path in before if path not in after]


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Paths and leaves of an object."""
    if isinstance(value, str | int | float) or not value:
        yield path, json.dumps(value)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from flat(inner, f"{path}[{number}]")
    else:
        for name in sorted(value):
            if name not in _UNTOLD:
                yield from flat(value[name], f"{path}.{name}" if path else name)


def play(text: str, *, nodes: int = 2, seed: int = 3, unwatched: Sequence[str] | None = None) -> list[str]:
    """Play a scene in a cluster of its own; everything it answered and became.

    Args:
        unwatched: resources whose changes are left out; None: nothing is watched.
    """
    live = sandbox(nodes, seed=seed)
    names = Names()
    watcher = Watcher(live, unwatched) if unwatched is not None else None
    told: list[str] = []
    for line, stdin in steps(text):
        told.append(f"> {line}")
        told += _done(live, line, stdin)
        if watcher is not None:
            told += watcher.lines
            watcher.lines = []
    return [names.plain(line) for line in told]


def _done(live: Sandbox, line: str, stdin: str) -> list[str]:
    verb, _, rest = line.partition(" ")
    if verb == "load":
        service, _, rate = rest.partition(" ")
        namespace, _, name = service.partition("/")
        live.load(name, float(rate), namespace=namespace)
        return []
    target = ""
    if verb in ("node", "container"):
        target, _, rest = rest.partition(" ")
    result = live.submit(verb, rest, target, stdin)
    told = result.stdout.splitlines() + [f"! {line}" for line in result.stderr.splitlines()]
    return [*told, f"! exit {result.exit_code}"] if result.exit_code else told
