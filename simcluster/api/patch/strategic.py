"""Strategic merge patch: JSON merge patch that knows which lists are merged by key.

Directives served: `$patch` (delete, replace, merge) in objects and list items,
`$retainKeys`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`.

Source: k8s.io/apimachinery/pkg/util/strategicpatch (StrategicMergeMapPatch).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcluster.api.patch.structure import Shape, shape_of
from simcluster.api.schema import TypeSchema

Json = dict[str, Any]

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


class StrategicPatchError(Exception):
    """The patch is no valid strategic merge patch.

    Attributes:
        is_bad_request: the server answers 400; otherwise 500, as the real one does.
    """

    def __init__(self, message: str, *, is_bad_request: bool = True) -> None:
        super().__init__(message)
        self.is_bad_request = is_bad_request


def merge(original: Json, patch: Json, schema: TypeSchema | None) -> Json:
    """`original` (an object of type `schema`) with the patch merged in.

    Raises:
        StrategicPatchError: a directive is malformed, or an item lacks its merge key.
    """
    return _merge_object(original, patch, schema)


def _merge_object(original: Json, patch: Json, schema: TypeSchema | None) -> Json:
    for key in patch:
        if key[:1] == "$":
            return _merge_directed(original, patch, schema)
    result = dict(original)
    for key, value in patch.items():
        kind = type(value)
        if value is None:
            result.pop(key, None)
        elif kind is dict or kind is list:
            result[key] = _merge_value(result.get(key), value, key, shape_of(schema, key), None)
        else:
            result[key] = value
    return result


def _merge_directed(original: Json, patch: Json, schema: TypeSchema | None) -> Json:
    """As `_merge_object`, of a patch that has directives (keys that begin with `$`)."""
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise StrategicPatchError(f"Unknown patch type found: {directive}")
    result = dict(original)
    if _RETAIN in patch:
        _retain_keys(result, patch)
    for key in [*patch, *(k[len(_ORDER) :] for k in patch if k.startswith(_ORDER))]:
        if key.startswith("$"):
            if key.startswith(_DELETE):
                _delete_scalars(result, key[len(_DELETE) :], patch[key])
            continue
        shape = shape_of(schema, key)
        order = patch.get(_ORDER + key)
        if order is not None:
            _check_order(order, shape)
        if key in patch and patch[key] is None:
            result.pop(key, None)
        elif key in patch or isinstance(result.get(key), list):
            result[key] = _merge_value(result.get(key), patch.get(key, []), key, shape, order)
    return result


def _check_order(order: Any, shape: Shape) -> None:
    """Refuse an order that names no items of the list."""
    if isinstance(order, list):
        kind: Any = dict if shape.merge_key else (str, int, float)
        if all(isinstance(item, kind) for item in order):
            return
    raise StrategicPatchError("invalid patch format of setElementOrder list")


def _retain_keys(result: Json, patch: Json) -> None:
    retained = patch[_RETAIN]
    if not isinstance(retained, list):
        raise StrategicPatchError("invalid patch format of retainKeys list")
    for key, value in patch.items():
        if not key.startswith("$") and value is not None and key not in retained:
            raise StrategicPatchError("invalid patch format of retainKeys list")
    for key in [k for k in result if k not in retained]:
        del result[key]


def _delete_scalars(result: Json, name: str, values: Any) -> None:
    if not isinstance(values, list):
        raise StrategicPatchError("invalid patch format of primitive list")
    if isinstance(result.get(name), list):
        result[name] = [item for item in result[name] if item not in values]


def _merge_value(original: Any, patch: Any, name: str, shape: Shape, order: Any) -> Any:
    if isinstance(patch, dict):
        return _merge_object(original if isinstance(original, dict) else {}, patch, shape.schema)
    if not isinstance(patch, list):
        return patch
    if shape.merge_key:
        return _merge_items(original if isinstance(original, list) else [], patch, name, shape, order)
    if shape.is_set:
        return _merge_scalars(original if isinstance(original, list) else [], patch, order)
    return patch


def _merge_scalars(original: list[Any], patch: list[Any], order: Any) -> list[Any]:
    if any(isinstance(item, (dict, list)) for item in patch):
        raise StrategicPatchError("cannot merge lists without merge key", is_bad_request=False)
    merged = list(dict.fromkeys([*original, *patch]))
    return in_order(merged, order if isinstance(order, list) else patch, original, _itself)


def _itself(item: Any) -> Any:
    return item


def _merge_items(original: list[Any], patch: list[Any], name: str, shape: Shape, order: Any) -> list[Any]:
    key = shape.merge_key
    same = _merged_in_place(original, patch, shape, order)
    if same is not None:
        return same
    for item in patch:
        if not isinstance(item, dict):
            raise StrategicPatchError(f"unexpected item in list {name}: expected an object")
    if any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return [_clean(item, shape) for item in patch if _DIRECTIVE not in item]
    deleted = [_key_of(item, key) for item in patch if item.get(_DIRECTIVE) == "delete"]
    kept = [item for item in patch if _DIRECTIVE not in item or item[_DIRECTIVE] == "merge"]
    merged = [item for item in original if item.get(key) not in deleted]
    position = {item.get(key): index for index, item in enumerate(merged)}
    for item in kept:
        value = _key_of(item, key)
        index = position.get(value)
        if index is None:
            position[value] = len(merged)
            merged.append(_clean(item, shape))
        else:
            merged[index] = _merge_object(merged[index], item, shape.schema)
    wanted = order if isinstance(order, list) else kept
    return in_order(merged, wanted, original, KeyReader(key))


def _merged_in_place(original: list[Any], patch: list[Any], shape: Shape, order: Any) -> list[Any] | None:
    """The merged list, if the patch has the same items in the same order (as reports of a status have); else None."""
    key, count = shape.merge_key, len(patch)
    if len(original) != count or (order is not None and len(order) != count):
        return None
    for index, item in enumerate(patch):
        if type(item) is not dict or _DIRECTIVE in item:
            return None
        value = item.get(key)
        if type(value) is not str or original[index].get(key) != value:
            return None
        if order is not None and order[index].get(key) != value:
            return None
    return [
        live if live == item else _merge_object(live, item, shape.schema)
        for live, item in zip(original, patch, strict=True)
    ]


class KeyReader:
    """Reads the merge key of an item."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, item: Any) -> Any:
        """The key's value."""
        return item.get(self.key)


def _key_of(item: Json, key: str) -> Any:
    if key not in item or isinstance(item[key], (dict, list)):
        raise StrategicPatchError(
            f"map: {go_map(item)} does not contain declared merge key: {key}", is_bad_request=False
        )
    return item[key]


def _clean(item: Any, shape: Shape) -> Any:
    """An added item without directives inside."""
    return _merge_object({}, item, shape.schema) if isinstance(item, dict) else item


def in_order(merged: list[Any], wanted: list[Any], live: list[Any], key_of: Callable[[Any], Any]) -> list[Any]:
    """Items in the order of `wanted`; the others keep their places of `live` as well as they can."""
    rank = {key_of(item): index for index, item in enumerate(wanted)}
    place = {key_of(item): index for index, item in enumerate(live)}
    named = sorted((item for item in merged if key_of(item) in rank), key=lambda item: rank[key_of(item)])
    others = [item for item in merged if key_of(item) not in rank]
    result: list[Any] = []
    while named and others:
        left, right = place.get(key_of(others[0])), place.get(key_of(named[0]))
        source = others if left is not None and right is not None and left < right else named
        result.append(source.pop(0))
    return [*result, *named, *others]


def go_map(value: Any) -> str:
    """A JSON value as Go's `%v` prints it (maps with sorted keys).

    >>> go_map({"spec": {"replicas": "two"}, "a": [1, True, None]})
    'map[a:[1 true <nil>] spec:map[replicas:two]]'
    """
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_map(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_map(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
