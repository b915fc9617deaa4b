"""`kubectl taint`."""

from __future__ import annotations

import re
from functools import partial

from simcluster.api.objects import Json, thaw
from simcluster.api.request import STRATEGIC_MERGE_PATCH
from simcluster.surface.kubectl import strategicdiff
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import plain, usage
from simcluster.surface.kubectl.flags import DRY_RUN, OUTPUT, SELECTOR, VALIDATE, Arguments, manager, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.selection import Target, fetch

FLAGS = (*OUTPUT, DRY_RUN, VALIDATE, SELECTOR, manager("kubectl-taint"), switch("all"), switch("overwrite"))

_NAME_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_KEY = re.compile(r"(?:[a-z0-9.-]+/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ADD = re.compile(r"([^=:]+)(?:=([^:]*))?:([A-Za-z]+)")
_REMOVE = re.compile(r"([^=:]+)(?:=([^:]*))?(?::([A-Za-z]+))?-")


class _Taints:
    """Taints to add and to remove."""

    def __init__(self, words: list[str]) -> None:
        self.added: list[Json] = []
        self.removed: list[tuple[str, str]] = []
        for word in words:
            removal, addition = _REMOVE.fullmatch(word), _ADD.fullmatch(word)
            if removal:
                self.removed.append((removal[1], removal[3] or ""))
            elif addition:
                self._add(word, addition[1], addition[2] or "", addition[3])
            else:
                raise usage("taint", f"invalid taint spec: {word}, {_NAME_TEXT}")
        both = [taint["key"] for taint in self.added if any(key == taint["key"] for key, _ in self.removed)]
        if both:
            listed = ",".join(f"{key}=" for key in both)
            raise plain(f"can not both modify and remove the following taint(s) in the same command: {listed}")

    def _add(self, word: str, key: str, value: str, effect: str) -> None:
        if effect not in _EFFECTS:
            raise usage("taint", f"invalid taint effect: {effect}, unsupported taint effect")
        if not _KEY.fullmatch(key):
            raise usage("taint", f"invalid taint spec: {word}, {_NAME_TEXT}")
        taint: Json = {"key": key, "effect": effect}
        if value:
            taint["value"] = value
        self.added.append(taint)

    def apply(self, node: Json, *, overwrite: bool) -> str:
        """Change a copy of a node; the word for what was done. Raises KubectlError."""
        present = list((node.get("spec") or {}).get("taints") or ())
        for key, effect in self.removed:
            kept = [taint for taint in present if not (taint["key"] == key and effect in ("", taint["effect"]))]
            if len(kept) == len(present):
                raise plain(f'taint "{key}{":" + effect if effect else ""}" not found')
            present = kept
        exists = False
        for taint in self.added:
            same = [entry for entry in present if (entry["key"], entry["effect"]) == (taint["key"], taint["effect"])]
            exists = exists or bool(same)
            if same and not overwrite:
                name = node["metadata"]["name"]
                raise plain(
                    f"node {name} already has {taint['key']} taint(s) with same effect(s) and --overwrite is false"
                )
            present = [entry for entry in present if entry not in same] + [taint]
        spec = node.setdefault("spec", {})
        if present:
            spec["taints"] = present
        else:
            spec.pop("taints", None)
        if not self.added:
            return "untainted"
        return "modified" if exists or self.removed else "tainted"


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl taint`."""
    words = arguments.positional
    if not words:
        raise plain("one or more resources must be specified as <resource> <name>")
    first = next(
        (i for i, word in enumerate(words) if _REMOVE.fullmatch(word) or "=" in word or ":" in word), len(words)
    )
    names, changes = words[:first], words[first:]
    if not changes:
        raise plain("at least one taint update is required")
    if not names:
        raise plain("one or more resources must be specified as <resource> <name>")
    if invocation.find(names[0].partition("/")[0]).name != "nodes":
        raise plain(f"invalid resource type {names[0]}, only node types are supported")
    taints = _Taints(changes)
    change = Change(invocation, arguments)
    targets, failures = fetch(invocation, arguments, names)
    failures.each(targets, partial(_taint, change, taints))


def _taint(change: Change, taints: _Taints, target: Target) -> None:
    """Taint one node. Raises KubectlError."""
    after = thaw(target.obj)
    done = taints.apply(after, overwrite=change.arguments.on("overwrite"))
    patch = strategicdiff.two_way(target.obj, after, target.resource)
    changed = change.patch(target, patch, STRATEGIC_MERGE_PATCH) if patch else after
    change.report(target.resource, changed, done, plain_text=change.mode == "client")
