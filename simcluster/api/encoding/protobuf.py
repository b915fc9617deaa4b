"""Bodies in Kubernetes' protobuf: kubectl from 1.32 on creates several kinds with them, without falling back to JSON.

A body is the magic `k8s\\0` and a `runtime.Unknown`, which names the kind and holds its message. Field numbers lie in
`schema/protobuf-1.32.txt`; what a field is, says the schema. The result is the JSON object that a client might have
sent instead. Sources: k8s.io/apimachinery/pkg/runtime/serializer/protobuf, generated.proto of k8s.io/api 1.32,
protobuf.dev/programming-guides/encoding. Left out: answers in protobuf (every client accepts JSON beside it).
"""

from __future__ import annotations

import functools
import json
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from simcluster.api.encoding.ordering import field_order
from simcluster.api.objects import Json
from simcluster.api.schema.omitempty import KEPT_WHEN_EMPTY, ZERO_DROPPED
from simcluster.api.schema.types import Field, TypeSchema, type_of
from simcluster.engine import SECOND, format_rfc3339, parse_rfc3339

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
NUMBERS = Path(str(resources.files("simcluster.api.schema").joinpath("protobuf-1.32.txt")))
_MAGIC = b"k8s\x00"
_UNIX_NS = parse_rfc3339("1970-01-01T00:00:00Z")
#: A message in a message: deeper ones are attacks.
_DEEPEST = 64


def entries(message: bytes) -> Iterator[tuple[int, Any]]:
    """Fields of a message as they stand on the wire: number, and an integer or bytes. Raises ValueError."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if kind == 2:
            size, at = _varint(message, at)
        if size is None or not number:
            raise ValueError(f"proto: illegal wireType {kind}")
        if at + size > len(message):
            raise ValueError("unexpected EOF")
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("unexpected EOF")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("proto: integer overflow")


def decode(body: bytes) -> Json:
    """The JSON object that a body stands for.

    Raises:
        ValueError: it is cut off, garbled, or of a kind without a message; the text is the server's.
    """
    if not body.startswith(_MAGIC):
        raise ValueError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    unknown = dict(entries(body[len(_MAGIC) :]))
    meant = dict(entries(_bytes(unknown.get(1, b""))))
    api_version, kind = _text(meant.get(1, b"")), _text(meant.get(2, b""))
    group, _, version = api_version.rpartition("/")
    schema = type_of(group, version, kind)
    if schema is None or schema.name not in _numbers():
        raise ValueError(f'no kind "{kind}" is registered for version "{api_version}" in scheme')
    return {"kind": kind, "apiVersion": api_version, **_object(_bytes(unknown.get(2, b"")), schema, 0)}


@functools.cache
def _numbers() -> dict[str, dict[int, str]]:
    """By type, what its numbers name: a field, or `+TYPE` for an embedded message."""
    table: dict[str, dict[int, str]] = {}
    for line in NUMBERS.read_text(encoding="utf-8").splitlines():
        name, *words = line.split()
        table[name] = {int(number): field for field, _, number in (word.partition("=") for word in words)}
    return table


def _object(message: bytes, schema: TypeSchema, depth: int) -> Json:
    """A message as an object, as Go prints it: in the order of the struct, without what is left out."""
    found: Json = {}
    _read(message, schema, _numbers()[schema.name], found, depth)
    kept, dropped = KEPT_WHEN_EMPTY.get(schema.name, ()), ZERO_DROPPED.get(schema.name, ())

    def is_printed(name: str, value: Any) -> bool:
        if name in schema.required or name in kept:
            return True
        return not (_is_empty(value, schema.fields[name]) or (name in dropped and not value))

    return {name: found[name] for name in field_order(schema.name) if name in found and is_printed(name, found[name])}


def _is_empty(value: Any, field: Field) -> bool:
    """Whether Go leaves a value out; a struct that is on the wire is printed, too, with nothing in it."""
    return value is None or value == "" or value == [] or (value == {} and field.kind != "object")


def _read(message: bytes, schema: TypeSchema, numbers: dict[int, str], into: Json, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("proto: message nested too deep")
    for number, raw in entries(message):
        name = numbers.get(number)
        if name is None:
            continue  # a field of a newer version, which this server does not know
        if name[0] == "+":
            _read(_bytes(raw), schema, _numbers()[name[1:]], into, depth + 1)
            continue
        field = schema.fields.get(name)
        if field is None:
            continue
        if field.kind == "list" and field.item is not None:
            into.setdefault(name, []).append(_value(raw, field.item, depth))
        elif field.kind == "map" and field.item is not None:
            entry = dict(entries(_bytes(raw)))
            into.setdefault(name, {})[_text(entry.get(1, b""))] = _value(entry.get(2, b""), field.item, depth)
        else:
            into[name] = _value(raw, field, depth)


def _value(raw: Any, field: Field, depth: int) -> Any:
    if field.kind == "object" and field.type is not None:
        if field.type.name not in _numbers():
            raise ValueError(f"no message of {field.type.name} is known")
        return _object(_bytes(raw), field.type, depth + 1)
    if field.kind == "list" and field.item is not None:  # a list within a map is a message of its own: ExtraValue
        return [_value(item, field.item, depth) for number, item in entries(_bytes(raw)) if number == 1]
    return _SCALARS[field.kind](raw)


def _bytes(raw: Any) -> bytes:
    if not isinstance(raw, bytes):
        raise ValueError("proto: wrong wireType")
    return raw


def _text(raw: Any) -> str:
    return _bytes(raw).decode()


def _integer(raw: Any) -> int:
    if not isinstance(raw, int):
        raise ValueError("proto: wrong wireType")
    return raw - (1 << 64) if raw >> 63 else raw


def _boolean(raw: Any) -> bool:
    return bool(_integer(raw))


def _base64(raw: Any) -> str:
    return b64encode(_bytes(raw)).decode()


def _number(raw: Any) -> float:
    if len(_bytes(raw)) != 8:
        raise ValueError("proto: wrong wireType")
    return float(struct.unpack("<d", raw)[0])


def _quantity(raw: Any) -> str:
    return _text(dict(entries(_bytes(raw))).get(1, b""))


def _int_or_string(raw: Any) -> int | str:
    parts = dict(entries(_bytes(raw)))
    is_text = parts.get(1, 0)
    return _text(parts.get(3, b"")) if is_text else _integer(parts.get(2, 0))


def _time(raw: Any) -> str | None:
    """Seconds and nanoseconds since 1970; a zero time is null, as in JSON."""
    at_ns = _instant_ns(raw)
    return format_rfc3339(at_ns) if at_ns != _UNIX_NS else None


def _microtime(raw: Any) -> str | None:
    at_ns = _instant_ns(raw)
    return format_rfc3339(at_ns, digits=6) if at_ns != _UNIX_NS else None


def _instant_ns(raw: Any) -> int:
    parts = dict(entries(_bytes(raw)))
    return _UNIX_NS + _integer(parts.get(1, 0)) * SECOND + _integer(parts.get(2, 0))


def _anything(raw: Any) -> Any:
    """Raw JSON in a message of one field: RawExtension, FieldsV1, JSON."""
    text = dict(entries(_bytes(raw))).get(1, b"")
    return json.loads(text) if text else None


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "bytes": _base64,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "microtime": _microtime,
    "any": _anything,
}
