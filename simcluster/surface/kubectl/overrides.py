"""`--overrides` of `run` and `expose`: a patch on what is about to be created."""

from __future__ import annotations

import json

from simcluster.api.objects import Json
from simcluster.api.patch import jsonpatch, merge, strategic
from simcluster.api.schema import type_of
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import Arguments


def overridden(obj: Json, arguments: Arguments, kind: str) -> Json:
    """The object with `--overrides` applied as `--override-type` says. Raises KubectlError if it is no JSON."""
    text = arguments.text("overrides")
    if not text:
        return obj
    try:
        overrides = json.loads(text)
    except ValueError:
        raise plain("Invalid JSON Patch") from None
    how = arguments.text("override-type")
    if how == "strategic":
        return strategic.merge(obj, overrides, type_of("", "v1", kind))
    if how == "json":
        patched: Json = jsonpatch.apply(obj, overrides)
        return patched
    merged: Json = merge.merge(obj, overrides)
    return merged
