"""The patch that `kubectl apply` and `kubectl set` compute: from last applied, wanted and live.

Source of the rules: k8s.io/apimachinery/pkg/util/strategicpatch (CreateThreeWayMergePatch,
CreateTwoWayMergePatch) and jsonmergepatch for custom resources.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import Json
from simcluster.api.patch.structure import Shape, shape_of
from simcluster.api.resources import Resource
from simcluster.api.schema import TypeSchema, type_of

_DIRECTIVE = "$patch"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"
_RETAIN = "$retainKeys"


def two_way(original: Json, modified: Json, resource: Resource) -> Json:
    """The strategic merge patch that makes `modified` of `original`."""
    schema = type_of(resource.group, resource.version, resource.kind)
    return _objects(original, modified, schema, additions=True, deletions=True)


def three_way(last_applied: Json, modified: Json, live: Json, resource: Resource) -> Json:
    """Additions and changes against `live`, deletions of what was applied last and no longer is."""
    schema = type_of(resource.group, resource.version, resource.kind)
    delta = _objects(live, modified, schema, additions=True, deletions=False)
    removals = _objects(last_applied, modified, schema, additions=False, deletions=True)
    return _combined(removals, delta, schema)


def merge_three_way(last_applied: Json, modified: Json, live: Json) -> Json:
    """The same as a JSON merge patch, for kinds without a known structure."""
    patch = _merge_additions(live, modified)
    for key, value in _merge_deletions(last_applied, modified).items():
        _deep_set(patch, key, value)
    return patch


def _merge_additions(live: Json, modified: Json) -> Json:
    patch: Json = {}
    for key, value in modified.items():
        before = live.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            inner = _merge_additions(before, value)
            if inner:
                patch[key] = inner
        elif key not in live or before != value:
            patch[key] = value
    return patch


def _merge_deletions(last_applied: Json, modified: Json) -> Json:
    patch: Json = {}
    for key, value in last_applied.items():
        if key not in modified:
            patch[key] = None
        elif isinstance(value, dict) and isinstance(modified[key], dict):
            inner = _merge_deletions(value, modified[key])
            if inner:
                patch[key] = inner
    return patch


def _deep_set(patch: Json, key: str, value: Any) -> None:
    if isinstance(value, dict) and isinstance(patch.get(key), dict):
        inner = dict(patch[key])
        for name, item in value.items():
            _deep_set(inner, name, item)
        patch[key] = inner
    else:
        patch[key] = value


def _objects(original: Json, modified: Json, schema: TypeSchema | None, *, additions: bool, deletions: bool) -> Json:
    patch: Json = {}
    for key in sorted({**original, **modified}):
        if key not in modified:
            if deletions:
                patch[key] = None
            continue
        after = modified[key]
        if key not in original:
            if additions:
                patch[key] = after
            continue
        before = original[key]
        if before == after:
            continue
        field = shape_of(schema, key)
        if isinstance(before, dict) and isinstance(after, dict):
            inner = _objects(before, after, field.schema, additions=additions, deletions=deletions)
            if inner:
                if additions and _retains_keys(schema, key):
                    inner[_RETAIN] = sorted(after)
                patch[key] = inner
        elif isinstance(before, list) and isinstance(after, list) and (field.merge_key or field.is_set):
            _lists(patch, key, before, after, field, additions=additions, deletions=deletions)
        elif additions:
            patch[key] = after
    return patch


def _retains_keys(schema: TypeSchema | None, key: str) -> bool:
    field = schema.fields.get(key) if schema is not None else None
    return field is not None and "retainKeys" in field.patch_strategy.split(",")


def _lists(
    patch: Json, key: str, before: list[Any], after: list[Any], field: Shape, *, additions: bool, deletions: bool
) -> None:
    if field.is_set:
        removed = [item for item in before if item not in after]
        added = [item for item in after if item not in before]
        if removed and deletions:
            patch[_DELETE + key] = removed
        if added and additions:
            patch[key] = added
        if (removed and deletions) or (added and additions):
            patch[_ORDER + key] = list(after)
        return
    name = field.merge_key
    old = {item.get(name): item for item in before}
    new = {item.get(name): item for item in after}
    items: list[Json] = []
    for value, item in new.items():
        if value not in old:
            if additions:
                items.append(item)
        elif old[value] != item:
            inner = _objects(old[value], item, field.schema, additions=additions, deletions=deletions)
            if inner:
                items.append({**inner, name: value})
    if deletions:
        items.extend({_DIRECTIVE: "delete", name: value} for value in old if value not in new)
    if items:
        patch[key] = items
    if items or (additions and [v for v in old if v in new] != [v for v in new if v in old]):
        patch[_ORDER + key] = [{name: value} for value in new]


def _combined(removals: Json, delta: Json, schema: TypeSchema | None) -> Json:
    """Both patches as one; the delta wins where they meet."""
    result = dict(removals)
    for key, value in delta.items():
        before = result.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            result[key] = _combined(before, value, shape_of(schema, key).schema)
        elif isinstance(value, list) and isinstance(before, list) and not key.startswith("$"):
            result[key] = _combined_items(before, value, shape_of(schema, key))
        else:
            result[key] = value
    return result


def _combined_items(removals: list[Any], delta: list[Any], field: Shape) -> list[Any]:
    name = field.merge_key
    if not name:
        return delta
    merged = {item.get(name): item for item in removals}
    for item in delta:
        before = merged.get(item.get(name))
        merged[item.get(name)] = _combined(before, item, field.schema) if before is not None else item
    return list(merged.values())
