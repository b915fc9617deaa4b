"""`kubectl edit`: hands an object to the user's editor and sends what came back.

Left out: several objects in one file, reopening the editor after an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.request import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from simcluster.api.schema import YamlSyntaxError, decode_yaml
from simcluster.surface.kubectl import strategicdiff
from simcluster.surface.kubectl.apply import validation
from simcluster.surface.kubectl.changing import Change, is_built_in
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import FILES, OUTPUT, VALIDATE, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.yaml import to_yaml
from simcluster.surface.kubectl.selection import Target, fetch

FLAGS = (
    *FILES,
    *OUTPUT,
    VALIDATE,
    manager("kubectl-edit"),
    switch("output-patch"),
    switch("save-config"),
    Flag("subresource"),
    switch("windows-line-endings"),
)
HEAD = """# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
"""


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl edit`."""
    each_edited(invocation, arguments, _edit)


def each_edited(invocation: Invocation, arguments: Arguments, edit: Callable[[Change, Target], None]) -> None:
    """Fetch what the arguments name and have each object edited. Raises as `fetch` does, or without an editor."""
    targets, failures = fetch(invocation, arguments, arguments.positional)
    failures.raise_all()
    if invocation.workstation is None:
        raise plain('unable to launch the editor "vi"')
    change = Change(invocation, arguments)
    for target in targets:
        edit(change, target)


def _edit(change: Change, target: Target) -> None:
    invocation, arguments = change.invocation, change.arguments
    assert invocation.workstation is not None
    shown = _without_managed_fields(target.obj, keep=arguments.on("show-managed-fields"))
    as_json = arguments.text("output") == "json"
    text = to_json(shown) if as_json else HEAD + to_yaml(shown)
    answer = invocation.workstation.edit(text, ".json" if as_json else ".yaml")
    lines = [line for line in answer.splitlines() if not line.startswith("#")]
    if not "".join(lines).strip():
        invocation.note("Edit cancelled, saved file was empty.")
        return
    edited = parsed(answer)
    if edited == shown:
        invocation.note("Edit cancelled, no changes made.")
        return
    patch, kind = _patch(shown, edited, target)
    if arguments.on("output-patch"):
        invocation.line(f"Patch: {to_json(patch)}")
    query = change.query(fieldValidation=validation(arguments))
    changed: Json = invocation.ask("PATCH", target.path, query, body=patch, content_type=kind).body
    change.report(target.resource, changed, "edited")


def _without_managed_fields(obj: Json, *, keep: bool) -> Json:
    if keep:
        return obj
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def parsed(text: str) -> Any:
    """The one object in what an editor left. Raises KubectlError."""
    try:
        documents, _ = decode_yaml(text)
    except YamlSyntaxError as error:
        raise plain(f"error parsing edited-file: error converting YAML to JSON: {error}") from None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise plain("the edited file must hold one object")
    return documents[0]


def _patch(before: Json, after: Json, target: Target) -> tuple[Json, str]:
    for key in ("apiVersion", "kind"):
        if before.get(key) != after.get(key):
            raise plain(f"At least one of apiVersion, kind and name was changed: {key}")
    if before["metadata"]["name"] != (after.get("metadata") or {}).get("name"):
        raise plain("At least one of apiVersion, kind and name was changed")
    if is_built_in(target.resource):
        return strategicdiff.two_way(before, after, target.resource), STRATEGIC_MERGE_PATCH
    return strategicdiff.merge_three_way(before, after, before), MERGE_PATCH
