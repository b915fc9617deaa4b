"""`kubectl edit`: hands objects to the user's editor and sends what came back."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.api.request import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from simcluster.surface.kubectl import strategicdiff
from simcluster.surface.kubectl.apply import validation, with_annotation
from simcluster.surface.kubectl.changing import Change, is_built_in
from simcluster.surface.kubectl.editing import FORMATS, Editing, Reason, refused
from simcluster.surface.kubectl.errors import StatusError, plain
from simcluster.surface.kubectl.flags import FILES, OUTPUT, RECORD, VALIDATE, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.printers.go_value import go_syntax
from simcluster.surface.kubectl.printers.jsontext import compact_json
from simcluster.surface.kubectl.selection import Target, fetch

FLAGS = (
    *FILES,
    *OUTPUT,
    RECORD,
    VALIDATE,
    manager("kubectl-edit"),
    switch("output-patch"),
    switch("save-config"),
    Flag("subresource"),
    switch("windows-line-endings"),
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl edit`."""
    change = Change(invocation, arguments, FORMATS)
    targets, failures = fetch(invocation, arguments, arguments.positional, need_name=False)
    failures.raise_all()
    if not targets:
        raise plain("edit cancelled, no objects found")
    shown = [_without_managed_fields(target.obj) for target in targets]
    Editing(change, targets, shown, _Patching(change, targets, shown).accept).run()


class _Patching:
    """Patches the objects that were edited."""

    def __init__(self, change: Change, targets: list[Target], shown: list[Json]) -> None:
        self.change = change
        pairs = zip(targets, shown, strict=True)
        self.originals = {target.obj["metadata"].get("uid"): (target, obj) for target, obj in pairs}

    def accept(self, edited: list[Json]) -> list[Reason]:
        """Patch what differs; what the server found wrong. Raises KubectlError."""
        reasons = []
        for obj in edited:
            found = self.originals.get(obj["metadata"].get("uid"))
            if found is None:
                raise plain(f"no original object found for {go_syntax(obj)}")
            try:
                self._patch(*found, obj)
            except StatusError as error:
                reason = refused(self.change, found[0], error)
                if reason is not None:
                    reasons.append(reason)
        return reasons

    def _patch(self, target: Target, before: Json, after: Json) -> None:
        change, arguments = self.change, self.change.arguments
        after = change.recorded(after)
        if arguments.on("save-config"):
            after = with_annotation(after)
        if after == before:
            change.report(target.resource, after, "skipped")
            return
        patch, kind = _patch(before, after, target)
        if arguments.on("output-patch"):
            change.invocation.line(f"Patch: {compact_json(patch)}")
        query = change.query(fieldValidation=validation(arguments))
        changed: Json = change.invocation.ask("PATCH", target.path, query, body=patch, content_type=kind).body
        change.report(target.resource, changed, "edited")


def _without_managed_fields(obj: Json) -> Json:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def _patch(before: Json, after: Json, target: Target) -> tuple[Json, str]:
    changed = any(before.get(key) != after.get(key) for key in ("apiVersion", "kind"))
    if changed or before["metadata"].get("name") != after["metadata"].get("name"):
        raise plain("At least one of apiVersion, kind and name was changed")
    if is_built_in(target.resource):
        return strategicdiff.two_way(before, after, target.resource), STRATEGIC_MERGE_PATCH
    return strategicdiff.merge_three_way(before, after, before), MERGE_PATCH
