"""OpenAPI v2 as a protobuf message: what kubectl reads where version 3 has no document of a group.

Field numbers: github.com/google/gnostic-models, openapiv2/OpenAPIv2.proto. Values of any form (defaults, extensions)
stand in it as YAML. Left out: what a server's document has not (hosts, tags, files, other security than a key).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.objects import Json

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#: What clients ask for; the second is what they asked for first, and no media type (`@`).
ASKED = (MEDIA_TYPE, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
_EXTENSION = "x-"
#: Number of each field by its key in JSON; texts, lists of texts, booleans and integers say themselves what they are.
_INFO = {"title": 1, "version": 2, "description": 3}
_OPERATION = {
    "tags": 1, "summary": 2, "description": 3, "operationId": 5, "produces": 6, "consumes": 7, "schemes": 10,
    "deprecated": 11,
}  # fmt: skip
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_BODY = {"description": 1, "name": 2, "in": 3, "required": 4}
_OTHER = {"required": 1, "in": 2, "description": 3, "name": 4}
#: Where `type`, `format` and `uniqueItems` stand, and which message it is, by where the parameter is.
_PLACES = {
    "header": (1, {"type": 5, "format": 6, "uniqueItems": 19}),
    "query": (3, {"type": 6, "format": 7, "uniqueItems": 20}),
    "path": (4, {"type": 5, "format": 6, "uniqueItems": 19}),
}
_KEY = {"type": 1, "name": 2, "in": 3, "description": 4}
_SCHEMA = {
    "$ref": 1, "format": 2, "title": 3, "description": 4, "exclusiveMaximum": 8, "exclusiveMinimum": 10,
    "maxLength": 11, "minLength": 12, "pattern": 13, "maxItems": 14, "minItems": 15, "uniqueItems": 16,
    "maxProperties": 17, "minProperties": 18, "required": 19, "discriminator": 26, "readOnly": 27,
}  # fmt: skip


def document(swagger: Json) -> bytes:
    """The message of a whole document."""
    paths = [_field(2, _named(path, _path(entry))) for path, entry in swagger["paths"].items()]
    definitions = [_field(1, _named(name, _schema(entry))) for name, entry in swagger["definitions"].items()]
    parameters = [_field(1, _named(name, _parameter(entry))) for name, entry in swagger["parameters"].items()]
    required = [_field(12, _field(1, _named(name, b""))) for entry in swagger["security"] for name in entry]
    keys = swagger["securityDefinitions"]
    defined = [_field(1, _named(name, _field(2, _plain(entry, _KEY)))) for name, entry in keys.items()]
    return b"".join(
        (
            _plain(swagger, {"swagger": 1}),
            _field(2, _plain(swagger["info"], _INFO)),
            _field(8, b"".join(paths)),
            _field(9, b"".join(definitions)),
            _field(10, b"".join(parameters)),
            *required,
            _field(13, b"".join(defined)),
        )
    )


def _path(entry: Json) -> bytes:
    operations = [_field(_METHODS[key], _operation(entry[key])) for key in entry if key in _METHODS]
    return b"".join(operations) + _parameters(entry, 9) + _extensions(entry, 10)


def _operation(operation: Json) -> bytes:
    responses = [
        _field(1, _named(code, _field(1, _response(answer)))) for code, answer in operation["responses"].items()
    ]
    return b"".join(
        (
            _plain(operation, _OPERATION),
            _parameters(operation, 8),
            _field(9, b"".join(responses)),
            _extensions(operation, 13),
        )
    )


def _response(answer: Json) -> bytes:
    schema = _field(2, _field(1, _schema(answer["schema"]))) if "schema" in answer else b""
    return _plain(answer, {"description": 1}) + schema


def _parameters(holder: Json, number: int) -> bytes:
    return b"".join(
        _field(number, _field(2, _plain(p, {"$ref": 1})) if "$ref" in p else _field(1, _parameter(p)))
        for p in holder.get("parameters") or ()
    )


def _parameter(parameter: Json) -> bytes:
    if parameter["in"] == "body":
        return _field(1, _plain(parameter, _BODY) + _field(5, _schema(parameter["schema"])))
    number, more = _PLACES[parameter["in"]]
    return _field(2, _field(number, _plain(parameter, _OTHER | more)))


def _schema(schema: Json) -> bytes:
    made = [_plain(schema, _SCHEMA)]
    for key, number in (("multipleOf", 6), ("maximum", 7), ("minimum", 9)):
        if key in schema:
            made.append(_double(number, schema[key]))
    if "default" in schema:
        made.append(_field(5, _any(schema["default"])))
    made += [_field(20, _any(value)) for value in schema.get("enum") or ()]
    more = schema.get("additionalProperties")
    if more is not None:
        made.append(_field(21, _plain({"is": more}, {"is": 2}) if isinstance(more, bool) else _field(1, _schema(more))))
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        made.append(_field(22, _plain({"value": types}, {"value": 1})))
    if "items" in schema:
        made.append(_field(23, _field(1, _schema(schema["items"]))))
    made += [_field(24, _schema(part)) for part in schema.get("allOf") or ()]
    if "properties" in schema:
        named = [_field(1, _named(name, _schema(part))) for name, part in schema["properties"].items()]
        made.append(_field(25, b"".join(named)))
    made.append(_extensions(schema, 31))
    return b"".join(made)


def _extensions(holder: Mapping[str, Any], number: int) -> bytes:
    return b"".join(
        _field(number, _named(key, _any(value))) for key, value in holder.items() if key.startswith(_EXTENSION)
    )


def _any(value: Any) -> bytes:
    """A value as YAML, of which JSON is a part."""
    return _field(2, (json.dumps(value, separators=(", ", ": ")) + "\n").encode())


def _named(name: str, value: bytes) -> bytes:
    return _field(1, name.encode()) + _field(2, value)


def _plain(holder: Mapping[str, Any], numbers: Mapping[str, int]) -> bytes:
    """Fields that are texts, lists of texts, booleans or integers."""
    made = []
    for key, number in numbers.items():
        value = holder.get(key)
        if isinstance(value, str):
            made.append(_field(number, value.encode()))
        elif isinstance(value, int):
            made.append(_varint(number << 3) + _varint(value))
        elif isinstance(value, Iterable):
            made += [_field(number, text.encode()) for text in value]
    return b"".join(made)


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    made = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
