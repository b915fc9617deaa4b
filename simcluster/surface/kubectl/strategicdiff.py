"""The patch that `kubectl apply` and `kubectl set` compute: from last applied, wanted and live.

Source of the rules: k8s.io/apimachinery/pkg/util/strategicpatch (CreateThreeWayMergePatch,
CreateTwoWayMergePatch) and jsonmergepatch for custom resources.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import Json
from simcluster.api.patch.strategic import KeyReader, in_order
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
    return _Diff(additions=True, deletions=True).objects(original, modified, schema)


def three_way(last_applied: Json, modified: Json, live: Json, resource: Resource) -> Json:
    """Additions and changes against `live`, deletions of what was applied last and no longer is."""
    schema = type_of(resource.group, resource.version, resource.kind)
    delta = _Diff(additions=True, deletions=False).objects(live, modified, schema)
    removals = _Diff(additions=False, deletions=True).objects(last_applied, modified, schema)
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


class _Diff:
    """One comparison: whether additions and changes, and whether deletions, come into the patch."""

    def __init__(self, *, additions: bool, deletions: bool) -> None:
        self.additions = additions
        self.deletions = deletions

    def objects(self, original: Json, modified: Json, schema: TypeSchema | None, *, retains: bool = False) -> Json:
        """The patch of an object; `retains`: it names the keys that may remain."""
        patch: Json = {}
        for key, after in modified.items():
            if key not in original:
                if self.additions:
                    patch[key] = after
            elif original[key] != after:
                self._field(patch, key, original[key], after, shape_of(schema, key))
        if self.deletions:
            patch.update((key, None) for key in original if key not in modified)
        retained = sorted(key for key, value in modified.items() if value is not None)
        if retains and retained and (patch or not original.keys() <= modified.keys()):
            patch[_RETAIN] = retained
        return patch

    def _field(self, patch: Json, key: str, before: Any, after: Any, shape: Shape) -> None:
        if isinstance(before, dict) and isinstance(after, dict):
            inner = self.objects(before, after, shape.schema, retains=shape.retains)
            if inner:
                patch[key] = inner
        elif before and isinstance(before, list) and isinstance(after, list) and _merges(before, after, shape):
            (self._scalars if shape.is_set else self._items)(patch, key, before, after, shape)
        elif self.additions:
            patch[key] = after

    def _scalars(self, patch: Json, key: str, before: list[Any], after: list[Any], shape: Shape) -> None:
        removed = [item for item in before if item not in after] if self.deletions else []
        added = [item for item in after if item not in before] if self.additions else []
        if removed:
            patch[_DELETE + key] = removed
        if added:
            patch[key] = added
        if after and (removed or self.additions):
            patch[_ORDER + key] = list(after)

    def _items(self, patch: Json, key: str, before: list[Any], after: list[Any], shape: Shape) -> None:
        name = shape.merge_key
        waiting: dict[str, list[Json]] = {}  # keys may repeat, as ports of two protocols do: they match in order
        for item in before:
            waiting.setdefault(str(item.get(name)), []).append(item)
        items: list[Json] = []
        for item in after:
            same = waiting.get(str(item.get(name)))
            if same:
                inner = self.objects(same.pop(0), item, shape.schema, retains=shape.retains)
                if inner:
                    items.append({**inner, name: item.get(name)})
            elif self.additions:
                items.append(item)
        if self.deletions:
            gone = [item for _, rest in sorted(waiting.items()) for item in rest]
            items.extend({_DIRECTIVE: "delete", name: item.get(name)} for item in gone)
        if items:
            patch[key] = items
        keys = [item.get(name) for item in after]
        if keys and (items or (self.additions and keys != [item.get(name) for item in before])):
            patch[_ORDER + key] = [{name: value} for value in keys]


def _merges(before: list[Any], after: list[Any], shape: Shape) -> bool:
    """Whether the items are joined; a list that holds something else is replaced, and the server judges it."""
    both = [*before, *after]
    return shape.is_set or (bool(shape.merge_key) and all(isinstance(item, dict) for item in both))


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
    merged = list(removals)
    for item in delta:
        place = next((i for i, other in enumerate(merged) if other.get(name) == item.get(name)), None)
        if place is None:
            merged.append(item)
        else:
            merged[place] = _combined(merged[place], item, field.schema)
    return in_order(merged, delta, removals, KeyReader(name))
