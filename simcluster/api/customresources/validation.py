"""What a structural schema refuses, in kube-openapi's words.

Unchanged parts of a changed object are not looked at again (ratcheting, on by default in
1.32). Sources: k8s.io/kube-openapi/pkg/validation/{validate,errors},
k8s.io/apiextensions-apiserver/pkg/apiserver/validation and schema/listtype.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.customresources.formats import has_format, matches
from simcluster.api.errors import Cause
from simcluster.api.validation.causes import Causes, quoted

Schema = Mapping[str, Any]
ABSENT: Any = object()


def type_name(value: Any) -> str:
    """The JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def validate(value: Any, schema: Schema, path: str, causes: Causes, old: Any = ABSENT) -> None:
    """Check a value; `old` is the stored one at the same place."""
    if old is not ABSENT and value == old:
        return
    if value is None and schema.get("nullable"):
        return
    if not _check_type(value, schema, path, causes):
        return
    _check_enum(value, schema, path, causes)
    if isinstance(value, Mapping):
        _check_object(value, schema, path, causes, old)
    elif isinstance(value, list):
        _check_list(value, schema, path, causes, old)
    elif isinstance(value, str):
        _check_text(value, schema, path, causes)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _check_number(value, schema, path, causes)
    _check_junctors(value, schema, path, causes)


def _check_type(value: Any, schema: Schema, path: str, causes: Causes) -> bool:
    found = type_name(value)
    if schema.get("x-kubernetes-int-or-string"):
        fits, wanted = found in ("integer", "string"), "integer,string"
    else:
        wanted = schema.get("type", "")
        fits = not wanted or found == wanted or (wanted == "number" and found == "integer")
    if not fits:
        _add_type(causes, path, found, f"{_shown(path)} must be of type {wanted}: {quoted(found)}")
    return fits


def _shown(path: str) -> str:
    return f"{path} in body" if path else "body"


def _add_type(causes: Causes, path: str, value: str, detail: str) -> None:
    causes.append(Cause("FieldValueTypeInvalid", f"Invalid value: {quoted(value)}: {detail}", path or "<nil>"))


def _invalid(causes: Causes, path: str, value: Any, detail: str) -> None:
    causes.append(Cause("FieldValueInvalid", f"Invalid value: {_go(value)}: {_shown(path)} {detail}", path or "<nil>"))


def _go(value: Any) -> str:
    """A value as Go's field errors print it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (Mapping, list)):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _check_enum(value: Any, schema: Schema, path: str, causes: Causes) -> None:
    allowed = schema.get("enum")
    if allowed is None or any(value == entry and type_name(value) == type_name(entry) for entry in allowed):
        return
    names = ", ".join(quoted(entry if isinstance(entry, str) else _go(entry)) for entry in allowed)
    message = f"Unsupported value: {_go(value)}: supported values: {names}"
    causes.append(Cause("FieldValueNotSupported", message, path))


def _check_object(value: Mapping[str, Any], schema: Schema, path: str, causes: Causes, old: Any) -> None:
    count = len(value)
    if count < schema.get("minProperties", 0):
        _invalid(causes, path, value, f"should have at least {schema['minProperties']} properties")
    if count > schema.get("maxProperties", count):
        _too_many(causes, path, count, schema["maxProperties"])
    prefix = f"{path}." if path else ""
    for name in schema.get("required") or ():
        if name not in value:
            causes.required(prefix + name)
    properties: Schema = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    for key, item in value.items():
        inner = properties.get(key, additional if isinstance(additional, Mapping) else None)
        if inner is not None and (path or key not in ("apiVersion", "kind", "metadata")):
            before = old.get(key, ABSENT) if isinstance(old, Mapping) else ABSENT
            validate(item, inner, prefix + key, causes, before)


def _check_list(value: list[Any], schema: Schema, path: str, causes: Causes, old: Any) -> None:
    count = len(value)
    if count < schema.get("minItems", 0):
        _invalid(causes, path, count, f"should have at least {schema['minItems']} items")
    if count > schema.get("maxItems", count):
        _too_many(causes, path, count, schema["maxItems"])
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    before = _by_key(old, keys) if keys and isinstance(old, list) else {}
    items = schema.get("items")
    for index, item in enumerate(value):
        if items is not None:
            earlier = before.get(_key(item, keys), ABSENT) if keys else ABSENT
            validate(item, items, f"{path}[{index}]", causes, earlier)
    kind = schema.get("x-kubernetes-list-type")
    if kind == "set":
        _refuse_repeated(value, [_go(item) for item in value], path, causes)
    elif kind == "map":
        _refuse_repeated(value, [_key(item, keys) for item in value], path, causes)


def _key(item: Any, keys: Sequence[str]) -> str:
    if not isinstance(item, Mapping):
        return _go(item)
    parts = (f"{quoted(key)}:{_go(item[key])}" for key in sorted(keys) if key in item)
    return "map[string]interface {}{" + ", ".join(parts) + "}"


def _by_key(items: list[Any], keys: Sequence[str]) -> dict[str, Any]:
    return {_key(item, keys): item for item in items}


def _refuse_repeated(value: list[Any], shown: list[str], path: str, causes: Causes) -> None:
    seen: dict[str, None] = {}
    for index, text in enumerate(shown):
        if text in seen:
            causes.append(Cause("FieldValueDuplicate", f"Duplicate value: {text}", f"{path}[{index}]"))
        seen[text] = None


def _too_many(causes: Causes, path: str, count: int, limit: int) -> None:
    items = "item" if limit == 1 else "items"
    causes.append(Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} {items}", path))


def _check_text(value: str, schema: Schema, path: str, causes: Causes) -> None:
    if len(value) > schema.get("maxLength", len(value)):
        limit = schema["maxLength"]
        message = f"Too long: may not be more than {limit} byte{'' if limit == 1 else 's'}"
        causes.append(Cause("FieldValueTooLong", message, path))
    if len(value) < schema.get("minLength", 0):
        _invalid(causes, path, value, f"should be at least {schema['minLength']} chars long")
    pattern = schema.get("pattern")
    if pattern and not matches(value, pattern):
        _invalid(causes, path, value, f"should match '{pattern}'")
    form = schema.get("format", "")
    if form and not has_format(value, form):
        _add_type(causes, path, value, f"{_shown(path)} must be of type {form}: {quoted(value)}")


def _check_number(value: float, schema: Schema, path: str, causes: Causes) -> None:
    factor = schema.get("multipleOf")
    if factor and abs(value / factor - round(value / factor)) > 1e-9:
        _invalid(causes, path, value, f"should be a multiple of {_go(factor)}")
    most, least = schema.get("maximum"), schema.get("minimum")
    if most is not None and (value > most or (value == most and schema.get("exclusiveMaximum"))):
        than = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        _invalid(causes, path, value, f"should be {than} {_go(most)}")
    if least is not None and (value < least or (value == least and schema.get("exclusiveMinimum"))):
        than = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        _invalid(causes, path, value, f"should be {than} {_go(least)}")


def _check_junctors(value: Any, schema: Schema, path: str, causes: Causes) -> None:
    """allOf, anyOf, oneOf and not; their own words carry no path."""
    name = quoted(path)
    for part in schema.get("allOf") or ():
        validate(value, part, path, causes)
    any_of = schema.get("anyOf")
    if any_of and not any(_fits(value, part, path) for part in any_of):
        causes.append(_unplaced(f"{name} must validate at least one schema (anyOf)"))
        causes.extend(_nearest(value, any_of, path))
    one_of = schema.get("oneOf")
    if one_of:
        fitting = sum(_fits(value, part, path) for part in one_of)
        if fitting != 1:
            why = "Found none valid" if not fitting else f"Found {fitting} valid alternatives"
            causes.append(_unplaced(f"{name} must validate one and only one schema (oneOf). {why}"))
            if not fitting:
                causes.extend(_nearest(value, one_of, path))
    refused = schema.get("not")
    if refused is not None and _fits(value, refused, path):
        causes.append(_unplaced(f"{name} must not validate the schema (not)"))


def _fits(value: Any, schema: Schema, path: str) -> bool:
    found = Causes()
    validate(value, schema, path, found)
    return not found


def _nearest(value: Any, schemas: Sequence[Schema], path: str) -> Causes:
    """What the alternative with the fewest objections objects to."""
    best = Causes()
    for part in schemas:
        found = Causes()
        validate(value, part, path, found)
        if not best or len(found) < len(best):
            best = found
    return best


def _unplaced(detail: str) -> Cause:
    return Cause("FieldValueInvalid", f'Invalid value: "": {detail}', "<nil>")
