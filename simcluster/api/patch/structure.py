"""How lists and objects inside API objects are merged, read from the schema.

A `Shape` is what patches and managed fields need to know of one field: the type behind it,
the key by which a strategic merge patch matches list items, the keys by which server-side
apply tells them apart, and whether it is owned as a whole.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from simcluster.api.schema import TypeSchema, type_of


class Shape(NamedTuple):
    """What is behind one field.

    Attributes:
        schema: type of the value, of the items if the field is a list; None if unknown.
        merge_key: strategic merge key; empty when the list is replaced as a whole.
        keys: associative keys of server-side apply; empty when the list is atomic.
        is_set: a list of scalars with the semantics of a set.
        atomic: an object owned as a whole.
        retains: a patch of the object (of each item) says which keys may remain: it is a union of types.
    """

    schema: TypeSchema | None = None
    merge_key: str = ""
    keys: tuple[str, ...] = ()
    is_set: bool = False
    atomic: bool = False
    retains: bool = False


PLAIN = Shape()


@functools.cache
def shape_of(schema: TypeSchema | None, name: str) -> Shape:
    """What is behind field `name` of a type; `PLAIN` if the type or the field is unknown."""
    if schema is None and name == "metadata":
        schema = type_of("", "v1", "ConfigMap")  # custom resources have the metadata of every object
    field = schema.fields.get(name) if schema is not None else None
    if field is None:
        return PLAIN
    inner = field.item if field.kind == "list" and field.item is not None else field
    strategies = field.patch_strategy.split(",")
    merges = "merge" in strategies
    return Shape(
        inner.type,
        field.merge_key if merges else "",
        field.list_map_keys if field.list_type == "map" else (),
        field.kind == "list" and inner.type is None and (merges or field.list_type == "set"),
        "atomic" in (field.map_type, inner.type.map_type if field.kind == "object" and inner.type is not None else ""),
        "retainKeys" in strategies,
    )
