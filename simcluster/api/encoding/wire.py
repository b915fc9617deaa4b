"""Answers as they stand on the wire: status code, headers that clients use, bytes.

Answers inside of the process share the stored objects. On the wire the items of a list of a
built-in kind have no `kind` and `apiVersion`, and keys stand in the order of the server's Go types.
Served: JSON (with `pretty`), YAML, text. Left out: protobuf and compression, and the headers
that only name a request (`Audit-Id`, `X-Kubernetes-Pf-*`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import yaml

from simcluster.api.encoding.ordering import ordered
from simcluster.api.objects import Json
from simcluster.api.request import JSON, YAML, Request, Response
from simcluster.api.schema import type_of

_TRUE = ("true", "1", "")


class Wire(NamedTuple):
    """One HTTP answer."""

    code: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def encode(request: Request, response: Response) -> Wire:
    """The answer to a request; of a watch only its head."""
    content_type, body = response.content_type, b""
    if response.text is not None:
        body = response.text.encode()
    elif response.stream is None:
        shown = ordered(plain_list(response.body)) if isinstance(response.body, Mapping) else response.body
        if content_type == JSON and _wants_yaml(request.accept):
            content_type, body = YAML, yaml.safe_dump(_copied(shown), sort_keys=True).encode()
        elif request.path == "/version":  # which is always printed for people
            body = json.dumps(shown, indent=2).encode()
        else:
            body = _json(shown, pretty=_is_pretty(request))
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
