"""PATCH: from a patch document to the object it makes, with the real server's refusals.

Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simcluster.api import errors
from simcluster.api.encoding.codec import go_kind, media_type
from simcluster.api.encoding.ordering import ordered
from simcluster.api.errors import ApiError, Cause
from simcluster.api.objects import Json
from simcluster.api.patch import jsonpatch, merge, strategic
from simcluster.api.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from simcluster.api.resources import Resource
from simcluster.api.schema import TypeSchema, decode, type_of

_FOR_CUSTOM = f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}"


def patched(resource: Resource, current: Json, patch: Any, content_type: str) -> Json:
    """`current` with the patch applied; unchanged subtrees are shared. Raises ApiError."""
    media = media_type(content_type)
    schema = type_of(resource.group, resource.version, resource.kind)
    if media == JSON_PATCH:
        return _json_patched(current, patch)
    if not isinstance(patch, Mapping):
        raise errors.bad_request(
            f"json: cannot unmarshal {go_kind(patch)} into Go value of type map[string]interface {{}}"
        )
    if media == MERGE_PATCH:
        merged: Json = merge.merge(current, patch)
        return merged
    if media == STRATEGIC_MERGE_PATCH and schema is not None:
        return _strategically_patched(current, dict(patch), schema)
    if media == STRATEGIC_MERGE_PATCH:
        raise errors.unsupported_media_type(_FOR_CUSTOM)
    raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def _json_patched(current: Json, patch: Any) -> Json:
    try:
        result = jsonpatch.apply(dict(current), patch)
    except jsonpatch.MalformedPatchError as error:
        raise errors.bad_request(str(error)) from None
    except jsonpatch.JsonPatchError:
        message = "the server rejected our request due to an error in our request"
        raise ApiError(422, "Invalid", message, {}) from None
    if not isinstance(result, dict):
        raise errors.bad_request("the patched document is no object")
    return result


def _strategically_patched(current: Json, patch: Json, schema: TypeSchema) -> Json:
    try:
        return strategic.merge(current, patch, schema)
    except strategic.StrategicPatchError as error:
        if error.is_bad_request:
            raise errors.bad_request(str(error)) from None
        raise ApiError(500, "", str(error)) from None


def decode_patched(
    resource: Resource, result: Json, patch: Any, content_type: str, validation: str
) -> tuple[Json, tuple[str, ...]]:
    """The object a patch made, in the form the server stores it, and warnings.

    Raises:
        ApiError: 422, the patch put a value of a wrong type somewhere, or (Strict) an unknown field.
    """
    decoded = decode(resource, result)
    if decoded.error is not None:
        raise _invalid_patch(result, patch, content_type, decoded.error)
    if decoded.unknown and validation == "Strict":
        raise _invalid_patch(result, patch, content_type, "strict decoding error: " + ", ".join(decoded.unknown))
    return decoded.object, tuple(decoded.unknown) if validation in ("", "Warn") else ()


def _invalid_patch(result: Json, patch: Any, content_type: str, why: str) -> ApiError:
    if media_type(content_type) == STRATEGIC_MERGE_PATCH:
        shown = strategic.go_map(patch)
        why = _converter_error(why)
    else:
        typed = ordered(result)
        shown = json.dumps({key: typed[key] for key in sorted(typed)}, separators=(",", ":"))
    message = f"Invalid value: {json.dumps(shown, ensure_ascii=False)}: {why}"
    cause = Cause("FieldValueInvalid", message, "patch")
    error = errors.invalid("", "", "", [cause])
    error.details = {"causes": [cause._asdict()]}
    return error


def _converter_error(why: str) -> str:
    """What the converter of strategic patches says where Go's JSON decoder would say `why`."""
    _, found, go_type = why.rpartition(" of type ")
    if not found or not why.startswith("json: cannot unmarshal "):
        return why
    kind = why.removeprefix("json: cannot unmarshal ").split(" ", 1)[0]
    kind = {"number": "int64", "object": "map", "array": "slice"}.get(kind, kind)
    if go_type.startswith("[]"):
        return f"cannot restore slice from {kind}"
    if go_type.startswith("map["):
        return f"cannot restore map from {kind}"
    if go_type in ("int32", "int64", "bool", "string", "float64"):
        return f"unrecognized type: {go_type}"
    return f"cannot restore struct from: {kind}"


def check_identity(resource: Resource, name: str, namespace: str, result: Mapping[str, Any]) -> None:
    """Refuse a write that names another object than the URL. Raises ApiError 400."""
    metadata = result.get("metadata")
    if not isinstance(metadata, Mapping):
        metadata = {}
    written = metadata.get("name")
    if not written:
        why = "name must be provided"
        raise errors.bad_request(f"the name of the object ({name} based on URL) was undeterminable: {why}")
    if written != name:
        raise errors.bad_request(f"the name of the object ({written}) does not match the name on the URL ({name})")
    if resource.namespaced and metadata.get("namespace") not in (None, "", namespace):
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
