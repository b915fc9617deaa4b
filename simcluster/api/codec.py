"""Bodies of requests: from bytes to JSON values, with the errors the real server gives.

Served: JSON and YAML. Protobuf, which newer kubectls send for some `create` commands, is
answered with 415 as a server without it would.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api import errors
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.request import Request
from simcluster.api.resources import Resource
from simcluster.api.schema import YamlSyntaxError, decode_yaml

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


def media_type(content_type: str) -> str:
    """The content type without parameters."""
    return content_type.partition(";")[0].strip().lower()


def read_object(request: Request, resource: Resource) -> Body:
    """The object a request carries, of the kind of the resource. Raises ApiError 400, 413, 415."""
    body = request.body
    if isinstance(body, Mapping):
        found = Body(body)
    else:
        found = _parse(_raw(body), media_type(request.content_type), resource)
    value = found.value
    if not isinstance(value, Mapping):
        raise errors.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): couldn't get version/kind; "
            f"json parse error: json: cannot unmarshal {_go_kind(value)} into Go value of type struct "
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
    raw = _raw(body)
    if not raw.strip():
        return None
    try:
        if media_type(request.content_type) in _YAML_TYPES:
            return _yaml(raw).value
        return json.loads(raw)
    except YamlSyntaxError as error:
        raise errors.bad_request(f"error decoding YAML: {error}") from None
    except json.JSONDecodeError as error:
        raise errors.bad_request(go_json_error(raw, error)) from None
    except UnicodeDecodeError:
        raise errors.bad_request("invalid character 'ÿ' looking for beginning of value") from None


def _raw(body: Any) -> str:
    if body is None:
        return ""
    if isinstance(body, bytes):
        if len(body) > MAX_BODY_BYTES:
            message = f"Request entity too large: limit is {MAX_BODY_BYTES}"
            raise ApiError(413, "RequestEntityTooLarge", message)
        return body.decode(errors="replace")
    return body if isinstance(body, str) else json.dumps(body)


def _parse(raw: str, media: str, resource: Resource) -> Body:
    kind = resource.kind
    try:
        if media in _JSON_TYPES:
            return Body(json.loads(raw))
        if media in _YAML_TYPES:
            return _yaml(raw)
    except json.JSONDecodeError as error:
        why = f"couldn't get version/kind; json parse error: {go_json_error(raw, error)}"
        raise errors.bad_request(_unrecognized(kind, why, raw)) from None
    except YamlSyntaxError as error:
        why = f"couldn't get version/kind; json parse error: error converting YAML to JSON: {error}"
        raise errors.bad_request(_unrecognized(kind, why, raw)) from None
    raise errors.unsupported_media_type(_ACCEPTED if resource.custom is None else _CUSTOM_ACCEPTED)


def _yaml(raw: str) -> Body:
    documents, repeated = decode_yaml(raw)
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


def _go_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "number"


def go_json_error(raw: str, error: json.JSONDecodeError) -> str:
    """Go's words for a JSON syntax error.

    >>> try: json.loads("{bad")
    ... except json.JSONDecodeError as e: print(go_json_error("{bad", e))
    invalid character 'b' looking for beginning of object key string
    """
    position = error.pos
    while position < len(raw) and raw[position] in " \t\r\n":
        position += 1
    if position >= len(raw) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    where = {
        "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
        "Expecting value": "looking for beginning of value",
        "Expecting ':' delimiter": "after object key",
        "Extra data": "after top-level value",
        "Expecting ',' delimiter": "after object key:value pair",
    }.get(error.msg, "in string literal")
    return f"invalid character {_quoted(raw[position])} {where}"


def _quoted(character: str) -> str:
    if character == "'":
        return "'\\''"
    return "'\"'" if character == '"' else f"'{character}'"


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
        return dict(body)
    options: Json = {}
    for name in ("gracePeriodSeconds", "propagationPolicy", "orphanDependents"):
        value = request.param(name)
        if value:
            options[name] = int(value) if name == "gracePeriodSeconds" else value
    if options.get("orphanDependents") is not None:
        options["orphanDependents"] = options["orphanDependents"] == "true"
    if request.param("dryRun"):
        options["dryRun"] = request.params("dryRun")
    return options
