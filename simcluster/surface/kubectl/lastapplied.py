"""`kubectl apply view-last-applied|set-last-applied|edit-last-applied`.

Source: kubectl/pkg/cmd/apply (apply_view_last_applied.go, apply_set_last_applied.go) and
kubectl/pkg/cmd/util/editor.
"""

from __future__ import annotations

from functools import partial

from simcluster.api.objects import Json
from simcluster.api.request import MERGE_PATCH
from simcluster.surface.kubectl.apply import LAST_APPLIED, last_applied, with_annotation
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.editing import FORMATS, Editing, Reason
from simcluster.surface.kubectl.errors import StatusError, plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, RECORD, SELECTOR, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Failures, Invocation
from simcluster.surface.kubectl.printers.jsontext import compact_json, to_json
from simcluster.surface.kubectl.printers.yaml import to_yaml
from simcluster.surface.kubectl.selection import Target, Wanted, fetch, of_files

VIEW_FLAGS = (*FILES, SELECTOR, switch("all"), Flag("output", "o", default="yaml"))
SET_FLAGS = (*FILES, *OUTPUT, DRY_RUN, switch("create-annotation"))
EDIT_FLAGS = (*FILES, *OUTPUT, RECORD, manager("kubectl-client-side-apply"), switch("windows-line-endings"))
_HEAD = """# Please edit the 'last-applied-configuration' annotations below.
# Lines beginning with a '#' will be ignored, and an empty file will abort the edit.
# If an error occurs while saving this file will be reopened with the relevant failures.
#
"""


def view(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl apply view-last-applied`."""
    form = arguments.text("output")
    if form not in ("yaml", "json"):
        raise plain(f"Unexpected -o output mode: {form}, the flag 'output' must be one of yaml|json")
    targets, failures = fetch(invocation, arguments, arguments.positional)
    for target in targets:
        found = last_applied(target.obj)
        if found is None:
            continue  # the real one means to complain and does not (its error has no source)
        invocation.write(to_yaml(found) if form == "yaml" else to_json(found, indent=2))
    failures.raise_all()


def set_from_files(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl apply set-last-applied -f FILE`."""
    change = Change(invocation, arguments)
    failures = Failures()
    failures.each(of_files(invocation, arguments, failures), partial(_set, change))


def _set(change: Change, entry: Wanted) -> None:
    """Write the annotation of one object as its file says. Raises KubectlError."""
    try:
        live = change.invocation.named(entry.path)
    except StatusError as error:
        missing = error.reason == "NotFound"
        raise (error if missing else error.when("retrieving current configuration of", entry.source)) from None
    annotations = live["metadata"].get("annotations") or {}
    if LAST_APPLIED not in annotations and not change.arguments.on("create-annotation"):
        raise plain(
            f"no last-applied-configuration annotation found on resource: {entry.name}, to create the annotation, "
            "run the command with --create-annotation"
        )
    wanted = with_annotation(entry.placed())["metadata"]["annotations"][LAST_APPLIED]
    if annotations.get(LAST_APPLIED) != wanted:
        target = Target(entry.resource, entry.namespace, entry.name, live, entry.source)
        live = change.patch(target, {"metadata": {"annotations": {LAST_APPLIED: wanted}}}, MERGE_PATCH)
    change.report(entry.resource, live, "configured")


def edit(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl apply edit-last-applied`."""
    change = Change(invocation, arguments, FORMATS)
    targets, failures = fetch(invocation, arguments, arguments.positional)
    failures.raise_all()
    shown = []
    for target in targets:
        found = last_applied(target.obj)
        if found is None:
            raise plain(
                "no last-applied-configuration annotation found on resources, to create the annotation, "
                "use command `kubectl apply set-last-applied --create-annotation`"
            )
        shown.append(found)
    Editing(change, targets, shown, partial(_annotate, change, list(zip(targets, shown, strict=True))), _HEAD).run()


def _annotate(change: Change, originals: list[tuple[Target, Json]], edited: list[Json]) -> list[Reason]:
    for (target, before), after in zip(originals, edited, strict=False):
        if after == before:
            change.report(target.resource, target.obj, "skipped")
            continue
        patch = {"metadata": {"annotations": {LAST_APPLIED: compact_json(after) + "\n"}}}
        change.report(target.resource, change.patch(target, patch, MERGE_PATCH), "edited")
    return []
