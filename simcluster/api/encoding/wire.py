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
from simcluster.api.objects import ApiObject, Json, uid_of
from simcluster.api.request import JSON, YAML, Request, Response
from simcluster.api.schema import type_of

_TRUE = ("true", "1", "")
#: Objects whose bytes an encoder keeps: some tens of megabytes.
_REMEMBERED = 4096


class Wire(NamedTuple):
    """One HTTP answer."""

    code: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Encoder:
    """Turns answers into bytes, and remembers those of stored objects, which are frozen.

    A memory of one server: it belongs to no world, and a copy begins empty.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[ApiObject, bytes]] = {}  # by uid and version

    def __reduce__(self) -> tuple[type[Encoder], tuple[()]]:
        return (Encoder, ())

    def encode(self, request: Request, response: Response) -> Wire:
        """The answer to a request; of a watch only its head."""
        content_type, body = response.content_type, b""
        if response.text is not None:
            body = response.text.encode()
        elif response.stream is None:
            content_type, body = self._body(request, response)
        return _wire(response, content_type, body)

    def _body(self, request: Request, response: Response) -> tuple[str, bytes]:
        content_type, value = response.content_type, response.body
        if isinstance(value, bytes):
            return content_type, value
        as_yaml = content_type == JSON and _wants_yaml(request.accept)
        pretty = _is_pretty(request)
        if isinstance(value, Mapping) and not (as_yaml or pretty or request.path == "/version"):
            return content_type, self._compact(value)
        shown = ordered(plain_list(value)) if isinstance(value, Mapping) else value
        if as_yaml:
            return YAML, yaml.safe_dump(_copied(shown), sort_keys=True).encode()
        if request.path == "/version":  # which is always printed for people
            return content_type, json.dumps(shown, indent=2).encode()
        return content_type, _json(shown, pretty=pretty)

    def _compact(self, value: Mapping[str, Any]) -> bytes:
        if isinstance(value, ApiObject):
            return self._object(value)
        plain = plain_list(value)
        items = value.get("items")
        if plain is value or not items or not all(isinstance(item, ApiObject) for item in items):
            return _json(ordered(plain), pretty=False)
        head = {"kind": value["kind"], "apiVersion": value["apiVersion"], "metadata": value.get("metadata") or {}}
        listed = b",".join(map(self._item, items))
        return _json(head, pretty=False)[:-2] + b',"items":[' + listed + b"]}\n"

    def _item(self, item: ApiObject) -> bytes:
        """An object of a list: its first two fields are those of the list."""
        whole = self._object(item)
        head = f'{{"kind":"{item["kind"]}","apiVersion":"{item["apiVersion"]}",'.encode()
        return b"{" + whole[len(head) : -1]

    def _object(self, value: ApiObject) -> bytes:
        key = (uid_of(value), value["metadata"].get("resourceVersion", ""))
        known = self._known.get(key)
        if known is not None and known[0] is value:
            return known[1]
        found = _json(ordered(value), pretty=False)
        if len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = (value, found)
        return found


def encode(request: Request, response: Response) -> Wire:
    """The answer to one request, by an encoder that remembers nothing."""
    return Encoder().encode(request, response)


def _wire(response: Response, content_type: str, body: bytes) -> Wire:
    named = {"Cache-Control": "no-cache, private", "Content-Type": content_type, **response.headers}
    if "g=apidiscovery.k8s.io" in content_type:
        named.update({"Cache-Control": "public", "Etag": f'"{_stamp(response.body)}"', "Vary": "Accept"})
    headers = [(name, value) for name, value in named.items() if value]
    headers += [("Warning", f"299 - {_quoted(text)}") for text in response.warnings]
    details = response.body.get("details") if isinstance(response.body, Mapping) and not response.ok else None
    if isinstance(details, Mapping) and details.get("retryAfterSeconds"):
        headers.append(("Retry-After", str(details["retryAfterSeconds"])))
    if response.stream is None:
        headers.append(("Content-Length", str(len(body))))
    return Wire(response.code, tuple(headers), body)


def _stamp(body: Mapping[str, Any]) -> str:
    """What names a discovery document: the hash of all but its kind (apiserver discovery/aggregated/etag.go)."""
    rest = {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
    return hashlib.sha512(_json(rest, pretty=False).rstrip(b"\n")).hexdigest().upper()


def frames(events: Iterable[Json]) -> bytes:
    """Events of a watch, one JSON value a line."""
    return b"".join(_json(ordered(event), pretty=False) for event in events)


def plain_list(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A list of a built-in kind whose items do not tell their kind; other bodies as they are."""
    kind, items = str(body.get("kind", "")), body.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        return body
    group, _, version = str(body.get("apiVersion", "")).rpartition("/")
    if group != "metrics.k8s.io" and type_of(group, version, kind.removesuffix("List")) is None:
        return body
    names = ("kind", "apiVersion")
    return {**body, "items": [{k: v for k, v in item.items() if k not in names} for item in items]}


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
