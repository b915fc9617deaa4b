"""Decoding, defaulting and validation of what a request carries, as one step each."""

from __future__ import annotations

from typing import Any, NamedTuple

from simcluster.api import defaults, errors, validation
from simcluster.api.encoding import codec
from simcluster.api.errors import Cause
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import Request
from simcluster.api.resources import Resource
from simcluster.api.schema import decode


class Vetted(NamedTuple):
    """A decoded body and the warnings its decoding gave."""

    object: Json
    warnings: tuple[str, ...]


def vet(resource: Resource, body: Any, mode: str, *, repeated: tuple[str, ...] = ()) -> Vetted:
    """Decode a body into the form the server stores, without defaults.

    Args:
        mode: `fieldValidation` of the request: Strict, Warn or Ignore.
        repeated: problems found while parsing the text (repeated keys).

    Raises:
        ApiError: 400, the body has a field of a wrong type, or (Strict) an unknown one.
    """
    decoded = decode(resource, body)
    if decoded.error is not None:
        raise errors.bad_request(_cannot_be_handled(resource, decoded.error))
    problems = (*repeated, *decoded.unknown)
    if problems and mode == "Strict":
        raise errors.bad_request(_cannot_be_handled(resource, "strict decoding error: " + ", ".join(problems)))
    return Vetted(decoded.object, problems if mode in ("", "Warn") else ())


def received(request: Request, resource: Resource) -> Vetted:
    """The object a request carries, of the resource's kind. Raises ApiError 400, 413, 415."""
    body = codec.read_object(request, resource)
    return vet(resource, body.value, request.param("fieldValidation"), repeated=body.repeated)


def _cannot_be_handled(resource: Resource, why: str) -> str:
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}'


def default(resource: Resource, obj: Json) -> None:
    """Fill in what the writer left to the server; changes `obj`, which must be private."""
    if resource.custom is not None:
        resource.custom.default(obj)
        return
    defaults.apply(resource, obj)


def refuse_create(resource: Resource, obj: Json) -> list[Cause]:
    """What is wrong with a new object."""
    if resource.custom is not None:
        return resource.custom.refuse_create(resource, obj)
    return validation.validate_create(resource, obj)


def refuse_update(resource: Resource, obj: Json, old: ApiObject) -> list[Cause]:
    """What is wrong with a changed object."""
    if resource.custom is not None:
        return resource.custom.refuse_update(resource, obj, old)
    return validation.validate_update(resource, obj, old)


def refuse_status_update(resource: Resource, obj: Json, old: ApiObject) -> list[Cause]:
    """What is wrong with a changed status."""
    if resource.custom is not None:
        return resource.custom.refuse_update(resource, obj, old)
    return validation.validate_status_update(resource, obj, old)
