"""Values of CEL: JSON values, and the types JSON does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from simcluster.api.cel.lexer import UInt
from simcluster.engine import SECOND, format_rfc3339


class CelError(Exception):
    """An expression cannot be evaluated; the message is that of cel-go."""


class Timestamp(NamedTuple):
    """An instant, in simulated nanoseconds."""

    ns: int


class Duration(NamedTuple):
    """A length of time in nanoseconds."""

    ns: int


class TypeName(NamedTuple):
    """A type as a value: `type(1) == int`."""

    name: str


class Optional(NamedTuple):
    """A value that may be absent."""

    items: tuple[Any, ...] = ()

    @property
    def present(self) -> bool:
        """Whether there is a value."""
        return bool(self.items)


class Quantity(NamedTuple):
    """A Kubernetes quantity, in nano-units (1e-9)."""

    nano: int


class Lazy:
    """A mapping whose values are computed when they are asked for (`variables` of a policy)."""

    def field(self, name: str) -> Any:
        """The value. Raises CelError."""
        raise CelError(f"no such key: {name}")

    def has(self, name: str) -> bool:
        """Whether there is such a value."""
        return False


def type_of(value: Any) -> str:
    """The CEL type of a value."""
    if value is None:
        return "null_type"
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    return "map" if isinstance(value, (Mapping, Lazy)) else "dyn"


_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (UInt, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (Timestamp, "google.protobuf.Timestamp"),
    (Duration, "google.protobuf.Duration"),
    (TypeName, "type"),
    (Optional, "optional_type"),
    (Quantity, "kubernetes.Quantity"),
)


def no_overload() -> NoReturn:
    """The error of an operation that these types do not have."""
    raise CelError("no such overload")


def need_text(value: Any) -> str:
    """The value if it is a text. Raises CelError."""
    return value if isinstance(value, str) else no_overload()


def need_int(value: Any) -> int:
    """The value if it is an integer. Raises CelError."""
    return value if isinstance(value, int) and not isinstance(value, bool) else no_overload()


def need_list(value: Any) -> list[Any]:
    """The value if it is a list. Raises CelError."""
    return value if isinstance(value, list) else no_overload()


def is_number(value: Any) -> bool:
    """Whether the value is an int, uint or double."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(a: Any, b: Any) -> bool:
    """`==`: values of different types are different, numbers are compared by value."""
    if is_number(a) and is_number(b):
        return bool(a == b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return len(a) == len(b) and all(key in b and equal(a[key], b[key]) for key in a)
    return type_of(a) == type_of(b) and bool(a == b)


def less(a: Any, b: Any) -> bool:
    """`<`. Raises CelError for types without an order."""
    if is_number(a) and is_number(b):
        return bool(a < b)
    if type_of(a) != type_of(b) or not isinstance(a, (str, bytes, bool, Timestamp, Duration, Quantity)):
        no_overload()
    return bool(a < b)


def text_of(value: Any) -> str:
    """`string(value)`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    if isinstance(value, Timestamp):
        return format_rfc3339(value.ns)
    if isinstance(value, Duration):
        whole, rest = divmod(abs(value.ns), SECOND)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{'-' if value.ns < 0 else ''}{whole}{fraction}s"
    text = getattr(value, "text", None)
    return text if isinstance(text, str) else no_overload()
