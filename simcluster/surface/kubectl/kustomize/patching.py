"""`patches`, `patchesStrategicMerge` and `patchesJson6902` of a kustomization."""

from __future__ import annotations

import json
import re
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.patch import jsonpatch, strategic
from simcluster.api.schema import YamlSyntaxError, decode_yaml, type_of
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.kustomize.item import Item
from simcluster.surface.kubectl.labelselector import parsed, selected

_DELETE = {"$patch": "delete"}


def apply_patch(items: list[Item], text: str, target: Json | None, options: Json) -> list[Item]:
    """The items after one patch of either kind.

    Args:
        text: YAML or JSON of the patch.
        target: the selector of the objects; None: the patch names its object itself.
        options: `allowNameChange`, `allowKindChange`.

    Raises:
        KubectlError: the patch is malformed or finds nothing.
    """
    documents = _decode(text)
    if any(isinstance(document, list) for document in documents):
        operations = [operation for document in documents for operation in document]
        return _apply_operations(items, operations, target)
    for document in documents:
        if target is None:
            items = _apply_strategic(items, document, options)
        else:
            for item in select(items, target):
                items = _merge_into(items, item, document, options)
    return items


def _decode(text: str) -> list[Any]:
    try:
        documents, _ = decode_yaml(text)
    except YamlSyntaxError as error:
        raise plain(f"unable to parse SM or JSON patch from [{text}]: {error}") from None
    found = [document for document in documents if document]
    if not found:
        raise plain("must specify one of patch and path")
    return found


def select(items: list[Item], target: Json) -> list[Item]:
    """The objects that a selector means: regular expressions for names, equality of types, labels."""
    return [item for item in items if _selected(item, target)]


def _selected(item: Item, target: Json) -> bool:
    group, _, version = str(item.obj["apiVersion"]).rpartition("/")
    for field, value in (("group", group), ("version", version), ("kind", item.kind)):
        if target.get(field) and not _fits(str(target[field]), [value]):
            return False
    if target.get("name") and not _fits(str(target["name"]), [item.name, *(name for name, _ in item.names)]):
        return False
    if target.get("namespace"):
        namespaces = [item.namespace, *(namespace for _, namespace in item.names)]
        if not _fits(str(target["namespace"]), namespaces):
            return False
    if target.get("labelSelector") and not selected(parsed(str(target["labelSelector"])), item.obj):
        return False
    if target.get("annotationSelector"):
        annotated = {"metadata": {"labels": (item.obj.get("metadata") or {}).get("annotations") or {}}}
        return selected(parsed(str(target["annotationSelector"])), annotated)
    return True


def _fits(pattern: str, values: list[str]) -> bool:
    try:
        expression = re.compile(pattern)
    except re.error:
        return False
    return any(expression.fullmatch(value) for value in values)


def _apply_operations(items: list[Item], operations: list[Json], target: Json | None) -> list[Item]:
    if target is None:
        raise plain("must specify a target for JSON patch " + json.dumps(operations, separators=(",", ":")))
    for item in select(items, target):
        before = item.name
        try:
            item.obj = jsonpatch.apply(item.obj, operations)
        except (jsonpatch.JsonPatchError, jsonpatch.MalformedPatchError) as error:
            raise plain(str(error)) from None
        if item.name != before:
            item.names.append((before, item.namespace))
    return items


def _apply_strategic(items: list[Item], patch: Json, options: Json) -> list[Item]:
    metadata = patch.get("metadata") or {}
    name, namespace = str(metadata.get("name", "")), str(metadata.get("namespace", ""))
    found = [
        item
        for item in items
        if item.obj["apiVersion"] == patch.get("apiVersion")
        and item.kind == patch.get("kind")
        and item.was_called(name)
        and (not namespace or namespace in (item.namespace, *(old for _, old in item.names)))
    ]
    if len(found) != 1:
        what = _id(patch, name, namespace)
        count = "no matches for Id" if not found else "multiple matches for Id"
        raise plain(f"{count} {what}; failed to find unique target for patch {what}")
    return _merge_into(items, found[0], patch, options)


def _id(patch: Json, name: str, namespace: str) -> str:
    group, _, version = str(patch.get("apiVersion", "")).rpartition("/")
    return f"{patch.get('kind', '')}.{version or '[noVer]'}.{group or '[noGrp]'}/{name}.{namespace or '[noNs]'}"


def _merge_into(items: list[Item], item: Item, patch: Json, options: Json) -> list[Item]:
    if patch.get("$patch") == "delete":
        return [other for other in items if other is not item]
    metadata = dict(patch.get("metadata") or {})
    if not options.get("allowNameChange"):
        metadata["name"] = item.name
    if item.namespace or not options.get("allowNameChange"):
        metadata["namespace"] = item.namespace or None
    change = {**patch, "metadata": metadata}
    if not options.get("allowKindChange"):
        change.update({"apiVersion": item.obj["apiVersion"], "kind": item.kind})
    group, _, version = str(item.obj["apiVersion"]).rpartition("/")
    before = item.name
    try:
        item.obj = strategic.merge(item.obj, change, type_of(group, version, item.kind))
    except strategic.StrategicPatchError as error:
        raise plain(str(error)) from None
    if item.name != before:
        item.names.append((before, item.namespace))
    return items
