"""Decoding, defaulting and validation of what a request carries, as one step each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from simcluster.api import errors
from simcluster.api.errors import Cause
from simcluster.api.objects import ApiObject, Json
from simcluster.api.resources import Resource
from simcluster.api.schema import decode


class Vetted(NamedTuple):
    """A decoded body and the warnings its decoding gave."""

    object: Json
    warnings: tuple[str, ...]


def vet(resource: Resource, body: Any, validation: str, *, repeated: tuple[str, ...] = ()) -> Vetted:
    """Decode a body into the form the server stores, without defaults.

    Args:
        validation: `fieldValidation` of the request: Strict, Warn or Ignore.
        repeated: problems found while parsing the text (repeated keys).

    Raises:
        ApiError: 400, the body has a field of a wrong type, or (Strict) an unknown one.
    """
    decoded = decode(resource, body)
    if decoded.error is not None:
        raise errors.bad_request(_cannot_be_handled(resource, decoded.error))
    problems = (*repeated, *decoded.unknown)
    if problems and validation == "Strict":
        raise errors.bad_request(_cannot_be_handled(resource, "strict decoding error: " + ", ".join(problems)))
    return Vetted(decoded.object, problems if validation in ("", "Warn") else ())


def _cannot_be_handled(resource: Resource, why: str) -> str:
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}'


def _optional(module: str, name: str) -> Callable[..., Any] | None:
    try:
        found = __import__(f"simcluster.api.{module}", fromlist=[name])
    except ImportError:
        return None
    function: Callable[..., Any] | None = getattr(found, name, None)
    return function


def default(resource: Resource, obj: Json) -> None:
    """Fill in what the writer left to the server."""
    apply = _optional("defaults", "apply")
    if apply is not None:
        apply(resource, obj)


def refuse_create(resource: Resource, obj: Json) -> list[Cause]:
    """What is wrong with a new object."""
    check = _optional("validation", "validate_create")
    return check(resource, obj) if check is not None else []


def refuse_update(resource: Resource, obj: Json, old: ApiObject) -> list[Cause]:
    """What is wrong with a changed object."""
    check = _optional("validation", "validate_update")
    return check(resource, obj, old) if check is not None else []


def refuse_status_update(resource: Resource, obj: Json, old: ApiObject) -> list[Cause]:
    """What is wrong with a changed status."""
    check = _optional("validation", "validate_status_update")
    return check(resource, obj, old) if check is not None else []


def table(resource: Resource, objects: list[Any], *, now_ns: int, version: int, include: str) -> Json:
    """Objects as a `meta.k8s.io/v1` Table."""
    make = _optional("printing", "table")
    if make is None:
        rows = [
            {"cells": [o["metadata"]["name"], o["metadata"].get("creationTimestamp")], "object": o} for o in objects
        ]
        columns = [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": str(version)},
            "columnDefinitions": columns,
            "rows": rows,
        }
    made: Json = make(resource, objects, now_ns=now_ns, version=version, include=include)
    return made
