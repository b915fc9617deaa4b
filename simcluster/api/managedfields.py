"""Who wrote which field: `metadata.managedFields`, in the FieldsV1 form of the wire.

A set of fields is the FieldsV1 object itself: a tree whose node `{}` is an owned field,
and where `"."` marks an inner node that is owned as well. Sets are never changed in place.

Sources: sigs.k8s.io/structured-merge-diff/v4 (comparison, ownership) and
k8s.io/apimachinery/pkg/util/managedfields. Left out: the cap of ten update managers.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from simcluster.api.objects import Json
from simcluster.api.patch.structure import PLAIN, Shape, shape_of
from simcluster.api.schema import TypeSchema

_SELF = "."
_PLAIN_TEXT = re.compile(r"[-A-Za-z0-9_./]*")
#: Fields that are nobody's: they name or version the object.
_UNTRACKED = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "selfLink",
        "managedFields",
    }
)
#: Keys of associative lists that have a default: ports without a protocol are TCP ports.
_KEY_DEFAULTS: Json = {"protocol": "TCP"}
#: What an empty object of a kind already has, so that nobody owns these inner nodes.
_POD_TEMPLATE: Json = {"metadata": {"creationTimestamp": None}, "spec": {"containers": None}}
_EMPTY: Json = {
    "metadata": {},
    "spec": {
        "containers": None,
        "selector": None,
        "strategy": {},
        "updateStrategy": {},
        "template": _POD_TEMPLATE,
        "jobTemplate": {"metadata": {"creationTimestamp": None}, "spec": {"template": _POD_TEMPLATE}},
    },
    "status": {"loadBalancer": {}},
    "involvedObject": {},
    "source": {},
}


class Comparison(NamedTuple):
    """Fields that differ between two versions of an object."""

    changed: Json  # added or modified
    removed: Json


def compare(old: Mapping[str, Any] | None, new: Mapping[str, Any], schema: TypeSchema | None) -> Comparison:
    """The fields of an object that a write has changed."""
    changed: Json = {}
    removed: Json = {}
    before = _EMPTY if old is None else old
    fields = _fields(schema)
    for key in _union(before, new):
        left, right = before.get(key), new.get(key)
        if left is right or key in ("apiVersion", "kind"):
            continue
        if old is None and key not in new:
            continue
        name, shape = fields[key]
        if key == "metadata":
            if old is not None and left and right and _is_tracked_alike(left, right):
                continue
            left = {k: v for k, v in (left or {}).items() if k not in _UNTRACKED}
            right = {k: v for k, v in (right or {}).items() if k not in _UNTRACKED}
            _node(left, right, shape, name, changed, removed, old is None)
        elif key not in new:
            removed[name] = _whole(left, shape)
        elif key not in before:
            changed[name] = _whole(right, shape)
        else:
            _node(left, right, shape, name, changed, removed, old is None)
    return Comparison(changed, removed)


def _is_tracked_alike(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether two metadata share all parts that somebody owns, as those of a status write do."""
    for key in left:
        if key not in _UNTRACKED and left[key] is not right.get(key):
            return False
    return all(key in left or key in _UNTRACKED for key in right)


#: The node of a field whose parts nobody owns one by one. One object for all sets: they never change.
_LEAF: Json = {}
_SCALARS = (str, int, bool, float, type(None))


class _Fields(dict[str, tuple[str, Shape]]):
    """The path element of every field of a type, and what is behind it; made as they are asked for."""

    def __init__(self, schema: TypeSchema | None) -> None:
        self.schema = schema

    def __missing__(self, key: str) -> tuple[str, Shape]:
        found = self[key] = (f"f:{key}", shape_of(self.schema, key))
        return found


@functools.cache
def _fields(schema: TypeSchema | None) -> _Fields:
    return _Fields(schema)


def _is_inner(value: Any, shape: Shape) -> bool:
    """Whether the value's parts are owned one by one."""
    if shape.atomic or not value:
        return False
    if isinstance(value, dict):
        return True
    return isinstance(value, list) and (bool(shape.keys) or shape.is_set)


def _whole(value: Any, shape: Shape) -> Json:
    """Everything inside `value`, and the node itself."""
    if type(value) in _SCALARS or not _is_inner(value, shape):
        return _LEAF
    node: Json = {_SELF: _LEAF}
    if isinstance(value, dict):
        fields = _fields(shape.schema)
        for key, child in value.items():
            name, inner = fields[key]
            node[name] = _LEAF if type(child) in _SCALARS else _whole(child, inner)
        return node
    for name, child, inner in _parts(value, shape):
        node[name] = _whole(child, inner)
    return node


def _node(left: Any, right: Any, shape: Shape, name: str, changed: Json, removed: Json, creating: bool) -> None:
    """Compare two present values."""
    if type(right) in _SCALARS and type(left) in _SCALARS:
        if left != right or type(left) is not type(right):
            changed[name] = _LEAF
        return
    left_is_inner, right_is_inner = _is_inner(left, shape), _is_inner(right, shape)
    if not left_is_inner and not right_is_inner:
        if left != right or type(left) is not type(right):
            changed[name] = _LEAF
        return
    inner_changed: Json = {}
    inner_removed: Json = {}
    if left_is_inner and right_is_inner and type(left) is dict and type(right) is dict:
        _fields_of_both(left, right, _fields(shape.schema), inner_changed, inner_removed, creating)
    elif not (left_is_inner and right_is_inner and _place_by_place(left, right, shape, inner_changed, inner_removed)):
        _items_of_both(
            _parts(left, shape) if left_is_inner else (),
            _parts(right, shape) if right_is_inner else (),
            inner_changed,
            inner_removed,
            creating,
        )
    if inner_changed:
        changed[name] = inner_changed
    if inner_removed:
        removed[name] = inner_removed


def _fields_of_both(left: Json, right: Json, fields: _Fields, changed: Json, removed: Json, creating: bool) -> None:
    """Compare two objects field by field."""
    for key, old in left.items():
        if key not in right:
            if not creating:
                name, shape = fields[key]
                removed[name] = _whole(old, shape)
            continue
        new = right[key]
        if new is old:
            continue
        kind = type(new)
        if kind is type(old) and kind in _SCALARS:
            if new != old:
                changed[fields[key][0]] = _LEAF
            continue
        name, shape = fields[key]
        _node(old, new, shape, name, changed, removed, creating)
    for key, new in right.items():
        if key not in left:
            name, shape = fields[key]
            changed[name] = _LEAF if type(new) in _SCALARS else _whole(new, shape)


def _place_by_place(left: Any, right: Any, shape: Shape, changed: Json, removed: Json) -> bool:
    """Compare two lists with the same items in the same order, as those of a status mostly are; False if they are not.

    Items have one key and a known type.
    """
    if len(shape.keys) != 1 or shape.schema is None or type(left) is not type(right) or len(left) != len(right):
        return False
    key = shape.keys[0]
    names = [item.get(key) for item in right]
    if names != [item.get(key) for item in left] or (len(names) > 1 and len(set(map(str, names))) < len(names)):
        return False
    inner = _item_shape(shape.schema)
    for old, new in zip(left, right, strict=True):
        if old is not new and old != new:
            _node(old, new, inner, item_key(new, shape), changed, removed, False)
    return True


@functools.cache
def _item_shape(schema: TypeSchema | None) -> Shape:
    return Shape(schema)


_Part = tuple[str, Any, Shape]


def _items_of_both(left: Iterable[_Part], right: Iterable[_Part], changed: Json, removed: Json, creating: bool) -> None:
    """Compare what two values consist of, by path elements."""
    before = {key: (child, shape) for key, child, shape in left}
    after = {key: (child, shape) for key, child, shape in right}
    for key, (old_child, old_shape) in before.items():
        if key not in after:
            if not creating:
                removed[key] = _whole(old_child, old_shape)
            continue
        new_child, new_shape = after[key]
        # Items of a known type that are equal are the same: decoding leaves one type to every field.
        if old_child is not new_child and (new_shape.schema is None or old_child != new_child):
            _node(old_child, new_child, new_shape, key, changed, removed, creating)
    for key, (new_child, new_shape) in after.items():
        if key not in before:
            changed[key] = _whole(new_child, new_shape)


def _parts(value: Any, shape: Shape) -> Iterator[tuple[str, Any, Shape]]:
    if isinstance(value, dict):
        fields = _fields(shape.schema)
        for key, child in value.items():
            name, inner = fields[key]
            yield name, child, inner
    elif shape.is_set:
        for item in value:
            yield "v:" + json.dumps(item), None, PLAIN
    else:
        item_shape = _item_shape(shape.schema)
        for item in value:
            yield item_key(item, shape), item, item_shape


def item_key(item: Json, shape: Shape) -> str:
    """The path element of an item of an associative list.

    >>> item_key({"name": "geo", "image": "x"}, Shape(keys=("name",)))
    'k:{"name":"geo"}'
    """
    if len(shape.keys) == 1:
        value = item.get(shape.keys[0])
        if type(value) is str:
            return _text_key(shape.keys[0], value)
    keys = {
        key: item.get(key, _KEY_DEFAULTS.get(key)) for key in sorted(shape.keys) if key in item or key in _KEY_DEFAULTS
    }
    return "k:" + json.dumps(keys, separators=(",", ":"))


@functools.lru_cache(maxsize=4096)
def _text_key(key: str, value: str) -> str:
    if _PLAIN_TEXT.fullmatch(value):
        return f'k:{{"{key}":"{value}"}}'
    return "k:" + json.dumps({key: value}, separators=(",", ":"))


def _union(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return [*a, *[key for key in b if key not in a]]


def everything(obj: Mapping[str, Any], schema: TypeSchema | None) -> Json:
    """All fields an apply configuration names: what its manager will own."""
    out: Json = {}
    for key, value in obj.items():
        if key in ("apiVersion", "kind"):
            continue
        if key == "metadata":
            value = {k: v for k, v in value.items() if k not in _UNTRACKED}
            if not value:
                continue
        _applied(value, shape_of(schema, key), f"f:{key}", out)
    return out


def _applied(value: Any, shape: Shape, name: str, out: Json) -> None:
    if not _is_inner(value, shape):
        out[name] = _LEAF
        return
    node: Json = {}
    for key, child, child_shape in _parts(value, shape):
        _applied(child, child_shape, key, node)
        if key.startswith("k:"):
            node[key] = {_SELF: {}, **node[key]}
    out[name] = node


# Sets.


def union(a: Json, b: Json) -> Json:
    """Fields of either set."""
    if not a:
        return b if not b or _SELF in b else {_SELF: {}, **b}
    if not b:
        return a if _SELF in a else {_SELF: {}, **a}
    return _join(a, b)


def join(a: Json, b: Json) -> Json:
    """Fields of either of two top-level sets (where `{}` is the empty set)."""
    if not a:
        return b
    if not b:
        return a
    return _join(a, b)


def _join(a: Json, b: Json) -> Json:
    result = dict(a)
    for key, node in b.items():
        if key == _SELF:
            result = {_SELF: {}, **result}
        elif key in result:
            result[key] = union(result[key], node)
        else:
            result[key] = node
    return result


def difference(a: Json, b: Json) -> Json:
    """Fields of top-level set `a` that are not in `b`; nodes that become empty vanish."""
    if not a or not b:
        return a
    result: Json = {}
    for key, node in a.items():
        other = b.get(key)
        if other is None:
            result[key] = node
            continue
        rest = _subtract(node, other)
        if rest is not None:
            result[key] = rest
    return result


def _subtract(node: Json, other: Json) -> Json | None:
    """`node` without what `other` names; None when nothing is left."""
    owned = not node or _SELF in node
    keeps_self = owned and bool(other) and _SELF not in other
    children = {}
    for key, child in node.items():
        if key == _SELF:
            continue
        match = other.get(key)
        rest = child if match is None else _subtract(child, match)
        if rest is not None:
            children[key] = rest
    if not children:
        return {} if keeps_self else None
    return {_SELF: {}, **children} if keeps_self else children


def intersection(a: Json, b: Json) -> Json:
    """Fields that are in both top-level sets."""
    return difference(a, difference(a, b))


def named(fields: Json) -> Json:
    """The set with every inner node a field of it: who names a part holds the whole in place."""
    found = {key: named(node) for key, node in fields.items() if key != _SELF}
    return {_SELF: {}, **found} if found else {}


def is_member(node: Json) -> bool:
    """Whether a node of a set is itself a field of the set."""
    return not node or _SELF in node


def leaves(fields: Json, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths of the fields of a set, sorted as the server lists them."""
    found: list[tuple[str, ...]] = []
    for key, node in sorted(fields.items()):
        if key == _SELF:
            continue
        if is_member(node):
            found.append((*path, key))
        found.extend(leaves(node, (*path, key)))
    return found


def path_text(path: tuple[str, ...]) -> str:
    """A path as conflict messages print it.

    >>> path_text(("f:spec", "f:containers", 'k:{"name":"geo"}', "f:image"))
    '.spec.containers[name="geo"].image'
    """
    parts = []
    for element in path:
        kind, _, text = element.partition(":")
        if kind == "f":
            parts.append(f".{text}")
        elif kind == "k":
            keys = json.loads(text)
            parts.append("[" + ",".join(f"{key}={json.dumps(keys[key])}" for key in sorted(keys)) + "]")
        else:
            parts.append(f"[={text}]")
    return "".join(parts)


# Entries.


class Manager(NamedTuple):
    """Identity of one entry of `managedFields`."""

    name: str
    operation: str  # Apply or Update
    api_version: str
    subresource: str = ""


def entry(manager: Manager, fields: Json, time: str) -> Json:
    """The wire form of one entry."""
    made: Json = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if manager.subresource:
        made["subresource"] = manager.subresource
    return made


def manager_of(item: Mapping[str, Any]) -> Manager:
    """The identity of an entry."""
    return Manager(
        item.get("manager", ""), item.get("operation", ""), item.get("apiVersion", ""), item.get("subresource", "")
    )


def ordered(entries: list[Json]) -> list[Json]:
    """Entries in the server's order: operation, time, manager, version, subresource."""
    if len(entries) < 2:
        return entries
    return sorted(
        entries,
        key=lambda e: (e["operation"], e.get("time", ""), e["manager"], e["apiVersion"], e.get("subresource", "")),
    )


def _is_sound(item: Mapping[str, Any]) -> bool:
    """Whether an entry can be read; if one cannot, the writer's whole list is ignored."""
    return isinstance(item.get("fieldsV1") or {}, dict)


def after_update(
    old: Mapping[str, Any] | None, new: Mapping[str, Any], schema: TypeSchema | None, manager: Manager, time: str
) -> list[Json]:
    """`managedFields` of `new` after an update (not an apply) by `manager`."""
    entries: list[Json] = list(new["metadata"].get("managedFields") or ())
    is_lost = not entries and "managedFields" not in new["metadata"]
    if old is not None:
        before = old["metadata"].get("managedFields")
        kept_as_is = new["metadata"].get("managedFields") is before
        if is_lost or not (kept_as_is or all(_is_sound(item) for item in entries)):
            entries = list(before or ())
    comparison = compare(old, new, schema)
    if not comparison.changed and not comparison.removed:
        return entries
    kept: list[Json] = []
    own: Json = {}
    for item in entries:
        fields = item.get("fieldsV1") or {}
        if item.get("manager", "") == manager.name and manager_of(item) == manager:
            own = difference(fields, comparison.removed)
            continue
        rest = difference(difference(fields, comparison.removed), comparison.changed)
        if rest:
            kept.append(item if rest is fields or rest == fields else {**item, "fieldsV1": rest})
    own = join(own, comparison.changed)
    if own:
        kept.append(entry(manager, own, time))
    return ordered(kept)
