"""Bodies of requests: from bytes to JSON values, with the errors the real server gives.

Served: JSON, YAML, and protobuf of built-in kinds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api import errors
from simcluster.api.encoding import jsontext, protobuf
from simcluster.api.encoding.jsontext import JsonError
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.request import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from simcluster.api.resources import Resource
from simcluster.api.schema import YamlSyntaxError, decode_type, decode_yaml

#: Source: k8s.io/apiserver, MaxRequestBodyBytes.
MAX_BODY_BYTES = 3 * 1024 * 1024
_JSON_TYPES = ("application/json", "")
_YAML_TYPES = ("application/yaml", "application/apply-patch+yaml")
_ACCEPTED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_CUSTOM_ACCEPTED = "application/json, application/yaml"
_SUMMARY = 30


class Body(NamedTuple):
    """A decoded body; `repeated` names keys that stood there twice."""

    value: Any
    repeated: tuple[str, ...] = ()


#: Content types without parameters, as clients in this process give them.
_BARE = frozenset({JSON, APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH})


def media_type(content_type: str) -> str:
    """The content type without parameters."""
    if content_type in _BARE:
        return content_type
    return content_type.partition(";")[0].strip().lower()


def read_object(request: Request, resource: Resource) -> Body:
    """The object a request carries, of the kind of the resource. Raises ApiError 400, 413, 415."""
    body = request.body
    if isinstance(body, Mapping):
        if resource.custom is not None:
            refuse_deep(body)
        found = Body(body)
    elif media_type(request.content_type) == protobuf.MEDIA_TYPE and resource.custom is None:
        found = Body(_message(body))
    else:
        found = _parse(_raw(body), media_type(request.content_type), resource)
    value = found.value
    if not isinstance(value, Mapping):
        raise errors.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): couldn't get version/kind; "
            f"json parse error: json: cannot unmarshal {go_kind(value)} into Go value of type struct "
            f'{{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }} '
            f"({_summary(_raw(body))})"
        )
    _check_kind(value, resource)
    return found


def read_any(request: Request) -> Any:
    """The JSON or YAML value of a body that is no object of a resource (patches, options)."""
    body = request.body
    if not isinstance(body, (bytes, str)):
        return body
    if media_type(request.content_type) == protobuf.MEDIA_TYPE:
        return _message(body) if body else None
    raw = _raw(body)
    if not raw.strip():
        return None
    try:
        if media_type(request.content_type) in _YAML_TYPES:
            return _yaml(raw).value
        return jsontext.parse(raw)
    except YamlSyntaxError as error:
        raise errors.bad_request(f"error decoding YAML: {error}") from None
    except JsonError as error:
        raise errors.bad_request(str(error)) from None


def refuse_deep(value: Any) -> None:
    """Refuse a value that nests deeper than the server reads. Raises ApiError 400."""
    try:
        jsontext.check_depth(value)
    except JsonError as error:
        raise errors.bad_request(str(error)) from None


def _message(body: Any) -> Json:
    """The object of a body in protobuf. Raises ApiError 400, 413."""
    try:
        return protobuf.decode(_limited(body if isinstance(body, bytes) else _raw(body).encode()))
    except ValueError as error:
        raise errors.bad_request(str(error)) from None


def _limited(body: bytes) -> bytes:
    if len(body) > MAX_BODY_BYTES:
        raise ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BODY_BYTES}")
    return body


def _raw(body: Any) -> str:
    if body is None:
        return ""
    if isinstance(body, bytes):
        return _limited(body).decode(errors="replace")
    return body if isinstance(body, str) else json.dumps(body)


def _parse(raw: str, media: str, resource: Resource) -> Body:
    kind = resource.kind
    try:
        if media in _JSON_TYPES:
            return Body(jsontext.parse(raw))
        if media in _YAML_TYPES:
            return _yaml(raw)
    except JsonError as error:
        why = f"couldn't get version/kind; json parse error: {error}"
        raise errors.bad_request(_unrecognized(kind, why, raw)) from None
    except YamlSyntaxError as error:
        why = f"couldn't get version/kind; json parse error: error converting YAML to JSON: {error}"
        raise errors.bad_request(_unrecognized(kind, why, raw)) from None
    raise errors.unsupported_media_type(_ACCEPTED if resource.custom is None else _CUSTOM_ACCEPTED)


def _yaml(raw: str) -> Body:
    documents, repeated = decode_yaml(raw)
    try:
        jsontext.check_depth(documents[:1])
    except JsonError as error:
        raise YamlSyntaxError(f"yaml: {error}") from None
    return Body(documents[0] if documents else None, tuple(repeated))


def _unrecognized(kind: str, why: str, raw: str) -> str:
    return f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(raw)})"


def _summary(raw: str) -> str:
    """The beginning of a body as errors quote it: text of an object, else hexadecimal."""
    if not raw:
        return "<empty>"
    if raw.startswith("{"):
        return raw if len(raw) <= _SUMMARY else raw[:_SUMMARY] + " ..."
    data = raw.encode()
    return data.hex() if len(data) <= _SUMMARY else data[:_SUMMARY].hex() + " ..."


def go_kind(value: Any) -> str:
    """What a Go program calls a JSON value that is no object."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "number"


def _check_kind(value: Mapping[str, Any], resource: Resource) -> None:
    kind, api_version = value.get("kind") or resource.kind, value.get("apiVersion") or resource.api_version
    if kind == resource.kind and api_version == resource.api_version:
        return
    group, _, version = str(api_version).rpartition("/")
    if kind != resource.kind:
        internal = (resource.group or "core").partition(".")[0]
        why = f"converting ({version}.{kind}) to ({internal}.{resource.kind}): unknown conversion"
    elif group == resource.group and version in ("v1", "v2"):
        raise errors.bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    else:
        why = (
            f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/api/legacyscheme/scheme.go:30"'
        )
    raise errors.bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}')


def read_options(request: Request) -> Json:
    """DeleteOptions of the body; of the query only if there is no body, as in the real server."""
    body = read_any(request)
    if isinstance(body, Mapping) and body:
        decoded = decode_type("meta.v1.DeleteOptions", body)
        if decoded.error is not None:
            raise errors.bad_request(decoded.error)
        return decoded.object
    if body is not None and not isinstance(body, Mapping):
        raise errors.bad_request(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {go_kind(body)} into Go value of "
            'type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
            'Kind string "json:\\"kind,omitempty\\"" }'
        )
    options: Json = {}
    for name in ("gracePeriodSeconds", "propagationPolicy", "orphanDependents"):
        value = request.param(name)
        if value:
            options[name] = _seconds(value) if name == "gracePeriodSeconds" else value
    if options.get("orphanDependents") is not None:
        options["orphanDependents"] = options["orphanDependents"] == "true"
    if request.param("dryRun"):
        options["dryRun"] = request.params("dryRun")
    return options


def _seconds(text: str) -> int:
    sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text)
    if not digits.isdecimal() or not digits.isascii():
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(digits) > 18:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return sign * int(digits)
