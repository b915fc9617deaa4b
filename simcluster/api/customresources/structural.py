"""What a structural schema does to an object before it is validated: pruning and defaults.

Sources: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{pruning,defaulting,objectmeta}.
Left out: defaults of `metadata` of embedded resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import Json

#: What every object has, whatever its schema says.
ROOT_FIELDS = ("apiVersion", "kind", "metadata")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"


def pruned(value: Any, schema: Mapping[str, Any] | None, path: str, unknown: list[str], *, root: bool = False) -> Any:
    """A private copy of `value` without what the schema does not know; `unknown` gets the paths."""
    if schema is None or value is None:
        return _copy(value)
    if isinstance(value, Mapping):
        return _pruned_object(value, schema, path, unknown, root or bool(schema.get(_EMBEDDED)))
    if isinstance(value, list):
        items = schema.get("items")
        return [pruned(item, items, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    return value


def _pruned_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], path: str, unknown: list[str], root: bool
) -> Json:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    keeps = bool(schema.get(_PRESERVE)) or additional is True
    out: Json = {}
    for key, item in value.items():
        inner = f"{path}.{key}" if path else key
        if root and key in ROOT_FIELDS:
            out[key] = _copy(item)
        elif key in properties:
            out[key] = pruned(item, properties[key], inner, unknown)
        elif isinstance(additional, Mapping):
            out[key] = pruned(item, additional, inner, unknown)
        elif keeps:
            out[key] = _copy(item)
        else:
            unknown.append(inner)
    return out


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def drop_nulls(value: Any, schema: Mapping[str, Any] | None) -> None:
    """Remove nulls of fields that are not nullable, in place."""
    if schema is None:
        return
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        for key in list(value):
            inner = properties.get(key, additional if isinstance(additional, Mapping) else None)
            if inner is None:
                continue
            if value[key] is None and not inner.get("nullable"):
                del value[key]
            else:
                drop_nulls(value[key], inner)
    elif isinstance(value, list):
        for item in value:
            drop_nulls(item, schema.get("items"))


def fill_defaults(value: Any, schema: Mapping[str, Any] | None) -> None:
    """Add the defaults of absent fields, in place. A default is itself completed by inner ones."""
    if schema is None:
        return
    if isinstance(value, dict):
        properties: Mapping[str, Any] = schema.get("properties") or {}
        for key, inner in properties.items():
            if key not in value and inner.get("default") is not None:
                value[key] = _copy(inner["default"])
            if key in value:
                fill_defaults(value[key], inner)
        additional = schema.get("additionalProperties")
        if isinstance(additional, Mapping):
            for key in value:
                if key not in properties:
                    fill_defaults(value[key], additional)
    elif isinstance(value, list):
        for item in value:
            fill_defaults(item, schema.get("items"))
