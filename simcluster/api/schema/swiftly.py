"""The decoder's straight way: bodies without anything to refuse, unknown or strange.

Nearly all bodies come from components that write what the server would store. For each type
a table says what becomes of each field; at the first thing that is not as it should be the
whole body is given back, and the careful walk of `decoding` says what is wrong with it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from simcluster.api import quantity
from simcluster.api.schema.omitempty import KEPT_WHEN_EMPTY, ZERO_DROPPED
from simcluster.api.schema.types import Field, TypeSchema
from simcluster.engine import format_rfc3339, parse_rfc3339

_STRING, _OBJECT, _OBJECTS, _TEXTS, _TEXT_MAP, _INTEGER, _BOOLEAN, _QUANTITIES, _TIME, _MICRO, _ANY, _INT_OR_STRING = (
    range(12)
)
_INT_RANGE = {"int32": 2**31, "int64": 2**63}


class Strange(Exception):
    """Something that the straight way does not know."""


class _Step(NamedTuple):
    """What becomes of one field.

    Attributes:
        code: how its value is read.
        keeps_empty: whether an empty value stays.
        keeps_null: whether a null stays.
        bound: of an integer's magnitude.
        inner: steps of an object or of the objects of a list.
    """

    code: int
    keeps_empty: bool
    keeps_null: bool
    bound: int
    inner: _Table | None


class _Table(dict[str, _Step]):
    """The steps of a type, made when the first value of it is read; fields that need more care are not in it."""

    __slots__ = ("schema",)

    def __init__(self, schema: TypeSchema) -> None:
        super().__init__()
        self.schema: TypeSchema | None = schema

    def __missing__(self, name: str) -> _Step:
        if self.schema is None:
            raise Strange
        self.update(_steps(self.schema))
        self.schema = None
        return self[name]


@functools.cache
def _table(schema: TypeSchema) -> _Table:
    return _Table(schema)


def _steps(schema: TypeSchema) -> dict[str, _Step]:
    table = {}
    kept = KEPT_WHEN_EMPTY.get(schema.name, ())
    for name, field in schema.fields.items():
        code = _code(field)
        if code < 0:
            continue
        omitted = field.kind in ("list", "map", "string") or (
            field.kind in ("integer", "boolean") and name in ZERO_DROPPED.get(schema.name, ())
        )
        keeps_null = name in kept or (field.required and field.kind in ("time", "microtime"))
        inner = field.item.type if field.kind == "list" and field.item is not None else field.type
        bound = _INT_RANGE.get(field.go_type, 2**31)
        steps = _table(inner) if inner is not None else None
        table[name] = _Step(code, field.required or name in kept or not omitted, keeps_null, bound, steps)
    return table


def _code(field: Field) -> int:
    item = field.item.kind if field.item is not None else ""
    compound = {
        ("list", "object"): _OBJECTS,
        ("list", "string"): _TEXTS,
        ("map", "string"): _TEXT_MAP,
        ("map", "quantity"): _QUANTITIES,
    }
    simple = {
        "string": _STRING,
        "object": _OBJECT,
        "integer": _INTEGER,
        "boolean": _BOOLEAN,
        "time": _TIME,
        "microtime": _MICRO,
        "any": _ANY,
        "int-or-string": _INT_OR_STRING,
    }
    return compound.get((field.kind, item), -1) if item else simple.get(field.kind, -1)


def read(value: Mapping[str, Any], schema: TypeSchema) -> dict[str, Any]:
    """The object a body stands for, as `decoding.decode` makes it. Raises Strange."""
    return _read(value, _table(schema))


def _read(value: Mapping[str, Any], table: _Table) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, entry in value.items():
        code, keeps_empty, keeps_null, bound, inner = table[name]
        if entry is None:
            if keeps_null:
                out[name] = None
        elif code == 0:  # _STRING
            if type(entry) is not str:
                raise Strange
            if entry or keeps_empty:
                out[name] = entry
        elif code == _OBJECT:
            if type(entry) is not dict or inner is None:
                raise Strange
            out[name] = _read(entry, inner)
        elif code == _OBJECTS:
            if type(entry) is not list or inner is None:
                raise Strange
            if entry or keeps_empty:
                items = out[name] = []
                for item in entry:
                    if type(item) is not dict:
                        raise Strange
                    items.append(_read(item, inner))
        elif code == _BOOLEAN:
            if type(entry) is not bool:
                raise Strange
            if entry or keeps_empty:
                out[name] = entry
        elif code in (_INTEGER, _INT_OR_STRING):
            if (type(entry) is not int or not -bound <= entry < bound) and (code == _INTEGER or type(entry) is not str):
                raise Strange
            if entry or keeps_empty:
                out[name] = entry
        else:
            decoded = _other(entry, code)
            if decoded or keeps_empty:
                out[name] = decoded
    return out


def _other(entry: Any, code: int) -> Any:
    if code == _TEXTS:
        if type(entry) is not list:
            raise Strange
        _check_texts(entry)
        return list(entry)
    if code == _TEXT_MAP:
        if type(entry) is not dict:
            raise Strange
        _check_texts(entry.values())
        return dict(entry)
    if code == _ANY:
        return _copied(entry)
    if code == _QUANTITIES:
        if type(entry) is not dict or any(item is None for item in entry.values()):
            raise Strange
        return {key: _quantity(item) for key, item in entry.items()}
    if type(entry) is not str:
        raise Strange
    return _instant(entry, 6 if code == _MICRO else 0)


def _check_texts(values: Iterable[Any]) -> None:
    for value in values:
        if type(value) is not str:
            raise Strange


def _quantity(value: Any) -> str:
    try:
        return _canonical_text(value) if type(value) is str else quantity.canonical(value)
    except quantity.QuantityError:
        raise Strange from None


@functools.lru_cache(maxsize=4096)
def _canonical_text(value: str) -> str:
    return quantity.canonical(value)


@functools.lru_cache(maxsize=4096)
def _instant(text: str, digits: int) -> str:
    try:
        return format_rfc3339(parse_rfc3339(text), digits=digits)
    except ValueError:
        raise Strange from None


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if kind is list:
        return [_copied(item) for item in value]
    if isinstance(value, Mapping):
        raise Strange
    return value
