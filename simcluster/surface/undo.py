"""What the tool has written, and how to take it back: the objects as they were before each command.

Before a command writes, it is tried on the server without effect (`--dry-run=server`), which names the objects that it
would change; they are kept as they are. Taking it back replaces them, creates what was deleted, deletes what was
created. Left out: what controllers made of it, and commands that the server cannot try (`rollout restart`, `drain`):
of these the objects are those that they name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from simcluster.surface.protocols import Outcome

#: Commands that change objects of which the server says beforehand which.
_TRIED = ("annotate", "apply", "autoscale", "create", "expose", "label", "patch", "replace", "run", "scale", "set")
#: Commands that change the objects they name.
_NAMED = ("delete", "rollout", "cordon", "uncordon", "drain", "taint")
#: Flags that say which objects are meant, with a value.
_CHOOSING = ("-n", "--namespace", "-l", "--selector", "-f", "--filename", "--field-selector")
_MOST = 50


class Kept(NamedTuple):
    """One object before a command.

    Attributes:
        name: as in `deployment.apps/web`; before: the object, None if there was none.
    """

    name: str
    namespace: str
    before: dict[str, Any] | None


class Written(NamedTuple):
    """One command that wrote."""

    command: str
    objects: tuple[Kept, ...]


class Runs(Protocol):
    """Whoever runs the commands that prepare: by the free look of a served cluster, or charged like any other."""

    def run(self, words: Sequence[str], stdin: str = "") -> Outcome:
        """Run kubectl with these words."""


class Undo:
    """The stack of what was written.

    Args:
        kubectl: runs what prepares: reads, and trials without effect.
    """

    def __init__(self, kubectl: Runs) -> None:
        self._kubectl = kubectl
        self._stack: list[Written] = []

    @property
    def last(self) -> Written | None:
        """The command that would be taken back."""
        return self._stack[-1] if self._stack else None

    def prepare(self, words: Sequence[str], stdin: str) -> Written | None:
        """What a command is about to change; None if it changes nothing that is known."""
        verb = next((word for word in words if not word.startswith("-")), "")
        if verb in _TRIED:
            names = self._names([*words, "--dry-run=server", "-o", "json"], stdin)
        elif verb in _NAMED:
            names = self._names(["get", *_places(words), "-o", "json"], stdin)
        else:
            return None
        objects = tuple(Kept(name, namespace, self._now(name, namespace)) for name, namespace in names[:_MOST])
        return Written("kubectl " + " ".join(words), objects) if objects else None

    def done(self, written: Written) -> None:
        """It was carried out."""
        self._stack.append(written)

    def take_back(self) -> list[tuple[str, str]]:
        """Commands (without `kubectl`) and their standard input that undo the last one; it leaves the stack."""
        commands = []
        for kept in self._stack.pop().objects:
            place = f"-n {kept.namespace} " if kept.namespace else ""
            there = self._now(kept.name, kept.namespace)
            if kept.before is None:
                commands.append((f"delete {kept.name} {place}--wait=false --ignore-not-found", ""))
            elif there is None:
                commands.append((f"create {place}-f -", json.dumps(_fresh(kept.before, keeps_identity=False))))
            else:
                commands.append((f"replace {place}-f -", json.dumps(_fresh(kept.before, keeps_identity=True))))
        return commands

    def _names(self, words: list[str], stdin: str) -> list[tuple[str, str]]:
        result = self._kubectl.run(words, stdin)
        if result.exit_code:
            return []
        return [_name(found) for found in _documents(result.stdout) if "kind" in found]

    def _now(self, name: str, namespace: str) -> dict[str, Any] | None:
        place = ["-n", namespace] if namespace else []
        result = self._kubectl.run(["get", name, *place, "-o", "json"])
        return None if result.exit_code else json.loads(result.stdout)


def _documents(text: str) -> list[dict[str, Any]]:
    """JSON objects one after the other, lists opened."""
    decoder, at = json.JSONDecoder(), 0
    found: list[Any] = []
    text = text.strip()
    while at < len(text):
        try:
            each, end = decoder.raw_decode(text, at)
        except ValueError:
            break
        found += each["items"] if isinstance(each, dict) and each.get("kind") == "List" else [each]
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return [each for each in found if isinstance(each, dict)]


def _name(found: dict[str, Any]) -> tuple[str, str]:
    group = str(found.get("apiVersion", "")).rpartition("/")[0].partition("/")[0]
    meta = found.get("metadata", {})
    kind = str(found["kind"]).lower()
    return f"{kind}.{group}/{meta.get('name')}" if group else f"{kind}/{meta.get('name')}", meta.get("namespace", "")


def _fresh(found: dict[str, Any], *, keeps_identity: bool) -> dict[str, Any]:
    """An object as it is sent again."""
    dropped = ("resourceVersion", "managedFields", "generation") + (
        () if keeps_identity else ("uid", "creationTimestamp")
    )
    meta = {key: value for key, value in found.get("metadata", {}).items() if key not in dropped}
    return {key: value for key, value in found.items() if key != "status"} | {"metadata": meta}


def _places(words: Sequence[str]) -> list[str]:
    """Of `rollout undo deploy/web -n shop --to-revision=2`: what `get` needs."""
    kept, skip = [], False
    plain = [word for word in words if not word.startswith("-")]
    drop = plain[:2] if plain[:1] == ["rollout"] else plain[:1]
    for word in words:
        if skip:
            kept.append(word)
            skip = False
        elif word in _CHOOSING:
            kept.append(word)
            skip = True
        elif word.startswith(tuple(f"{flag}=" if flag.startswith("--") else flag for flag in _CHOOSING)):
            kept.append(word)
        elif drop and word == drop[0]:
            drop = drop[1:]
        elif not word.startswith("-") and "=" not in word and ":" not in word and not word.endswith("-"):
            kept.append(word)
    nodes = plain[:1] and plain[0] in ("cordon", "uncordon", "drain")
    return ["node", *kept] if nodes else kept
