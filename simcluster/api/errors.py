"""What an API server answers when it refuses: the `Status` object as an exception.

Texts are those of k8s.io/apimachinery/pkg/api/errors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple


class Cause(NamedTuple):
    """One `details.causes` entry: a reason such as FieldValueRequired, its text, its field."""

    reason: str
    message: str
    field: str


class ApiError(Exception):
    """An answer of the API server that is no success.

    Attributes:
        code: HTTP status code.
        reason: machine-readable reason (`NotFound`, `Conflict`, ...), may be empty.
        message: text for people, as `kubectl` prints it.
        details: the `details` of the Status, or None.
        list_metadata: the `metadata` of the Status: where an expired list may go on.
    """

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.list_metadata: dict[str, Any] = {}

    def __reduce__(self) -> tuple[type[ApiError], tuple[int, str, str, dict[str, Any] | None]]:
        return (ApiError, (self.code, self.reason, self.message, self.details))

    def status(self) -> dict[str, Any]:
        """The wire form (`kind: Status`)."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.list_metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def _details(resource: str, name: str, causes: Sequence[Cause] = ()) -> dict[str, Any]:
    plural, _, group = resource.partition(".")
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = plural
    if causes:
        details["causes"] = [c._asdict() for c in causes]
    return details


def not_found(resource: str, name: str) -> ApiError:
    """404. `resource` is `plural[.group]`, as in `deployments.apps`."""
    return ApiError(404, "NotFound", f'{resource} "{name}" not found', _details(resource, name))


def already_exists(resource: str, name: str) -> ApiError:
    """409 on create."""
    return ApiError(409, "AlreadyExists", f'{resource} "{name}" already exists', _details(resource, name))


def conflict(resource: str, name: str, why: str) -> ApiError:
    """409 on update."""
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(resource, name))


def stale(resource: str, name: str) -> ApiError:
    """The conflict of a write whose `resourceVersion` is not the stored one."""
    return conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def forbidden(resource: str, name: str, why: str) -> ApiError:
    """403, also the answer of admission (quota and the like)."""
    return ApiError(403, "Forbidden", f'{resource} "{name}" is forbidden: {why}', _details(resource, name))


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> ApiError:
    """422: what validation found. `kind` is the Kind, as in `Deployment`."""
    texts = list(dict.fromkeys(f"{c.field}: {c.message}" for c in causes))  # the message says nothing twice
    listed = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    qualified = f"{kind}.{group}" if group else kind
    details: dict[str, Any] = {"name": name} if name else {}
    if group:
        details["group"] = group
    details["kind"] = kind
    details["causes"] = [c._asdict() for c in causes]
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {listed}', details)


def method_not_supported(resource: str, verb: str) -> ApiError:
    """405."""
    message = f'{verb} is not supported on resources of kind "{resource}"'
    return ApiError(405, "MethodNotAllowed", message, _details(resource, ""))


def expired(version: int, oldest: int) -> ApiError:
    """410: a watch or list from a version that is no longer kept."""
    return ApiError(410, "Expired", f"too old resource version: {version} ({oldest})")


def unsupported_media_type(content_type: str) -> ApiError:
    """415."""
    message = f"the body of the request was in an unknown format - accepted media types include: {content_type}"
    return ApiError(415, "UnsupportedMediaType", message)


def page_not_found() -> ApiError:
    """404 for a path that is no resource."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


#: What a client makes of answers that carry no Status (apimachinery, NewGenericServerResponse).
_GENERIC = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", ""),
    409: ("Conflict", "the server reported a conflict"),
    415: ("UnsupportedMediaType", ""),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: (
        "TooManyRequests",
        "the server has received too many requests and has asked us to try again later",
    ),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}


def of_plain_answer(code: int, text: str) -> dict[str, Any]:
    """The Status that a client puts in the place of an answer in plain words."""
    said = text.strip() or "unknown"
    reason, message = _GENERIC.get(
        code, ("", f"the server responded with the status code {code} but did not return more information")
    )
    if code == 403:
        reason, message = "Forbidden", said
    elif code >= 500 and code not in _GENERIC:
        reason, message = (
            "InternalError",
            f"an error on the server ({json.dumps(said)}) has prevented the request from succeeding",
        )
    return ApiError(code, reason, message or said, {}).status()
