"""Answers as they stand on the wire: status code, headers that clients use, bytes.

Answers inside of the process share the stored objects. On the wire the items of a list of a
built-in kind have no `kind` and `apiVersion`, and keys stand in the order of the server's Go types.
Served: JSON (with `pretty`), YAML, text, a body of bytes as it is. Left out: objects in protobuf, and the headers
that only name a request (`Audit-Id`, `X-Kubernetes-Pf-*`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import yaml

from simcluster.api.encoding.ordering import ordered
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import JSON, YAML, Request, Response
from simcluster.api.schema import type_of

_TRUE = ("true", "1", "")
#: Objects whose bytes an encoder keeps: some tens of megabytes.
_REMEMBERED = 4096
#: What items of a list of a built-in kind do not say again.
_OF_A_LIST = ("kind", "apiVersion")


class Wire(NamedTuple):
    """One HTTP answer.

    Attributes:
        digest: of the body, 32 hexadecimal digits; of a list, over the digests of its parts.
    """

    code: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    digest: str


class _Text(NamedTuple):
    """Bytes and their digest."""

    text: bytes
    digest: bytes


class Encoder:
    """Turns answers into bytes, and remembers those of stored objects, which are frozen.

    A memory of one server: it belongs to no world, and a copy begins empty.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], tuple[Mapping[str, Any], _Text]] = {}  # by form, uid and version
        self._rows: dict[tuple[str, str, str], tuple[Mapping[str, Any], Mapping[str, Any], _Text]] = {}

    def __reduce__(self) -> tuple[type[Encoder], tuple[()]]:
        return (Encoder, ())

    def encode(self, request: Request, response: Response) -> Wire:
        """The answer to a request; of a watch only its head."""
        content_type, body = response.content_type, _named(b"")
        if response.text is not None:
            body = _named(response.text.encode())
        elif response.stream is None:
            content_type, body = self._body(request, response)
        return _wire(response, content_type, body)

    def _body(self, request: Request, response: Response) -> tuple[str, _Text]:
        content_type, value = response.content_type, response.body
        if isinstance(value, bytes):
            return content_type, value
        as_yaml = content_type == JSON and _wants_yaml(request.accept)
        pretty = _is_pretty(request)
        if isinstance(value, Mapping) and not (as_yaml or pretty or request.path == "/version"):
            return content_type, self._compact(value)
        shown = ordered(plain_list(value)) if isinstance(value, Mapping) else value
        if as_yaml:
            return YAML, _named(yaml.safe_dump(_copied(shown), sort_keys=True).encode())
        if request.path == "/version":  # which is always printed for people
            return content_type, _named(json.dumps(shown, indent=2).encode())
        return content_type, _named(_json(shown, pretty=pretty))

    def _compact(self, value: Mapping[str, Any]) -> _Text:
        if isinstance(value, ApiObject):
            return _named(_head(value) + self._item(value).text[1:] + b"\n")
        items = value.get("items")
        if items and _is_plain(value) and all(isinstance(item, ApiObject) for item in items):
            head = {"kind": value["kind"], "apiVersion": value["apiVersion"], "metadata": value.get("metadata") or {}}
            return _listed(head, b"items", map(self._item, items))
        rows = value.get("rows")
        if rows and value.get("kind") == "Table":
            head = {key: part for key, part in value.items() if key != "rows"}
            return _listed(head, b"rows", map(self._row, rows))
        return _named(_json(ordered(plain_list(value)), pretty=False))

    def _row(self, row: Mapping[str, Any]) -> _Text:
        """A row of a Table, kept as long as its object is the same and its cells say the same (they tell ages)."""
        shown = row.get("object")
        if not isinstance(shown, Mapping):
            return _named(_json(row, pretty=False)[:-1])
        metadata = shown["metadata"]
        key = (metadata.get("uid", ""), metadata.get("resourceVersion", ""), shown["kind"])
        known = self._rows.get(key)
        if known is not None and known[0] is metadata and known[1]["cells"] == row["cells"]:
            return known[2]
        rest = _json({name: part for name, part in row.items() if name != "object"}, pretty=False)
        found = _named(rest[:-2] + b',"object":' + self._shown(shown) + b"}")
        if len(self._rows) >= _REMEMBERED:
            del self._rows[next(iter(self._rows))]
        self._rows[key] = (metadata, row, found)
        return found

    def _shown(self, value: Mapping[str, Any]) -> bytes:
        if isinstance(value, ApiObject):
            return _head(value) + self._item(value).text[1:]
        if value.get("kind") == "PartialObjectMetadata":
            return self._once(value, value["metadata"], "partial").text
        return _json(ordered(value), pretty=False)[:-1]

    def _item(self, item: ApiObject) -> _Text:
        """An object of a list: its first two fields are those of the list."""
        return self._once(item, item, "")

    def _once(self, value: Mapping[str, Any], frozen: Mapping[str, Any], form: str) -> _Text:
        """The bytes of a value in one form, kept as long as the store's part of it, which is frozen, is the same."""
        metadata = value["metadata"]
        key = (form, metadata.get("uid", ""), metadata.get("resourceVersion", ""))
        known = self._known.get(key)
        if known is not None and known[0] is frozen:
            return known[1]
        shown = ordered(value)
        if not form:
            shown = {name: part for name, part in shown.items() if name not in _OF_A_LIST}
        found = _named(_json(shown, pretty=False)[:-1])
        if len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = (frozen, found)
        return found


def _head(value: ApiObject) -> bytes:
    return f'{{"kind":"{value["kind"]}","apiVersion":"{value["apiVersion"]}",'.encode()


def _listed(head: Mapping[str, Any], name: bytes, parts: Iterable[_Text]) -> _Text:
    """A JSON object with a list at its end, put together once and not hashed again: lists are megabytes."""
    first = _json(head, pretty=False)[:-2]
    pieces, digests = [first, b',"', name, b'":['], [first]
    for part in parts:
        pieces += (part.text, b",")
        digests.append(part.digest)
    pieces[-1] = b"]}\n"
    return _Text(b"".join(pieces), _digest(b"".join(digests)))


def _named(text: bytes) -> _Text:
    return _Text(text, _digest(text))


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


def encode(request: Request, response: Response) -> Wire:
    """The answer to one request, by an encoder that remembers nothing."""
    return Encoder().encode(request, response)


def _wire(response: Response, content_type: str, body: _Text) -> Wire:
    named = {"Cache-Control": "no-cache, private", "Content-Type": content_type, **response.headers}
    if "g=apidiscovery.k8s.io" in content_type:
        named.update({"Cache-Control": "public", "Etag": f'"{_stamp(response.body)}"', "Vary": "Accept"})
    headers = [(name, value) for name, value in named.items() if value]
    headers += [("Warning", f"299 - {_quoted(text)}") for text in response.warnings]
    details = response.body.get("details") if isinstance(response.body, Mapping) and not response.ok else None
    if isinstance(details, Mapping) and details.get("retryAfterSeconds"):
        headers.append(("Retry-After", str(details["retryAfterSeconds"])))
    if response.stream is None:
        headers.append(("Content-Length", str(len(body.text))))
    return Wire(response.code, tuple(headers), body.text, body.digest.hex())


def _stamp(body: Mapping[str, Any]) -> str:
    """What names a discovery document: the hash of all but its kind (apiserver discovery/aggregated/etag.go)."""
    rest = {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
    return hashlib.sha512(_json(rest, pretty=False).rstrip(b"\n")).hexdigest().upper()


def frames(events: Iterable[Json]) -> bytes:
    """Events of a watch, one JSON value a line."""
    return b"".join(_json(ordered(event), pretty=False) for event in events)


def plain_list(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A list of a built-in kind whose items do not tell their kind; other bodies as they are."""
    if not _is_plain(body):
        return body
    return {**body, "items": [{k: v for k, v in item.items() if k not in _OF_A_LIST} for item in body["items"]]}


def _is_plain(body: Mapping[str, Any]) -> bool:
    """Whether it is a list of a built-in kind."""
    kind = str(body.get("kind", ""))
    if not kind.endswith("List") or not isinstance(body.get("items"), list):
        return False
    group, _, version = str(body.get("apiVersion", "")).rpartition("/")
    return group == "metrics.k8s.io" or type_of(group, version, kind.removesuffix("List")) is not None


def _json(value: Any, *, pretty: bool) -> bytes:
    if pretty:
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    # Go writes these so that the text can stand within HTML.
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return (text + "\n").encode()


def _copied(value: Any) -> Any:
    """Plain dictionaries and lists, which the YAML printer knows, without shared parts."""
    return json.loads(json.dumps(value))


def _is_pretty(request: Request) -> bool:
    return any(key == "pretty" for key, _ in request.query) and request.param("pretty") in _TRUE


def _wants_yaml(accept: str) -> bool:
    for offer in accept.split(","):
        media = offer.partition(";")[0].strip()
        if media in (JSON, "*/*", "application/*", ""):
            return False
        if media == YAML:
            return True
    return False


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
