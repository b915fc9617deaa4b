"""`kubectl label` and `kubectl annotate`."""

from __future__ import annotations

import re

from simcluster.api.objects import Json
from simcluster.api.request import MERGE_PATCH
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import (
    ALL_NAMESPACES,
    DRY_RUN,
    FILES,
    OUTPUT,
    RECORD,
    SELECTOR,
    Arguments,
    Flag,
    manager,
    switch,
)
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.selection import Target, fetch

_COMMON = (
    *FILES,
    SELECTOR,
    ALL_NAMESPACES,
    *OUTPUT,
    DRY_RUN,
    RECORD,
    switch("all"),
    Flag("field-selector"),
    switch("list"),
    switch("local"),
    switch("overwrite"),
    Flag("resource-version"),
)
LABEL_FLAGS = (*_COMMON, manager("kubectl-label"))
ANNOTATE_FLAGS = (*_COMMON, manager("kubectl-annotate"))

#: Longest value of a label.
_LONGEST = 63
_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


class _Marking:
    """One run of label or annotate."""

    def __init__(self, invocation: Invocation, arguments: Arguments, field: str) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.field = field
        self.noun = "label" if field == "labels" else "annotation"
        self.change = Change(invocation, arguments)
        self.words: list[str] = []
        self.wanted: dict[str, str] = {}
        self.removed: list[str] = []
        self.many = False  # several objects: their lists get a heading
        self._split()

    def _split(self) -> None:
        for word in self.arguments.positional:
            is_pair = "=" in word and word[0] != "="
            is_removal = word.endswith("-") and not is_pair and len(word) > 1
            if is_pair or (is_removal and (self.words or self.arguments.texts("filename"))):
                self._take(word, is_pair)
            elif self.wanted or self.removed:
                raise plain(f"all resources must be specified before {self.noun} changes: {word}")
            else:
                self.words.append(word)

    def _take(self, word: str, is_pair: bool) -> None:
        if not is_pair:
            self.removed.append(word[:-1])
            return
        key, _, value = word.partition("=")
        if self.field == "labels":
            _check_label(word, value)
        self.wanted[key] = value

    def run(self) -> None:
        arguments = self.arguments
        files = bool(arguments.texts("filename"))
        if arguments.on("local") and not files:
            name = "pod" if self.field == "labels" else "rsrc"
            files_only = f"can only use local files by -f {name}.yaml or --filename={name}.json"
            raise plain(f"{files_only} when --local=true is set")
        if not self.words and not files and not (self.field == "labels" and (self.wanted or self.removed)):
            raise plain("one or more resources must be specified as <resource> <name> or <resource>/<name>")
        if not self.wanted and not self.removed and not arguments.on("list"):
            raise plain(f"at least one {self.noun} update is required")
        for key in self.removed:
            if key in self.wanted:
                raise plain(f"can not both modify and remove a {self.noun} in the same command")
        targets, failures = fetch(self.invocation, arguments, self.words)
        self.many = len(targets) > 1 or bool(arguments.text("selector")) or arguments.on("all")
        failures.each(targets, self.mark)

    def mark(self, target: Target) -> None:
        """Mark one object."""
        present: dict[str, str] = target.obj["metadata"].get(self.field) or {}
        if self.arguments.on("list"):
            indent = " " if self.many else ""
            if self.many:
                resource = target.resource
                what = f"{resource.kind}.{resource.group}/{target.name}"
                self.invocation.line(f"Listing {self.noun}s for {what}:")
            for key in sorted(present):
                self.invocation.line(f"{indent}{key}={present[key]}")
            return
        if not self.arguments.on("overwrite"):
            taken = [
                f"'{key}' already has a value ({present[key]})"
                for key, value in self.wanted.items()
                if key in present and present[key] != value
            ]
            if taken and self.field == "labels":
                raise plain(f"{taken[0]}, and --overwrite is false")
            if taken:
                raise plain("--overwrite is false but found the following declared annotation(s): " + "; ".join(taken))
        patch: dict[str, str | None] = {}
        for key, value in self.wanted.items():
            if present.get(key) != value:
                patch[key] = value
        for key in self.removed:
            if key in present:
                patch[key] = None
            elif self.field == "labels" and self.change.mode != "client" and not self.change.local:
                self.invocation.line(f'label "{key}" not found.')
        changed = self._send(target, patch)
        self.change.report(target.resource, changed, self._done(patch))

    def _send(self, target: Target, patch: dict[str, str | None]) -> Json:
        body = self.change.recorded({"metadata": {self.field: patch}} if patch else {})
        if self.arguments.text("resource-version"):
            body.setdefault("metadata", {})["resourceVersion"] = self.arguments.text("resource-version")
        return self.change.patch(target, body, MERGE_PATCH)

    def _done(self, patch: dict[str, str | None]) -> str:
        if self.field == "annotations":
            return "annotated"
        if not patch:
            return "not labeled"
        return "labeled" if self.wanted else "unlabeled"


def _check_label(word: str, value: str) -> None:
    if len(value) > _LONGEST:
        raise plain(f'invalid label value: "{word}": must be no more than {_LONGEST} characters')
    if value and not re.fullmatch(_NAME, value):
        raise plain(f'invalid label value: "{word}": {_VALUE_TEXT}')


def label(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl label`."""
    _Marking(invocation, arguments, "labels").run()


def annotate(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl annotate`."""
    _Marking(invocation, arguments, "annotations").run()
