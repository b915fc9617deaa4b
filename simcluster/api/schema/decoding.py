"""Reads the body of a request as the API server's decoder does.

One walk finds what Go's JSON decoder would refuse, what strict decoding calls unknown, and
makes the object that the server would store: canonical quantities and times, no nulls, no
unknown fields, no empty optional lists, maps, texts, zeros and falses of fields that Go
omits when empty. Texts are those of sigs.k8s.io/json and k8s.io/apimachinery.

Left out: duplicate keys (a decoded body has none; see `yamltext`), case folding.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from simcluster.api import quantity
from simcluster.api.schema import swiftly
from simcluster.api.schema.omitempty import KEPT_WHEN_EMPTY, ZERO_DROPPED
from simcluster.api.schema.types import Field, TypeSchema, load, type_of
from simcluster.engine import format_rfc3339, parse_rfc3339


class KindOf(Protocol):
    """What is needed of an entry of the table of resources."""

    @property
    def group(self) -> str:
        """API group, empty for core."""

    @property
    def version(self) -> str:
        """API version."""

    @property
    def kind(self) -> str:
        """Kind."""


class Decoded(NamedTuple):
    """What became of a body.

    Attributes:
        object: a private copy in the form the server stores it; may be changed.
        unknown: `unknown field "spec.replica"` for each, in the order of the body.
        error: why it cannot be decoded at all, in Go's words, or None.
    """

    object: dict[str, Any]
    unknown: list[str]
    error: str | None


class _Refusal(Exception):
    """An error that ends Go's decoding at once (a type's own decoder failed)."""


_INT_RANGE = {"int32": 2**31, "int64": 2**63}


def _go_value(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "object" if isinstance(value, Mapping) else "array"


class _Walk:
    """One decoding. Struct and path say where Go would say it stands."""

    def __init__(self, root: TypeSchema) -> None:
        self.root = root
        self.struct = root.go_struct
        self.names: list[str] = []
        self.unknown: list[str] = []
        self.error: str | None = None

    # Errors.

    def _type_error(self, value: str, go_type: str) -> str:
        if not self.names:
            return f"json: cannot unmarshal {value} into Go value of type {go_type}"
        field = f"{self.struct}.{'.'.join(self.names)}"
        return f"json: cannot unmarshal {value} into Go struct field {field} of type {go_type}"

    def _mismatch(self, value: Any, field: Field) -> None:
        if self.error is None:  # Go reports the first one
            self.error = self._type_error(_go_value(value), field.go_type)

    # Values.

    def struct_value(self, value: Any, schema: TypeSchema, path: str) -> dict[str, Any]:
        """The fields of an object."""
        outer, self.struct = self.struct, schema.go_struct
        fields = schema.fields
        out: dict[str, Any] = {}
        kept = KEPT_WHEN_EMPTY.get(schema.name, ())
        for name, entry in value.items():
            field = fields.get(name)
            inner = f"{path}.{name}" if path else name
            if field is None:
                self.unknown.append(f'unknown field "{inner}"')
                continue
            if entry is None:
                if name in kept or (field.required and field.kind in ("time", "microtime")):
                    out[name] = None
                continue
            self.names.append(name)
            decoded = self.value(entry, field, inner)
            self.names.pop()
            if (decoded or decoded is None or field.required or name in kept) or not _is_omitted(
                decoded, schema, field
            ):
                out[name] = decoded
        self.struct = outer
        return out

    def value(self, value: Any, field: Field, path: str) -> Any:
        """One value of a known type."""
        kind = field.kind
        if kind == "string":
            if type(value) is not str:
                self._mismatch(value, field)
            return value
        if kind == "object":
            assert field.type is not None
            if not isinstance(value, Mapping):
                self._mismatch(value, field)
                return value
            return self.struct_value(value, field.type, path)
        if kind == "list":
            return self._list(value, field, path)
        if kind == "map":
            return self._map(value, field, path)
        if kind == "any":
            return _copy(value)
        return self._scalar(value, field)

    def _list(self, value: Any, field: Field, path: str) -> Any:
        item = field.item
        assert item is not None
        if not isinstance(value, (list, tuple)):
            self._mismatch(value, field)
            return value
        if item.kind == "string":
            for entry in value:
                if type(entry) is not str and entry is not None:
                    self._mismatch(entry, item)
            return ["" if entry is None else entry for entry in value]
        return [
            self._empty(item) if entry is None else self.value(entry, item, f"{path}[{index}]")
            for index, entry in enumerate(value)
        ]

    def _map(self, value: Any, field: Field, path: str) -> Any:
        item = field.item
        assert item is not None
        if not isinstance(value, Mapping):
            self._mismatch(value, field)
            return value
        if item.kind == "string":
            out = {}
            for key, entry in value.items():
                if type(entry) is not str and entry is not None:
                    self._mismatch(entry, item)
                out[key] = "" if entry is None else entry
            return out
        return {
            key: self._empty(item) if entry is None else self.value(entry, item, f"{path}.{key}")
            for key, entry in value.items()
        }

    @staticmethod
    def _empty(field: Field) -> Any:
        """Go's zero value, which a null leaves in a list or a map."""
        if field.kind in ("list", "any", "time", "microtime"):
            return None
        return {"object": {}, "map": {}, "quantity": "0", "boolean": False}.get(
            field.kind, 0 if field.kind in ("integer", "number", "int-or-string") else ""
        )

    def _scalar(self, value: Any, field: Field) -> Any:
        kind = field.kind
        if kind == "integer":
            return self._integer(value, field, field.go_type)
        if kind == "boolean":
            if type(value) is not bool:
                self._mismatch(value, field)
            return value
        if kind == "quantity":
            try:
                return quantity.canonical(value)
            except quantity.QuantityError as refusal:
                raise _Refusal(str(refusal)) from None
        if kind == "int-or-string":
            return value if type(value) is str else self._integer(value, field, "int32", at_once=True)
        if kind == "number":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                self._mismatch(value, field)
            return value
        if kind == "bytes":
            return self._bytes(value, field)
        return self._time(value, kind)

    def _integer(self, value: Any, field: Field, go_type: str, *, at_once: bool = False) -> Any:
        bound = _INT_RANGE[go_type]
        if type(value) is int and -bound <= value < bound:
            return value
        what = _go_value(value)
        text = self._type_error(f"number {value!r}" if what == "number" else what, go_type)
        if at_once:
            raise _Refusal(text)
        if self.error is None:
            self.error = text
        return value

    def _bytes(self, value: Any, field: Field) -> Any:
        if type(value) is not str:
            self._mismatch(value, field)
            return value
        compact = value.replace("\n", "").replace("\r", "")
        try:
            b64decode(compact, validate=True)
        except ValueError:  # binascii.Error, or letters beyond ASCII
            if self.error is None:
                self.error = f"illegal base64 data at input byte {_illegal_base64(compact)}"
        return compact

    def _time(self, value: Any, kind: str) -> Any:
        if type(value) is not str:
            raise _Refusal(self._type_error(_go_value(value), "string"))
        try:
            t_ns = parse_rfc3339(value)
        except ValueError:
            layout = "2006-01-02T15:04:05.000000Z07:00" if kind == "microtime" else "2006-01-02T15:04:05Z07:00"
            raise _Refusal(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"') from None
        return format_rfc3339(t_ns, digits=6 if kind == "microtime" else 0)


def _illegal_base64(text: str) -> int:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for index, letter in enumerate(text):
        if letter not in alphabet and not (letter == "=" and index >= len(text) - 2):
            return index
    return len(text) - len(text) % 4 if len(text) % 4 != 1 else len(text) - 1


def _is_omitted(value: Any, schema: TypeSchema, field: Field) -> bool:
    """Whether Go leaves out this empty value of an optional field."""
    if field.kind in ("list", "map", "bytes", "string"):
        return True
    if field.kind in ("integer", "boolean", "number"):
        return field.name in ZERO_DROPPED.get(schema.name, ())
    return False


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def decode(resource: KindOf, body: Any) -> Decoded:
    """Read a body as an object of the resource. `body` is not changed.

    A custom resource is read by its definition; a kind without any is copied as it stands.
    """
    custom = getattr(resource, "custom", None)
    if custom is not None:
        read: Decoded = custom.decode(body)
        return read
    schema = type_of(resource.group, resource.version, resource.kind)
    if schema is None:
        return Decoded(_copy(body), [], None)
    if isinstance(body, Mapping):
        try:
            return Decoded(swiftly.read(body, schema), [], None)
        except swiftly.Strange:
            pass  # the careful walk says what is wrong
    walk = _Walk(schema)
    if not isinstance(body, Mapping):
        return Decoded({}, [], walk._type_error(_go_value(body), schema.go_type))
    try:
        out = walk.struct_value(body, schema, "")
    except _Refusal as refusal:
        return Decoded({}, walk.unknown, str(refusal))
    return Decoded(out, walk.unknown, walk.error)


def decode_type(name: str, body: Mapping[str, Any]) -> Decoded:
    """Read a body as a type that is no kind of a resource, such as `meta.v1.DeleteOptions`."""
    walk = _Walk(load().types[name])
    try:
        return Decoded(walk.struct_value(body, walk.root, ""), walk.unknown, walk.error)
    except _Refusal as refusal:
        return Decoded({}, walk.unknown, str(refusal))


def unknown_fields(resource: KindOf, body: Mapping[str, Any]) -> list[str]:
    """`unknown field "spec.replica"` for each field the kind does not have."""
    return decode(resource, body).unknown


def check_types(resource: KindOf, body: Mapping[str, Any]) -> str | None:
    """Go's JSON decoding error, or None.

    Texts as in `json: cannot unmarshal string into Go struct field
    DeploymentSpec.spec.replicas of type int32`.
    """
    return decode(resource, body).error
