"""Options of writes in the query: dry run, field manager, field validation.

Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation.
"""

from __future__ import annotations

import json

from simcluster.api import errors
from simcluster.api.encoding.codec import media_type
from simcluster.api.errors import Cause
from simcluster.api.request import APPLY_PATCH, Request

_KINDS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
_LONGEST_MANAGER = 128
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


def check(request: Request, verb: str) -> None:
    """Refuse options that mean nothing. Raises ApiError 422."""
    kind = _KINDS.get(verb)
    if kind is None or not request.query:
        return
    causes: list[Cause] = []
    if verb == "patch" and request.param("force") and media_type(request.content_type) != APPLY_PATCH:
        why = "Forbidden: may not be specified for non-apply patch"
        causes.append(Cause("FieldValueForbidden", why, "force"))
    causes += _manager(request.param("fieldManager"))
    causes += dry_run_causes(request.params("dryRun"))
    validation = request.param("fieldValidation")
    if validation not in _VALIDATIONS:
        listed = ", ".join(f'"{name}"' for name in _VALIDATIONS)
        why = f'Unsupported value: "{validation}": supported values: {listed}'
        causes.append(Cause("FieldValueNotSupported", why, "fieldValidation"))
    if causes:
        raise errors.invalid(kind, "meta.k8s.io", "", causes)


def dry_run_causes(values: list[str]) -> list[Cause]:
    """What is wrong with `dryRun`: All is its only value."""
    if all(value == "All" for value in values):
        return []
    shown = "[]string{" + ", ".join(json.dumps(value) for value in values) + "}"
    why = f'Unsupported value: {shown}: supported values: "All"'
    return [Cause("FieldValueNotSupported", why, "dryRun")]


def _manager(name: str) -> list[Cause]:
    found = []
    if len(name.encode()) > _LONGEST_MANAGER:
        why = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        found.append(Cause("FieldValueTooLong", why, "fieldManager"))
    if not name.isprintable():
        why = f"Invalid value: {json.dumps(name)}: should only contain printable characters"
        found.append(Cause("FieldValueInvalid", why, "fieldManager"))
    return found
