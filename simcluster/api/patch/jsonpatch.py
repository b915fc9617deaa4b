"""JSON patch (RFC 6902) over JSON pointers (RFC 6901).

As in the API server's library (evanphx/json-patch), `remove` and `replace` of something
that is not there fail, and `-1` may index a list from its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class JsonPatchError(Exception):
    """The patch cannot be applied to this document."""


class MalformedPatchError(Exception):
    """The document given is no JSON patch."""


def apply(document: Any, operations: Any) -> Any:
    """The document after all operations, in order.

    Raises:
        MalformedPatchError: `operations` is no list of operations.
        JsonPatchError: a path is missing or a test fails.
    """
    if not isinstance(operations, list):
        raise MalformedPatchError("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise MalformedPatchError("json: cannot unmarshal value into Go value of type jsonpatch.Operation")
        document = _apply_one(document, operation)
    return document


def pointer(text: str) -> list[str]:
    """The reference tokens of a JSON pointer.

    >>> pointer("/metadata/labels/app~1name")
    ['metadata', 'labels', 'app/name']
    """
    if not text:
        return []
    if not text.startswith("/"):
        raise JsonPatchError(f"missing value: invalid path {text}")
    return [token.replace("~1", "/").replace("~0", "~") for token in text[1:].split("/")]


def _apply_one(document: Any, operation: dict[str, Any]) -> Any:
    kind = operation.get("op")
    path = pointer(operation["path"])
    if kind == "add":
        return _add(document, path, _value(operation))
    if kind == "remove":
        return _remove(document, path)
    if kind == "replace":
        look_up(document, path)
        return _replace(document, path, _value(operation))
    if kind == "test":
        try:
            found = look_up(document, path)
        except JsonPatchError:
            found = None
        if not same(found, operation.get("value")):
            raise JsonPatchError(f"testing value {operation['path']} failed")
        return document
    if kind in ("move", "copy"):
        source = pointer(str(operation.get("from", "")))
        moved = look_up(document, source)
        return _add(_remove(document, source) if kind == "move" else document, path, moved)
    raise JsonPatchError(f"Unexpected kind: {kind}")


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise JsonPatchError("missing value")
    return operation["value"]


def same(a: Any, b: Any) -> bool:
    """JSON equality: unlike in Python, true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def look_up(document: Any, path: Sequence[str]) -> Any:
    """The value at a path. Raises JsonPatchError if there is none."""
    for token in path:
        if isinstance(document, dict):
            if token not in document:
                raise JsonPatchError(f"missing key: {token}")
            document = document[token]
        elif isinstance(document, list):
            document = document[_index(token, len(document) - 1)]
        else:
            raise JsonPatchError(f"missing path: {token}")
    return document


def _index(token: str, last: int) -> int:
    digits = token.removeprefix("-")
    if not digits.isdecimal() or (len(digits) > 1 and digits[0] == "0"):
        raise JsonPatchError(f"invalid index: {token}")
    index = int(token)
    if index < 0:
        index += last + 1
    if not 0 <= index <= last:
        raise JsonPatchError(f"invalid index referenced: {token}")
    return index


def _add(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(document, dict):
        if rest and head not in document:
            raise JsonPatchError(f"missing path: {head}")
        return {**document, head: _add(document.get(head), rest, value)}
    if isinstance(document, list):
        if rest:
            index = _index(head, len(document) - 1)
            return [*document[:index], _add(document[index], rest, value), *document[index + 1 :]]
        index = len(document) if head == "-" else _index(head, len(document))
        return [*document[:index], value, *document[index:]]
    raise JsonPatchError(f"missing path: {head}")


def _replace(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(document, dict):
        return {**document, head: _replace(document[head], rest, value)}
    index = _index(head, len(document) - 1)
    return [*document[:index], _replace(document[index], rest, value), *document[index + 1 :]]


def _remove(document: Any, path: Sequence[str]) -> Any:
    if not path:
        raise JsonPatchError("unable to remove the whole document")
    head, rest = path[0], path[1:]
    look_up(document, path)
    if isinstance(document, dict):
        if rest:
            return {**document, head: _remove(document[head], rest)}
        return {key: value for key, value in document.items() if key != head}
    index = _index(head, len(document) - 1)
    if rest:
        return [*document[:index], _remove(document[index], rest), *document[index + 1 :]]
    return [*document[:index], *document[index + 1 :]]
